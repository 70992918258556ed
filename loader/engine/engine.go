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
	window  budget
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

// New returns the engine of a load that has not begun. It does not keep cfg.
func New(cfg *Config) *Engine {
	own := *cfg
	cfg = &own
	e := &Engine{cfg: cfg}
	e.window.begin(cfg)
	e.pool.e, e.log.e, e.repair.e, e.stop.e = e, e, e, e
	e.router.e, e.router.tx.e, e.router.guard.e = e, e, e
	e.barrier.e, e.session.e, e.risk.e, e.holds.e = e, e, e, e
	e.counts.cfg = cfg
	e.session.begin()
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
func (e *Engine) Accepts() bool {
	return e.state == Running && len(e.router.parked) == 0 && !e.window.slowed
}

// Submit takes the next command of the input. Accepts must hold. It returns
// false if it has not taken the command, as the command must be sent in parts:
// its keys lie in several slots of a cluster, and its Op splits.
func (e *Engine) Submit(now Time, c *parser.Command) bool {
	e.now = now
	e.window.fed(now)
	before := e.stop.take(c, false)
	if !e.router.submit(c) {
		e.stop = before
		return false
	}
	e.stop.advance()
	return true
}

// SubmitPart takes a part of a command that Submit has not taken: one whose keys
// lie in one slot. The parts follow each other, and only the last one may be the
// Last command of its record. Accepts must hold.
func (e *Engine) SubmitPart(now Time, c *parser.Command) {
	e.now = now
	e.stop.take(c, true)
	e.router.part(c)
	e.stop.advance()
}

// Empty reports whether every command that was taken is complete, and no
// transaction is open.
func (e *Engine) Empty() bool {
	return e.log.empty() && len(e.router.parked) == 0 && !e.router.tx.open &&
		!e.barrier.active && len(e.repair.plan.entries) == 0
}

// Window returns how many commands may be in flight on a connection; 0 for any
// number.
func (e *Engine) Window() int { return e.window.most() }

// Refuse takes a record of the input that was refused before it became a
// command. The transaction that it stands in is refused.
func (e *Engine) Refuse(now Time) {
	e.now = now
	e.window.fed(now)
	e.router.tx.refused = e.router.tx.open
	e.counts.refuse()
	e.stop.sourceEnds()
	e.tooMany()
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

// tooMany stops the load if there were more errors than it may have, or nothing
// but errors.
func (e *Engine) tooMany() {
	if e.counts.exceeded() {
		e.stop.ask(ReasonErrors)
	}
	if n := e.pool.rejecting(); n != nil && e.state != Stopping && e.state != Done {
		e.counts.earliest(n.row.first)
		e.stop.ask(ReasonRejecting)
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
	if e.cfg.Tuner != nil {
		e.cfg.Tuner.Lost()
	}
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
		e.stop.complete()
	}
}

// resume returns to where the load was before a repair.
func (e *Engine) resume() {
	e.state = usual(e)
	e.progress()
}

// usual returns what the state is outside of a repair.
func usual(e *Engine) State {
	switch {
	case e.barrier.active:
		return Barrier
	case e.ended:
		return Finishing
	}
	return Running
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
	e.stop.advance()
	e.advance()
}
