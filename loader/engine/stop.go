package engine

import "respipe/loader/batch"

// Reason says why a load has ended.
type Reason uint8

// The reasons.
const (
	ReasonComplete        Reason = iota // the whole input is complete
	ReasonAsked                         // the user has stopped it
	ReasonErrors                        // more errors than MaxErrors
	ReasonLost                          // in flight on a lost connection is what must not run twice
	ReasonTransactionLost               // a streamed transaction was lost that cannot be resent
	ReasonRestarted                     // another process answers: acknowledged data may be gone
	ReasonUnreachable                   // a server cannot be reached
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
	Errors  int64
	AtRisk  []Risk // what servers may have lost although they have answered it
	// OrderUnsure says that a lost connection could not be ended on its server:
	// what was in flight on it may have run later than what was resent.
	OrderUnsure bool
}

// stopper stops the load: nothing is sent any more, and what can still be
// answered is waited for, but not longer than StopFor.
type stopper struct {
	e        *Engine
	reason   Reason
	deadline Time
}

// begin begins to stop, once.
func (s *stopper) begin(reason Reason) {
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
	s.e.router.parked, s.e.router.tx.buffer = nil, nil
	s.e.barrier.stop()
	r.release()
	s.e.end(s.reason)
}

// stoppedOutcome returns what becomes of an entry when the load stops: what was
// answered with a retryable error counts as not sent.
func stoppedOutcome(en *pending) batch.Outcome {
	if en.state == retry || en.state == queued {
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
