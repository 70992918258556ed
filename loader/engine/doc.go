// Package engine is the policy of a load: what is sent, held back, retried,
// counted and reported. It has no socket, no goroutine and no clock. Events go
// in, each with its time, and actions come out; a thin shell performs them.
//
//	Submit, Refuse ─► router ─► batch ─► Action ─► (shell, server) ─► Event ─► log ─► Observer
//	                    ▲                                              │
//	                    └──────────────── repair ◄─────────────────────┘
//
// Where to look:
//
//   - who decides that a command may be sent: Engine.Accepts, router (route.go)
//     and the budget of the window (window.go)
//   - where a transaction begins and ends: transaction.go; how a long one is
//     streamed: stream.go
//   - what is in flight and when it is complete: log.go, complete.go
//   - what an error reply means: failure.go
//   - what follows a retryable error (a MOVED too) or a lost connection:
//     repair.go, which takes everything from the log (gather.go), decides what
//     is resent (plan.go) and resends it in rounds (resend.go)
//   - what waits for a migration (ASK, TRYAGAIN): hold.go; for a transaction
//     that cannot be sent again: putoff.go
//   - what WATCH guards: watch.go
//   - commands before and after which the load drains: barrier.go
//   - what a new connection must restore: session.go; a SELECT in a transaction
//     is tried first: trial.go
//   - silent connections: stall.go
//   - when a Tick is due: deadline.go
//   - how a load stops, and what it says then: stop.go
//   - what a server may have lost, and rows of persistent errors: risk.go
//   - what each event does in each state: table.go, handlers.go
//
// What the engine does not do: it does not merge commands, split one over
// slots, or count records of several commands; how large the window is and how
// fast a load may go is told by package window.
// Exactly once, checkpoints and the confirmation by replicas have their
// places: an entry becomes complete in log.completeHead, so whatever must be
// confirmed first is a further condition there; how entries are framed and what
// a loss means for them is decided where a batch is begun (log.filling) and
// where a repair plans (repair.send), so a commit policy is asked in these two.
package engine
