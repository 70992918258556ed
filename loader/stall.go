package loader

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// patience is how many times the timeout a server gets that answers PING on a
// second connection: it is busy, not gone.
const patience = 10

// checkStall is called at each tick of the stall clock. When nothing was
// answered for too long it asks the server on a second connection.
func (r *run) checkStall() {
	switch {
	case r.unanswered == 0 || r.lost != nil || r.down != nil:
		r.stall.restart()
	case !r.stall.expired(r.conn.reads.Load()) || r.stall.asked:
	case r.stall.patient:
		r.conn.abort(&StallError{r.cfg.Timeout * patience})
	default:
		r.stall.asked = true
		r.probe()
	}
}

// probe makes a second connection. What comes of it is an event.
func (r *run) probe() {
	c, ctx, cfg := r.conn, r.ctx, r.cfg
	go func() {
		g, err := connect(ctx, cfg)
		if g != nil {
			g.nc.Close()
		}
		if bad, ok := errors.AsType[*ConnectError](err); ok && bad.NotReady {
			err = nil // it answers, after all
		}
		c.events <- event{kind: probed, err: err}
	}()
}

// probed is told what came of the second connection.
func (r *run) probed(err error) {
	asked := r.stall.asked
	r.stall.asked = false
	switch {
	case !asked || r.unanswered == 0: // meanwhile something was answered
	case err != nil && !errors.Is(err, context.Cause(r.ctx)):
		r.conn.abort(&StallError{r.cfg.Timeout})
	default:
		r.stall.patient = true
		r.note(fmt.Sprintf("no reply for %v, but the server answers PING: it is busy, and has %v", r.cfg.Timeout, patience*r.cfg.Timeout))
	}
}

// stallClock measures for how long nothing was answered while something was
// owed.
type stallClock struct {
	timeout time.Duration
	ticker  *time.Ticker
	since   time.Time
	reads   int64
	asked   bool // a second connection is being made
	patient bool // the server has answered there
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

// restart is called when something was answered, or nothing is owed.
func (s *stallClock) restart() { s.since, s.asked, s.patient = time.Now(), false, false }

// expired is called at each tick with the number of reads that brought
// something.
func (s *stallClock) expired(reads int64) bool {
	if reads != s.reads {
		s.reads = reads
		s.restart()
	}
	limit := s.timeout
	if s.patient {
		limit *= patience
	}
	return time.Since(s.since) >= limit
}

func (s *stallClock) stop() {
	if s.ticker != nil {
		s.ticker.Stop()
	}
}
