package loader

import (
	"context"
	"time"
)

// await is the source's way to wait for ready. What was read so far is on its
// way before, and whatever the connection does meanwhile is seen to.
func (r *run) await(ready <-chan []byte) (chunk []byte, ok bool, err error) {
	for {
		if err := r.flush(); err != nil {
			return nil, false, err
		}
		chunk, ok, came := r.wait(ready)
		if came {
			return chunk, ok, nil
		}
	}
}

// step waits for one event.
func (r *run) step() error {
	r.wait(nil)
	return r.ending()
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
			return r.ending()
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
		r.rep.Replies += int64(e.b.due - e.b.owned)
		r.db, r.held = e.db, e.held
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
			r.lost = &LostError{Addr: r.rep.Server.Addr, Err: e.err}
		}
	}
}

// forget gives back the room of a batch.
func (r *run) forget(b *Batch) {
	r.kept--
	r.keptBytes -= b.cost()
	r.free.put(b)
}

// drain waits until all that was handed over is answered.
func (r *run) drain() {
	for !r.idle() && r.lost == nil {
		r.wait(nil)
	}
	if r.rep.InputDone || r.broken != nil {
		r.flush()
	}
}

// checkStall gives the connection up when nothing was answered for too long.
func (r *run) checkStall() {
	if r.unanswered == 0 || r.lost != nil {
		r.stall.restart()
		return
	}
	if r.stall.expired(r.conn.reads.Load()) {
		r.conn.abort(&StallError{r.cfg.Timeout})
	}
}

// stallClock measures for how long nothing was answered while something was
// owed.
type stallClock struct {
	timeout time.Duration
	ticker  *time.Ticker
	since   time.Time
	reads   int64
}

func newStallClock(timeout time.Duration) stallClock {
	s := stallClock{timeout: timeout, since: time.Now()}
	if timeout > 0 {
		s.ticker = time.NewTicker(min(max(timeout/20, time.Millisecond), time.Second))
	}
	return s
}

func (s *stallClock) ticks() <-chan time.Time {
	if s.ticker == nil {
		return nil
	}
	return s.ticker.C
}

func (s *stallClock) restart() { s.since = time.Now() }

// expired is called at each tick with the number of reads that brought
// something.
func (s *stallClock) expired(reads int64) bool {
	if reads != s.reads {
		s.reads = reads
		s.restart()
	}
	return time.Since(s.since) >= s.timeout
}

func (s *stallClock) stop() {
	if s.ticker != nil {
		s.ticker.Stop()
	}
}
