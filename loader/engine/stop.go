package engine

import (
	"respipe/loader/batch"
	"respipe/parser"
)

// Reason says why a load has ended.
type Reason uint8

// The reasons.
const (
	ReasonComplete        Reason = iota // the whole input is complete
	ReasonAsked                         // the user has stopped it
	ReasonErrors                        // TooMany has said so
	ReasonLost                          // in flight on a lost connection is what must not run twice
	ReasonTransactionLost               // a streamed transaction was lost that cannot be resent
	ReasonRestarted                     // another process answers: acknowledged data may be gone
	ReasonUnreachable                   // a server cannot be reached
	ReasonMismatched                    // which reply belongs to which command is not known
	ReasonRejecting                     // a server answers every command with a persistent error
)

// Result is how a load has ended.
type Result struct {
	Reason Reason
	// Resume is where a run that continues must begin, if Partial: at the first
	// record that was not sent or is unknown, or at the first of a row of
	// persistent errors.
	Resume  batch.Position
	Partial bool
	// Transaction says that a transaction begins at Resume, or the WATCH before
	// it.
	Transaction bool
	Errors      int64
	AtRisk      []Risk // what servers may have lost although they have answered it
	Answered    []Risk // what the present process of each server has answered
	// OrderUnsure says that a lost connection could not be ended on its server:
	// what was in flight on it may have run later than what was resent.
	OrderUnsure bool
}

// stopper stops the load: nothing is sent any more, and what can still be
// answered is waited for, but not longer than StopFor.
//
// A stop that nothing forces comes between two records: of one that was sent in
// part, a load that continues would run the first commands twice.
type stopper struct {
	e        *Engine
	reason   Reason
	deadline Time
	asked    bool // the user has asked for it
	due      bool // it begins as soon as the last record was sent as a whole
	partly   bool // commands of the last record are still to come
	several  bool // the last record has several commands
}

// take notes that a command was taken, or a part of one. It returns how that was
// before, for a command that is not taken after all.
func (s *stopper) take(c *parser.Command, part bool) (before stopper) {
	before = *s
	s.partly = !c.Last
	s.several = part || c.Index > 0 || !c.Last
	return before
}

// sourceEnds notes that no further command of the last record comes.
func (s *stopper) sourceEnds() {
	s.partly = false
	s.advance()
}

// ask stops the load between two records.
func (s *stopper) ask(reason Reason) {
	if !s.due {
		s.due, s.reason = true, reason
	}
	s.advance()
}

// advance begins the stop that is due, unless a record was sent in part and the
// rest of it can be sent, too.
func (s *stopper) advance() {
	switch {
	case !s.due || s.e.flows() && s.insideRecord():
		return
	case s.e.flows() && (s.several || len(s.e.pool.conns) > 1):
		s.e.log.flush() // what other connections have been sent stands behind it
	}
	s.begin(s.reason)
}

// insideRecord reports whether a part of the last record must still be sent.
func (s *stopper) insideRecord() bool {
	return s.partly || s.several && (len(s.e.router.parked) > 0 || s.e.barrier.active)
}

// begin begins to stop, once, wherever the input stands.
func (s *stopper) begin(reason Reason) {
	s.due = false
	if s.e.state == Stopping || s.e.state == Done {
		return
	}
	s.e.state = Stopping
	s.reason = reason
	s.deadline = s.e.now + s.e.cfg.StopFor
	s.e.advance()
}

// finish reports everything that is not complete and ends the load.
func (s *stopper) finish() {
	r := &s.e.repair
	r.gatherer.gather()
	for i := range r.plan.entries {
		en := &r.plan.entries[i]
		r.finish(en, stoppedOutcome(en), LoadStopped)
	}
	for _, c := range s.e.pool.conns {
		for len(c.streams) > 0 {
			s.e.log.reportStream(c, c.streams[0], batch.NotSent, LoadStopped)
		}
	}
	for _, b := range s.e.router.parked {
		s.leave(b)
	}
	s.leave(s.e.router.tx.buffer)
	s.leave(s.e.session.trial.entry)
	s.e.router.parked, s.e.router.tx, s.e.session.trial = nil, transaction{e: s.e}, trial{}
	s.e.barrier.stop()
	r.release()
	if g := &s.e.router.guard; g.on {
		s.e.counts.earliest(place{g.first, true}) // behind it the transaction would run unguarded
	}
	s.end(s.reason)
}

// complete ends the load if the input has ended and everything is complete.
func (s *stopper) complete() {
	r := &s.e.router
	if s.e.state != Finishing {
		return
	}
	if r.tx.open && len(r.parked) == 0 {
		r.tx.breakOff()
	}
	s.e.log.flush()
	if len(r.parked) == 0 && s.e.log.empty() {
		s.end(ReasonComplete)
	}
}

// end ends the load.
func (s *stopper) end(reason Reason) {
	s.e.state = Done
	for _, c := range s.e.pool.conns {
		s.e.pool.close(c)
		c.flight, c.filling = nil, nil // no more than commands of our own
	}
	n := &s.e.counts
	s.e.result = Result{
		Reason: reason, Errors: n.errors,
		AtRisk: s.e.risk.found, Answered: s.e.risk.answered(), OrderUnsure: s.e.risk.unsure,
		Resume: n.first.Position, Transaction: n.first.transaction,
		Partial: n.unsent && reason != ReasonComplete,
	}
	s.e.act(Action{Kind: End})
}

// stoppedOutcome returns what becomes of an entry when the load stops: what was
// answered with a retryable error counts as not sent, and so does a transaction
// that has not run whatever becomes of it.
func stoppedOutcome(en *pending) batch.Outcome {
	if en.state == retry || en.state == queued || en.state == inFlight && en.replaced() {
		return batch.NotSent
	}
	return en.outcome()
}

// leave reports what was taken from the source and never sent.
func (s *stopper) leave(b *batch.Batch) {
	if b != nil && b.Len() > 0 {
		s.e.report(&Completion{
			Parts:   []Part{{b, 0, b.Len() - 1}},
			Outcome: batch.NotSent, Cause: LoadStopped,
		})
		s.e.log.put(b)
	}
}
