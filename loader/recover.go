package loader

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"respipe/parser"
)

const (
	firstPause = 5 * time.Millisecond
	longPause  = time.Second
)

// proceed is called after everything that waits. It sees to what comes before
// anything new, and returns errStop when reading must end.
func (r *run) proceed() error {
	if r.recovering {
		return r.ending()
	}
	r.recovering = true
	defer func() { r.recovering = false }()
	if r.down != nil {
		r.resume()
	}
	if r.unanswered == 0 && r.stopped == nil && r.lost == nil {
		switch {
		case r.redo && !r.sentOpen:
			r.sendAgain()
		case r.resending:
			r.resending, r.since = false, time.Time{}
		}
	}
	return r.ending()
}

// catchUp waits until nothing must be sent again. The rest of a block that is
// open is sent before.
func (r *run) catchUp() error {
	for (r.redo || r.resending) && !r.sentOpen {
		if err := r.proceed(); err != nil {
			return err
		}
		if r.unanswered > 0 {
			r.wait(nil)
		}
	}
	return nil
}

// sendAgain sends again what was refused for now, after a pause, unless it has
// been tried for too long.
func (r *run) sendAgain() {
	if r.since.IsZero() {
		r.since, r.pause = time.Now(), firstPause
	}
	tired := time.Since(r.since) > r.cfg.RetryFor
	if !tired && r.sleep(r.pause) != nil {
		return
	}
	r.pause = min(2*r.pause, longPause)
	all := r.conn.flight()
	r.conn.forgetFlight()
	r.redo, r.held = false, false
	if tired {
		r.finishFlight(all)
		return
	}
	p := newPlan(all, math.MaxInt64) // all of it was answered
	for _, u := range p.units {
		u.explain()
	}
	copies := r.copyAgain(p)
	r.finishFlight(all)
	r.resending = len(copies) > 0
	for _, b := range copies {
		r.send(b)
	}
}

// sleep pauses, and goes on seeing to events. It ends early when the load must
// end or, in proceed, when the connection is lost.
func (r *run) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	r.alarm = timer.C
	for r.alarm != nil {
		r.wait(nil)
		if err := r.proceed(); err != nil || r.down != nil {
			r.alarm = nil
			return errStop
		}
	}
	return nil
}

// copyAgain copies what the plan sends into new batches, and leaves the old
// places empty: from now on it counts there.
func (r *run) copyAgain(p *plan) (copies []*Batch) {
	var b *Batch
	for _, u := range p.units {
		if !u.send {
			continue
		}
		for _, part := range u.parts {
			size := len(part.b.bytesOf(part.i))
			if b == nil || len(b.resp)+size > r.cut || !b.fits(part.b.N(part.i), part.b.Pos(part.i)) {
				b = r.free.get(r.cut, r.usual)
				b.reset(part.b.markOf(part.i), part.b.file)
				copies = append(copies, b)
			}
			r.move(b, part, u.rerun)
		}
	}
	return copies
}

// move copies one command to b.
func (r *run) move(b *Batch, from part, reruns bool) {
	old := &from.b.places[from.i]
	flags := old.flags & own
	if reruns {
		flags |= rerun
	}
	b.resp = append(b.resp, from.b.bytesOf(from.i)...)
	b.add(from.b.N(from.i), from.b.Pos(from.i), old.class, flags)
	b.plain = false
	old.flags |= moved
	if flags&own == 0 {
		from.b.away++
		if from.answered {
			r.rep.Replies--
		}
	}
	from.b.failures = slices.DeleteFunc(from.b.failures, func(f Failure) bool {
		if f.I == from.i && f.Ours {
			f.I = b.Len() - 1
			b.failures = append(b.failures, f)
		}
		return f.I == from.i || f.Ours && f.I == b.Len()-1
	})
}

// finishFlight settles what was not moved.
func (r *run) finishFlight(all []flown) {
	for _, f := range all {
		switch {
		case f.resp == nil:
			r.settle(f.Batch)
		case r.conn.closed, f.unfinished.Add(-1) == 0:
			r.settle(f.Batch)
			r.forget(f.Batch)
		}
	}
}

// resume goes on with a new connection after the old one was lost, or says in
// r.lost why it does not.
func (r *run) resume() {
	cause := r.down
	r.down = nil
	r.leaveConn()
	all := r.conn.flight()
	p := newPlan(all, r.conn.written)
	lost := &LostError{Addr: r.rep.Server.Addr, Err: cause}
	if may, why := r.mayResume(cause, p); !may {
		lost.Why = why
		r.lost = lost
		return
	}
	if p.anything {
		r.note("connection lost: " + cause.Error() + "; connecting again")
	}
	g, err := r.connectAgain()
	if err != nil {
		lost.Why = err.Error()
		r.lost = lost
		return
	}
	for _, f := range all {
		if f.got < f.Len() {
			r.rep.Replies += repliesOf(f.Batch, f.got)
		}
	}
	if n := len(p.unsure); n > 0 {
		r.rep.Twice += int64(n)
		r.note(fmt.Sprintf("warning: %d commands that may have run are sent again and cannot run twice without harm", n))
	}
	r.rep.Reconnects++
	copies := r.copyAgain(p)
	r.finishFlight(all)
	r.takeConn(g)
	if p.anything {
		r.note(fmt.Sprintf("connected again, %d commands are sent again", p.commands()))
	}
	for _, b := range copies {
		r.send(b)
	}
}

// leaveConn closes the connection and handles the events that are left.
func (r *run) leaveConn() {
	if r.conn.closed {
		return
	}
	r.conn.close()
	for {
		select {
		case e := <-r.conn.events:
			switch {
			case e.kind != lost:
				r.handle(e)
			case errors.Is(e.err, errUnasked) && r.lost == nil && !r.recovering:
				r.lost = &LostError{Addr: r.rep.Server.Addr, Err: e.err}
			}
		default:
			r.rep.Bytes += r.conn.written
			r.unanswered, r.redo, r.resending, r.held = 0, false, false, false
			r.tune.lost()
			return
		}
	}
}

// mayResume tells whether the load may go on by itself, or why not.
func (r *run) mayResume(cause error, p *plan) (may bool, why string) {
	switch {
	case r.stopped != nil, r.cfg.OnDisconnect == Fail:
		return false, ""
	case errors.Is(cause, errUnasked):
		return false, "it cannot be told which reply belongs to which command"
	case r.inVainAgain():
		return false, fmt.Sprintf("nothing was answered on new connections for %v", r.cfg.RetryFor)
	case p.gone:
		return false, "a block longer than half the window is not kept"
	case r.cfg.OnDisconnect == Resume && len(p.unsure) > 0:
		first := p.unsure[0].parts[0]
		return false, fmt.Sprintf("%d commands may have run and cannot run twice without harm, the first at %v",
			len(p.unsure), first.b.Pos(first.i))
	}
	return true, ""
}

// inVainAgain reports whether new connections have been lost for too long
// without a single answer, and pauses when the last one was: a command that
// makes the server hang up would do so for ever.
func (r *run) inVainAgain() bool {
	if r.conn.reads.Load() > 0 {
		r.lostAt = time.Time{}
		return false
	}
	if r.lostAt.IsZero() {
		r.lostAt, r.pause = time.Now(), firstPause
		return false
	}
	select {
	case <-time.After(r.pause):
	case <-r.ctx.Done():
	}
	r.pause = min(2*r.pause, longPause)
	return time.Since(r.lostAt) > r.cfg.RetryFor
}

// takeConn makes a connection the one of this load.
func (r *run) takeConn(g *greeting) {
	r.rep.Server = &g.info
	r.conn = newConn(g.nc, r.db, &r.cfg)
	r.handed = 0
	r.stall.restart()
}

func (r *run) note(text string) {
	if r.cfg.OnNote != nil {
		r.cfg.OnNote(text)
	}
}

// stateCommand is the last command of its kind that changed the connection.
type stateCommand struct {
	op   *parser.Op
	resp []byte
}

// remember keeps a command that has changed the connection, for the next
// connection. The database is known without.
func (r *run) remember(op *parser.Op, resp []byte) {
	if op.Name == "SELECT" {
		return
	}
	r.state = slices.DeleteFunc(r.state, func(s stateCommand) bool { return s.op == op })
	r.state = append(r.state, stateCommand{op, resp})
}
