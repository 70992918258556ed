package loader

import (
	"errors"
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
	for !r.underWay() && r.lost == nil && r.recoverOnce() {
	}
	return r.ending()
}

// recoverOnce does one step of what proceed sees to, and reports whether there
// may be another: one that nothing is waited for, so that no event would come to
// do it.
func (r *run) recoverOnce() (more bool) {
	switch {
	case r.mustRecover() && r.unfinished() != nil:
		r.resending = false // all of it is answered, and the rest of the block goes first
	case slices.ContainsFunc(r.pipes, isDown):
		r.resume()
		return true
	case r.halts():
	case slices.ContainsFunc(r.pipes, mustSendAgain):
		r.sendAgain()
		return true
	case r.resending:
		r.resending, r.since = false, time.Time{}
	}
	return false
}

func isDown(p *pipeline) bool { return p.down != nil }

// mustSendAgain reports whether something was refused for now on p. The rest of
// a block that is open is sent before.
func mustSendAgain(p *pipeline) bool { return p.redo && !p.sentOpen }

// catchUp waits until nothing must be sent again.
func (r *run) catchUp() error {
	if p := r.unfinished(); p != nil && p.batch != nil && !r.blockGoesOn(p) && r.mustRecover() {
		b := p.batch // the end of its block
		p.batch, p.sentOpen = nil, false
		r.send(p, b)
	}
	for r.troubled() {
		if err := r.proceed(); err != nil {
			return err
		}
		if r.underWay() {
			r.wait(nil)
		}
	}
	return nil
}

// salvage is what a pipeline had that is not settled.
type salvage struct {
	p       *pipeline
	all     []flown
	written int64 // bytes that its connection has written
	plan    *plan // of a lost connection: whether the load may go on

	lost  bool     // its connection is
	lossy bool     // the server is gone, and what it has answered may be, too
	hold  []*Batch // that wait for replicas
}

// holdAgain keeps what waits for replicas, on the connection that p has now.
func (w *salvage) holdAgain() {
	for _, b := range w.hold {
		w.p.conn.block.hold(b)
		w.p.held = true
	}
}

// everWritten is more than any connection writes, and less than where a batch
// begins that was not handed over.
const everWritten, neverHanded = math.MaxInt64 / 4, math.MaxInt64 / 2

// sendAgain sends again what was refused for now, after a pause, unless it has
// been tried for too long.
func (r *run) sendAgain() {
	tired := !r.since.IsZero() && time.Since(r.since) > r.cfg.RetryFor
	work := r.refusedFlights()
	if !tired {
		redirected, err := r.follow(work)
		if (!redirected || err != nil || !r.since.IsZero()) && r.sleep(r.pauseBefore()) != nil || err != nil {
			return
		}
		if r.since.IsZero() {
			r.since, r.pause = time.Now(), firstPause
		}
	}
	forgetFlights(work)
	if tired {
		for _, w := range work {
			r.finishFlight(w)
			w.holdAgain()
		}
		r.since = time.Time{} // what is refused later is tried for as long
		return
	}
	r.resend(work, nil)
}

// refusedFlights returns the flights in which something was refused for now.
func (r *run) refusedFlights() (work []*salvage) {
	for _, p := range r.pipes {
		if mustSendAgain(p) {
			work = append(work, &salvage{p: p, all: p.conn.flight(), written: everWritten}) // all of it was answered
		}
	}
	return work
}

// forgetFlights makes the connections forget what refusedFlights has returned.
func forgetFlights(work []*salvage) {
	for _, w := range work {
		w.p.conn.forgetFlight()
		w.p.redo, w.p.held = false, false
	}
}

// resend sends again what must be of the work, in the order of the input over
// all connections. Pipelines that have lost their connection get the fresh one.
func (r *run) resend(work []*salvage, fresh map[*pipeline]*greeting) *plan {
	work = r.withUnsent(work)
	plan := newPlan(work...)
	for _, u := range plan.units {
		u.explain()
	}
	copies := r.copyAgain(plan)
	for _, w := range work {
		r.finishFlight(w)
	}
	for _, w := range work {
		if g := fresh[w.p]; g != nil {
			r.attach(w.p, g)
		}
		if !w.p.conn.closed {
			w.holdAgain()
		}
	}
	if r.block.Open && r.blockPipe != nil && r.blockPipe.conn.closed { // nothing of its transaction was sent again
		r.blockPipe = r.pipeOf(r.router.slot)
	}
	r.resending = len(copies) > 0
	r.sendCopies(copies)
	r.prune()
	return plan
}

// pauseBefore returns how long to wait before what was refused for now is sent
// again.
func (r *run) pauseBefore() time.Duration {
	if r.since.IsZero() {
		r.since, r.pause = time.Now(), firstPause
	}
	pause := r.pause
	r.pause = min(2*pause, longPause)
	return pause
}

// withUnsent adds to the work the batches that are not handed over: where
// there are several pipelines, what they hold may have to go to others than it
// was meant for. The rest of a block that is open on a connection stays.
func (r *run) withUnsent(work []*salvage) []*salvage {
	if r.alone() {
		return work
	}
	for _, p := range r.pipes {
		b := p.batch
		if b == nil || p.sentOpen && !p.conn.closed || p.redo || p.down != nil {
			continue
		}
		at := slices.IndexFunc(work, func(w *salvage) bool { return w.p == p })
		if at < 0 {
			at = len(work)
			work = append(work, &salvage{p: p, written: everWritten})
		}
		b.start = neverHanded
		work[at].all = append(work[at].all, flown{Batch: b})
		p.batch = nil
	}
	return work
}

// sleep pauses, and goes on seeing to events. It ends early when the load must
// end or, in proceed, when the connection is lost.
func (r *run) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	r.alarm = timer.C
	for r.alarm != nil {
		r.wait(nil)
		if err := r.proceed(); err != nil || r.recovering && slices.ContainsFunc(r.pipes, isDown) {
			r.alarm = nil
			return errStop
		}
	}
	return nil
}

// finishFlight settles what was not moved, unless that still waits for
// replicas.
func (r *run) finishFlight(w *salvage) {
	for _, f := range w.all {
		switch {
		case f.resp == nil:
			r.settle(f.Batch)
		case w.p.node.wait > 0 && f.start != neverHanded && !w.lossy && f.away < f.due-f.owned:
			w.hold = append(w.hold, f.Batch)
		case f.start == neverHanded:
			r.settle(f.Batch)
			r.free.put(f.Batch)
		case w.p.conn.closed, f.unfinished.Add(-1) == 0:
			r.settle(f.Batch)
			r.forget(w.p, f.Batch)
		}
	}
}

func (r *run) leaveAll() {
	for _, p := range r.pipes {
		r.leave(p)
	}
}

// leave closes the connection of p and handles the events that are there.
func (r *run) leave(p *pipeline) {
	if p.conn.closed {
		return
	}
	p.conn.close()
	for _, e := range r.mail.take() {
		if e.kind == named {
			continue // it will be told again
		}
		q := e.from.pipe
		switch {
		case e.from != q.conn:
		case e.kind == lost && errors.Is(e.err, errUnasked) && r.lost == nil && !r.recovering:
			r.lost = &LostError{Addr: q.node.addr, Err: e.err}
		case e.kind != lost || q != p:
			r.handle(q, e)
		}
	}
	r.rep.Bytes += p.conn.written
	p.unanswered, p.redo, p.held, p.sentOpen = 0, false, false, false
	r.tune.Lost()
}

// attach gives p a connection.
func (r *run) attach(p *pipeline, g *greeting) {
	n := p.node
	if n.server != nil && n.server.RunID != g.info.RunID {
		r.newRow(n, &g.info)
	}
	if n.server == nil || n.server.RunID != g.info.RunID {
		n.wait = r.replicasOf(g)
	}
	n.addr, n.server, p.id = g.addr, &g.info, g.info.ID
	p.confirm.asked, p.confirm.anew = false, p.conn != nil // what the connection before had asked for will not be answered
	p.conn = newConn(g.nc, p, r)
	p.handed = 0
	p.stall.restart()
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
