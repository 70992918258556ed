package loader

import (
	"context"
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
			r.tune.starved += time.Since(began)
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

// wait waits for a chunk of ready or for one event, which it handles.
func (r *run) wait(ready <-chan []byte) (chunk []byte, ok, came bool) {
	select {
	case chunk, ok = <-ready:
		return chunk, ok, true
	case e := <-r.conn.events:
		r.handle(e)
	case <-r.stall.ticks():
		r.checkStall()
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
		case e := <-r.conn.events:
			r.handle(e)
		case <-r.stall.ticks():
			r.checkStall()
		case <-r.done:
			r.interrupt()
		default:
			return r.proceed()
		}
	}
}

// ending returns errStop when reading must end.
func (r *run) ending() error {
	if r.stopped != nil || r.lost != nil {
		return errStop
	}
	return nil
}

func (r *run) interrupt() {
	r.done = nil
	if r.stopped == nil {
		r.stopped = context.Cause(r.ctx)
	}
}

// handle does what an event asks for.
func (r *run) handle(e event) {
	switch e.kind {
	case answered:
		r.unanswered -= e.b.due
		r.tune.answered(e.b, e.at)
		r.rep.Replies += int64(e.b.due - e.b.owned)
		r.db, r.held, r.stateBad = e.db, e.held, e.bad
		r.redo = r.redo || e.redo
	case released:
		for b := e.b; b != nil; {
			next := b.next
			r.settle(b)
			if b.resp != nil {
				r.forget(b)
			}
			b = next
		}
	case letGo:
		r.forget(e.b)
	case lost:
		if r.lost == nil {
			r.down = e.err
		}
	case probed:
		r.probed(e.err)
	}
}

// forget gives back the room of a batch.
func (r *run) forget(b *Batch) {
	r.kept--
	r.keptBytes -= b.cost()
	r.free.put(b)
}

// drain waits until all that was handed over is answered for good.
func (r *run) drain() {
	for r.proceed(); !r.drained(); r.proceed() {
		r.wait(nil)
	}
	if r.rep.InputDone || r.broken != nil {
		r.flush()
	}
}

func (r *run) drained() bool {
	if r.lost != nil {
		return true
	}
	return r.idle() && (r.stopped != nil || !r.redo && !r.resending)
}
