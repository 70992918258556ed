package engine

import (
	"respipe/loader/batch"
	"respipe/parser"
)

// Engine is the policy of one load. It is not for concurrent use.
type Engine struct {
	cfg     *Config
	state   State
	now     Time
	ended   bool // the source has nothing more
	actions []Action
	result  Result

	pool    pool
	window  window
	log     log
	router  router
	repair  repair
	holds   holds
	barrier barrier
	session session
	stop    stopper
	risk    risk
	counts  counts
}

// New returns the engine of a load that has not begun.
func New(cfg *Config) *Engine {
	e := &Engine{cfg: cfg}
	e.window.cfg = cfg
	e.pool.e, e.log.e, e.repair.e, e.stop.e = e, e, e, e
	e.router.e, e.router.tx.e, e.router.guard.e = e, e, e
	e.barrier.e, e.session.e, e.risk.e, e.holds.e = e, e, e, e
	e.repair.gatherer = gatherer{e: e, r: &e.repair, keys: keyReader{op: cfg.Op}}
	return e
}

// Start begins to connect.
func (e *Engine) Start(now Time) {
	e.now = now
	e.repair.giveUp = now + e.cfg.ReadyFor
	if !e.cfg.Cluster {
		e.router.single(e.cfg.Addresses[0])
	}
	e.repair.fetch()
}

// State returns the state of the load.
func (e *Engine) State() State { return e.state }

// Repairs returns how many repairs there were.
func (e *Engine) Repairs() int64 { return e.repair.causes }

// Bytes returns how many bytes the window counts.
func (e *Engine) Bytes() int { return e.window.bytes }

// Owner returns the address of the server that has a slot.
func (e *Engine) Owner(slot int) string { return e.router.connection(slot).node.address }

// Result returns how the load has ended. It is valid once the state is Done.
func (e *Engine) Result() Result { return e.result }

// Accepts reports whether the engine takes a command now.
func (e *Engine) Accepts() bool { return e.state == Running && len(e.router.parked) == 0 }

// Submit takes the next command of the input. Accepts must hold.
func (e *Engine) Submit(now Time, c *parser.Command) {
	e.now = now
	e.router.submit(c)
}

// Refuse takes a record of the input that was refused before it became a
// command. The transaction that it stands in is refused.
func (e *Engine) Refuse(now Time) {
	e.now = now
	e.router.tx.refused = e.router.tx.open
	e.refused()
}

// EndFile takes the end of one of several inputs. A transaction that is open
// there is refused: its end is missing. Accepts must hold.
func (e *Engine) EndFile(now Time) {
	e.now = now
	if e.router.tx.open {
		e.router.tx.breakOff()
	}
}

// refuse reports a command that must not be sent.
func (e *Engine) refuse(c *parser.Command, cause Cause) {
	b := e.log.get()
	appendCommand(b, c, 0)
	e.report(&Completion{Parts: []Part{{b, 0, 0}}, Outcome: batch.Refused, Cause: cause})
	e.log.put(b)
	e.tooMany()
}

// refused counts an error.
func (e *Engine) refused() {
	e.counts.errors++
	e.tooMany()
}

// tooMany stops the load if there were more errors than it may have, or nothing
// but errors.
func (e *Engine) tooMany() {
	if e.cfg.MaxErrors >= 0 && e.counts.errors > e.cfg.MaxErrors {
		e.stop.begin(ReasonErrors)
	}
	if n := e.pool.rejecting(); n != nil && e.state != Stopping && e.state != Done {
		e.counts.earliest(n.row.first)
		e.stop.begin(ReasonRejecting)
	}
}

// Handle takes an event. What must be done about it are the Actions after it,
// and when it is time for a Tick, the Deadline.
func (e *Engine) Handle(ev *Event) {
	e.now = ev.At
	table[e.state][ev.Kind].handle(e, ev)
}

// Actions returns what must be done, in this order. The slice is valid until
// the next call that takes an event or a command.
func (e *Engine) Actions() []Action {
	a := e.actions
	e.actions = e.actions[:0]
	return a
}

// act adds an action.
func (e *Engine) act(a Action) { e.actions = append(e.actions, a) }

// lose takes a connection for lost.
func (e *Engine) lose(c *connection, written int64) {
	c.lose(written)
	switch e.state {
	case Running, Barrier, Finishing:
		e.repair.start()
	case Repairing:
		switch e.repair.step {
		case redialing:
			e.pool.dial()
		case resending:
			e.repair.start()
		}
	case Connecting:
		if e.repair.step == redialing {
			e.pool.dial()
		}
	case Draining, Stopping:
		e.advance()
	}
}

// advance takes every step that needs no further event.
func (e *Engine) advance() {
	switch e.state {
	case Connecting:
		if e.repair.step == redialing && e.pool.complete() {
			e.repair.end()
		}
	case Draining:
		if e.pool.quiet() {
			e.repair.begin()
		}
	case Repairing:
		switch {
		case e.repair.step == redialing && e.pool.complete():
			e.repair.send()
		case e.repair.step == resending && e.pool.quiet():
			e.repair.evaluate()
		}
	case Stopping:
		if e.pool.quiet() {
			e.stop.finish()
		}
	case Barrier:
		e.barrier.advance()
	case Finishing:
		e.finishEmpty()
	}
}

// resume returns to where the load was before a repair.
func (e *Engine) resume() {
	switch {
	case e.barrier.active:
		e.state = Barrier
	case e.ended:
		e.state = Finishing
	default:
		e.state = Running
	}
	e.progress()
}

// flows reports whether commands are sent and completed.
func (e *Engine) flows() bool {
	return e.state == Running || e.state == Barrier || e.state == Finishing
}

// progress continues after something was completed.
func (e *Engine) progress() {
	e.tooMany()
	e.holds.advance()
	e.router.unpark()
	e.advance()
}

// finishEmpty ends the load if the input has ended and everything is complete.
func (e *Engine) finishEmpty() {
	if e.state != Finishing {
		return
	}
	if e.router.tx.open && len(e.router.parked) == 0 {
		e.router.tx.breakOff()
	}
	e.log.flush()
	if len(e.router.parked) == 0 && e.log.empty() {
		e.end(ReasonComplete)
	}
}

// end ends the load.
func (e *Engine) end(reason Reason) {
	e.state = Done
	for _, c := range e.pool.conns {
		e.pool.close(c)
	}
	e.result = Result{
		Reason: reason, Errors: e.counts.errors,
		AtRisk: e.risk.found, OrderUnsure: e.risk.unsure,
		Resume: e.counts.first, Partial: e.counts.unsent && reason != ReasonComplete,
	}
	e.act(Action{Kind: End})
}
