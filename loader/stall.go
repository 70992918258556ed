package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// patience is how many times the timeout a server gets that answers PING on a
// second connection: it is busy, not gone.
const patience = 10

// newTicker returns what looks at the stall clocks, nil without a timeout.
func newTicker(timeout time.Duration) *time.Ticker {
	if timeout <= 0 {
		return nil
	}
	return time.NewTicker(min(max(timeout/20, time.Millisecond), time.Second))
}

func (r *run) tick() <-chan time.Time {
	if r.ticks == nil {
		return nil
	}
	return r.ticks.C
}

// checkStalls is called at each tick. Where nothing was answered for too long
// it asks the server on a second connection.
func (r *run) checkStalls() {
	for _, p := range r.pipes {
		switch {
		case p.unanswered == 0 || r.lost != nil || p.down != nil:
			p.stall.restart()
		case !p.stall.expired(p.conn.reads.Load(), r.cfg.Timeout) || p.stall.asked:
		case p.stall.patient:
			p.conn.abort(&StallError{r.cfg.Timeout * patience})
		default:
			p.stall.asked = true
			r.probe(p)
		}
	}
}

// probe makes a second connection. What comes of it is an event.
func (r *run) probe(p *pipeline) {
	c, ctx, cfg, addr := p.conn, r.ctx, r.cfg, p.node.addr
	go func() { c.tell(event{kind: probed, err: answers(ctx, cfg, addr)}) }()
}

// answers returns nil if a server answers on a new connection. An interrupt does
// not end the probe: whether a server that is silent then is busy or gone decides
// how long its replies are waited for. The time is bounded in any case.
func answers(ctx context.Context, cfg Config, addr string) error {
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, cfg.Timeout)
	g, err := connect(context.WithoutCancel(ctx), cfg, addr)
	if g != nil {
		g.nc.Close()
	}
	if bad, ok := errors.AsType[*ConnectError](err); ok && bad.NotReady {
		return nil // it does, after all
	}
	return err
}

// probed is told what came of the second connection.
func (r *run) probed(p *pipeline, err error) {
	asked := p.stall.asked
	p.stall.asked = false
	switch {
	case !asked || p.unanswered == 0: // meanwhile something was answered
	case err != nil:
		p.conn.abort(&StallError{r.cfg.Timeout})
	default:
		p.stall.patient = true
		r.note(fmt.Sprintf("no reply for %v, but the server answers PING: it is busy, and has %v", r.cfg.Timeout, patience*r.cfg.Timeout))
	}
}

// stallClock measures for how long nothing was answered while something was
// owed.
type stallClock struct {
	since   time.Time
	reads   int64
	asked   bool // a second connection is being made
	patient bool // the server has answered there
}

// restart is called when something was answered, or nothing is owed.
func (s *stallClock) restart() { s.since, s.asked, s.patient = time.Now(), false, false }

// expired is called at each tick with the number of reads that brought
// something.
func (s *stallClock) expired(reads int64, timeout time.Duration) bool {
	if reads != s.reads {
		s.reads = reads
		s.restart()
	}
	if s.patient {
		timeout *= patience
	}
	return time.Since(s.since) >= timeout
}
