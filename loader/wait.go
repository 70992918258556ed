package loader

import (
	"context"
	"slices"
	"time"
)

// await is the source's way to wait for ready. What was read so far is on its
// way before, and whatever the connection does meanwhile is seen to.
func (r *run) await(ready <-chan []byte) (chunk []byte, ok bool, err error) {
	select {
	case chunk, ok = <-ready: // there is more at hand: what is in the batch can wait
		return chunk, ok, r.ending()
	default:
	}
	began := time.Now()
	for {
		if err := r.flush(); err != nil {
			return nil, false, err
		}
		chunk, ok, came := r.wait(ready)
		if came {
			r.tune.Starved(time.Since(began))
			return chunk, ok, nil
		}
		if err := r.proceed(); err != nil {
			return nil, false, err
		}
	}
}

// step waits for one event.
func (r *run) step() error {
	r.wait(nil)
	return r.proceed()
}

// wait waits for a chunk of ready or for events, which it handles.
func (r *run) wait(ready <-chan []byte) (chunk []byte, ok, came bool) {
	select {
	case chunk, ok = <-ready:
		return chunk, ok, true
	case <-r.mail.bell:
		r.handleAll()
	case <-r.tick():
		r.checkStalls()
	case <-r.saves.tick():
		r.save()
	case <-r.alarm:
		r.alarm = nil
	case <-r.done:
		r.interrupt()
	}
	return nil, false, false
}

// poll handles the events that are there.
func (r *run) poll() error {
	for {
		select {
		case <-r.mail.bell:
			r.handleAll()
		case <-r.tick():
			r.checkStalls()
		case <-r.saves.tick():
			r.save()
		case <-r.done:
			r.interrupt()
		default:
			return r.proceed()
		}
	}
}

// ending returns errStop when reading must end.
func (r *run) ending() error {
	if r.halts() || r.lost != nil {
		return errStop
	}
	return nil
}

// halts reports whether the load is to stop here: not between two commands of
// one record.
func (r *run) halts() bool { return r.stopped != nil && !r.partial }

func (r *run) interrupt() {
	r.done = nil
	if r.stopped == nil {
		r.stopped = context.Cause(r.ctx)
	}
}

// handleAll handles the events that are there.
func (r *run) handleAll() {
	for _, e := range r.mail.take() {
		switch {
		case e.kind == named:
			r.masterNamed(e.addr)
		case e.from == e.from.pipe.conn: // else that connection was left
			r.handle(e.from.pipe, e)
		}
	}
}

// handle does what an event of p asks for.
func (r *run) handle(p *pipeline, e event) {
	switch e.kind {
	case answered:
		p.unanswered -= e.b.due
		r.tune.Answered(e.b.phase, e.b.sent.Sub(r.began), e.at.Sub(r.began), e.b.due)
		r.latencies.RecordValues(e.at.Sub(e.b.sent).Microseconds(), int64(e.b.due))
		r.expectReplies(p, e.b)
		p.node.latencies.RecordValues(e.at.Sub(e.b.sent).Microseconds(), int64(e.b.due))
		p.node.report.Replies += int64(e.b.due - e.b.owned)
		r.rep.Replies += int64(e.b.due - e.b.owned)
		if r.leader == nil || r.leader == p {
			r.db = e.db
		}
		p.held, p.redo = e.held, p.redo || e.redo
		if e.wait {
			p.held = !e.enough
			r.confirmed(p, e.enough, e.err)
		}
		r.stateBad = r.stateBad || e.bad
	case released:
		for b := e.b; b != nil; {
			next := b.next
			r.settle(b)
			if b.resp != nil {
				r.forget(p, b)
			}
			b = next
		}
	case letGo:
		r.saves.remove(e.b)
		r.forget(p, e.b)
	case lost:
		if r.lost == nil {
			p.down = e.err
		}
	case probed:
		r.probed(p, e.err)
	}
}

// forget gives back the room of a batch.
func (r *run) forget(p *pipeline, b *Batch) {
	p.kept--
	p.keptBytes -= b.charged
	r.free.put(b)
}

// drain waits until all that was handed over is answered for good.
func (r *run) drain() {
	r.completeRecords()
	for r.proceed(); !r.drained() || r.confirmAll() && r.lost == nil; r.proceed() {
		r.wait(nil)
	}
	if r.rep.InputDone || r.broken != nil {
		r.flush()
	}
}

// completeRecords hands over what was taken on when the load is stopped, where
// records have several commands: else a part of one might have run, and the
// load would go on from its beginning.
func (r *run) completeRecords() {
	if r.stopped == nil || !r.several {
		return
	}
	partial := r.partial
	r.partial = true
	r.flush()
	r.partial = partial
}

func (r *run) drained() bool {
	if r.lost != nil {
		return true
	}
	for _, p := range r.pipes {
		if !p.idle() {
			return false
		}
	}
	return r.stopped != nil || !r.troubled()
}

// underWay reports whether replies are to come.
func (r *run) underWay() bool {
	for _, p := range r.pipes {
		if p.unanswered > 0 && p.down == nil {
			return true
		}
	}
	return false
}

// troubled reports whether something must be sent again, or was and is not
// answered, before anything new is sent.
func (r *run) troubled() bool {
	return r.resending || r.mustRecover() && r.unfinished() == nil
}

// mustRecover reports whether something must be sent again.
func (r *run) mustRecover() bool {
	return slices.ContainsFunc(r.pipes, isDown) || slices.ContainsFunc(r.pipes, mustSendAgain)
}

// unfinished returns the pipeline of a cluster on which a block is open: what
// would be sent there again must wait for the rest of the block. Where slots do
// not move nothing is sent again on other pipelines than its own; and where the
// load has been stopped the rest will not come.
func (r *run) unfinished() *pipeline {
	if r.router.owners == nil || r.halts() {
		return nil
	}
	for _, p := range r.pipes {
		if p.sentOpen && p.down == nil {
			return p
		}
	}
	return nil
}
