// Package loader carries the commands of a Source to a server or a cluster, and
// reports what became of each. It knows no format.
//
// What is sent, held back, retried and counted is decided in package engine,
// which does no I/O. This package is its shell: Run gives it the commands of the
// source and what happens on the connections, each with its time, and does what it
// asks for.
//
// Where to look:
//
//   - Run, and how the source waits: run.go, shell.go
//   - connections, and what they bring: connections.go, dial.go; what is said on a
//     new one: greet.go; the slot tables of a cluster: topologies.go
//   - what the engine tells of commands and transactions, for the report and the
//     hook: tally.go, tallytransaction.go, refusals.go; what the hook sees of it:
//     completed.go
//   - commands that are split over slots: parted.go
//   - the end of a load, and its errors: finish.go, errors.go
//
// Exactly once (exactly*.go), checkpoints and the confirmation by replicas do not
// run on the engine yet: such loads have loops of their own, which begin in
// exactly.go and, for the other two, pipeline.go.
package loader
