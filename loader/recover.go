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
	if r.underWay() || r.lost != nil {
		return r.ending()
	}
	switch {
	case r.mustRecover() && r.unfinished() != nil:
	case slices.ContainsFunc(r.pipes, isDown):
		r.resume()
	case r.stopped != nil:
	case slices.ContainsFunc(r.pipes, mustSendAgain):
		r.sendAgain()
	case r.resending:
		r.resending, r.since = false, time.Time{}
	}
	return r.ending()
}

func isDown(p *pipeline) bool { return p.down != nil }

// mustSendAgain reports whether something was refused for now on p. The rest of
// a block that is open is sent before.
func mustSendAgain(p *pipeline) bool { return p.redo && !p.sentOpen }

// catchUp waits until nothing must be sent again.
func (r *run) catchUp() error {
	if p := r.unfinished(); p != nil && p.batch != nil && !r.block.Open && r.mustRecover() {
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
	p    *pipeline
	all  []flown
	plan *plan

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
	var work []*salvage
	for _, p := range r.pipes {
		if mustSendAgain(p) {
			work = append(work, &salvage{p: p, all: p.conn.flight()})
		}
	}
	if !tired {
		redirected, err := r.follow(work)
		if (!redirected || err != nil || !r.since.IsZero()) && r.sleep(r.pauseBefore()) != nil || err != nil {
			return
		}
		if r.since.IsZero() {
			r.since, r.pause = time.Now(), firstPause
		}
	}
	for _, w := range work {
		w.p.conn.forgetFlight()
		w.p.redo, w.p.held = false, false
	}
	if tired {
		for _, w := range work {
			r.finishFlight(w)
		}
		return
	}
	work = r.withUnsent(work)
	for _, w := range work {
		w.plan = newPlan(w.all, everWritten, false) // all of it was answered
		for _, u := range w.plan.units {
			u.explain()
		}
	}
	copies := r.copyAgain(work)
	for _, w := range work {
		r.finishFlight(w)
		w.holdAgain()
	}
	r.resending = len(copies) > 0
	r.sendCopies(copies)
	r.prune()
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
// was meant for.
func (r *run) withUnsent(work []*salvage) []*salvage {
	if r.alone() {
		return work
	}
	for _, p := range r.pipes {
		b := p.batch
		if b == nil || p.sentOpen || p.redo || p.down != nil {
			continue
		}
		at := slices.IndexFunc(work, func(w *salvage) bool { return w.p == p })
		if at < 0 {
			at = len(work)
			work = append(work, &salvage{p: p})
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

// outgoing is a batch of what is sent again, and where to.
type outgoing struct {
	p *pipeline
	b *Batch
}

// copyAgain copies what the plans send into new batches, and leaves the old
// places empty: from now on it counts there. A block without its end comes
// last: what follows on its pipeline will be part of it.
func (r *run) copyAgain(work []*salvage) (copies []outgoing) {
	current, waiting := map[*pipeline]*Batch{}, map[int]bool{}
	for _, open := range []bool{false, true} {
		for _, w := range work {
			for _, u := range w.plan.units {
				if !u.send || u.open != open {
					continue
				}
				p, asks := r.importer(w.p, u, waiting)
				if asks {
					copies = r.asking(copies, current, p, u)
				}
				if open {
					r.blockPipe, p.sentOpen = p, r.block.Open
				}
				copies = r.copyUnit(copies, current, p, u)
			}
		}
	}
	return copies
}

// copyUnit appends a unit to the batches for p, of which current has the last.
func (r *run) copyUnit(copies []outgoing, current map[*pipeline]*Batch, p *pipeline, u *unit) []outgoing {
	for _, part := range u.parts {
		copies = r.copyRoom(copies, current, p, part)
		r.move(current[p], part, u.rerun)
	}
	return copies
}

// asking appends the command of our own by which the node of p takes the next
// one though it does not have the slot yet.
func (r *run) asking(copies []outgoing, current map[*pipeline]*Batch, p *pipeline, u *unit) []outgoing {
	part := u.parts[0]
	copies = r.copyRoom(copies, current, p, part)
	b := current[p]
	b.resp = append(b.resp, "*1\r\n$6\r\nASKING\r\n"...)
	b.add(part.b.N(part.i), part.b.Pos(part.i), parser.Repeatable, own)
	b.plain = false
	return copies
}

// copyRoom makes sure that current has a batch for p with room for a command.
func (r *run) copyRoom(copies []outgoing, current map[*pipeline]*Batch, p *pipeline, part part) []outgoing {
	size := len(part.b.bytesOf(part.i))
	b := current[p]
	if b != nil && len(b.resp)+size <= r.cut && b.fits(part.b.N(part.i), part.b.Pos(part.i)) {
		return copies
	}
	b = r.free.get(r.cut, p.usual)
	b.reset(part.b.markOf(part.i), part.b.file)
	current[p] = b
	return append(copies, outgoing{p, b})
}

func (r *run) sendCopies(copies []outgoing) {
	for _, c := range copies {
		r.send(c.p, c.b)
	}
}

// move copies one command to b.
func (r *run) move(b *Batch, from part, reruns bool) {
	old := &from.b.places[from.i]
	flags := old.flags & (own | piece)
	if reruns {
		flags |= rerun
	}
	b.resp = append(b.resp, from.b.bytesOf(from.i)...)
	b.add(from.b.N(from.i), from.b.Pos(from.i), old.class, flags)
	b.plain = false
	old.flags |= moved
	if s := from.b.splits[from.i]; s != nil {
		delete(from.b.splits, from.i)
		b.split(b.Len()-1, s)
	}
	if flags&(own|piece) == 0 {
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

// resume goes on with new connections after some were lost, or says in r.lost
// why it does not.
func (r *run) resume() {
	var work []*salvage
	anything := false
	for _, p := range r.pipes {
		if p.down == nil {
			continue
		}
		w, err := r.giveUp(p)
		if err != nil {
			r.lost = err
			return
		}
		work = append(work, w)
		anything = anything || w.plan.anything
	}
	fresh, err := r.reconnect(work)
	if err != nil {
		r.lost = err
		return
	}
	if err := r.lookAtSuccessors(work, fresh); err != nil {
		r.lost = err
		return
	}
	for _, w := range work {
		r.countResumed(w)
	}
	work = r.withUnsent(work)
	commands := 0
	for _, w := range work {
		if !w.p.conn.closed { // of this one, what was not handed over
			w.plan = newPlan(w.all, everWritten, false)
			continue
		}
		w.plan = newPlan(w.all, w.p.conn.written, w.lossy)
		commands += w.plan.commands()
	}
	copies := r.copyAgain(work)
	for _, w := range work {
		r.finishFlight(w)
	}
	r.resending = false
	for _, w := range work {
		if g := fresh[w.p]; g != nil {
			r.attach(w.p, g)
			w.holdAgain()
		}
	}
	if anything {
		r.note(fmt.Sprintf("connected again, %d commands are sent again", commands))
	}
	r.sendCopies(copies)
	r.prune()
}

// giveUp leaves a connection that is lost and looks at what was under way. The
// error says why the load does not go on.
func (r *run) giveUp(p *pipeline) (*salvage, error) {
	cause := p.down
	p.down = nil
	r.leave(p)
	w := &salvage{p: p, all: p.conn.flight()}
	w.plan = newPlan(w.all, p.conn.written, false)
	if may, why := r.mayResume(p, cause, w.plan); !may {
		return nil, &LostError{Addr: p.node.addr, Err: cause, Why: why}
	}
	if w.plan.anything {
		r.note("connection lost: " + cause.Error() + "; connecting again")
	}
	p.cause = cause
	return w, nil
}

// reconnect makes a connection for each pipeline that has lost its own; nil for
// one whose node another one has succeeded.
func (r *run) reconnect(work []*salvage) (map[*pipeline]*greeting, error) {
	fresh := map[*pipeline]*greeting{}
	for _, w := range work {
		g, err := r.connectAgain(w.p)
		if err != nil {
			closeAll(fresh)
			bad, ok := errors.AsType[*ConnectError](err)
			return nil, &LostError{Addr: w.p.node.addr, Err: w.p.cause, Why: err.Error(), Gone: ok && bad.Temporary}
		}
		fresh[w.p] = g
	}
	return fresh, nil
}

// lookAtSuccessors notes where another process answers now. With WaitReplicas
// it has all that was settled, and what was answered only is sent again: the
// error says that this cannot be done.
func (r *run) lookAtSuccessors(work []*salvage, fresh map[*pipeline]*greeting) error {
	for _, w := range work {
		g, n := fresh[w.p], w.p.node
		switch {
		case !r.replicated() || g != nil && g.info.RunID == n.server.RunID:
			continue
		case n.wait == 0:
			r.fellOver(n)
			continue
		}
		w.lossy = true
		w.plan = newPlan(w.all, w.p.conn.written, true)
		if why := r.cannotRepeat(w.plan); why != "" {
			closeAll(fresh)
			return &LostError{Addr: n.addr, Err: w.p.cause, Why: why}
		}
	}
	return nil
}

func closeAll(fresh map[*pipeline]*greeting) {
	for _, g := range fresh {
		if g != nil {
			g.nc.Close()
		}
	}
}

// countResumed puts into the report what the lost connection leaves.
func (r *run) countResumed(w *salvage) {
	for _, f := range w.all {
		if f.got < f.Len() {
			r.rep.Replies += repliesOf(f.Batch, f.got)
		}
	}
	if n := len(w.plan.unsure); n > 0 {
		r.rep.Twice += int64(n)
		r.note(fmt.Sprintf("warning: %d commands that may have run are sent again and cannot run twice without harm", n))
	}
	r.rep.Reconnects++
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
	p.unanswered, p.redo, p.held = 0, false, false
	r.tune.lost()
}

// mayResume tells whether the load may go on by itself, or why not.
func (r *run) mayResume(p *pipeline, cause error, plan *plan) (may bool, why string) {
	switch {
	case r.stopped != nil, r.cfg.OnDisconnect == Fail:
		return false, ""
	case errors.Is(cause, errUnasked):
		return false, "it cannot be told which reply belongs to which command"
	case r.inVainAgain(p):
		return false, fmt.Sprintf("nothing was answered on new connections for %v", r.cfg.RetryFor)
	}
	why = r.cannotRepeat(plan)
	return why == "", why
}

// cannotRepeat tells why what the plan sends again must not be, or "".
func (r *run) cannotRepeat(plan *plan) string {
	switch {
	case plan.gone:
		return "a block longer than half the window is not kept"
	case r.cfg.OnDisconnect == Resume && len(plan.unsure) > 0:
		first := plan.unsure[0].parts[0]
		return fmt.Sprintf("%d commands may have run and cannot run twice without harm, the first at %v",
			len(plan.unsure), first.b.Pos(first.i))
	}
	return ""
}

// vain is for how long connections of a pipeline were lost without an answer.
type vain struct {
	since time.Time
	pause time.Duration
}

// inVainAgain reports whether new connections have been lost for too long
// without a single answer, and pauses when the last one was: a command that
// makes the server hang up would do so for ever.
func (r *run) inVainAgain(p *pipeline) bool {
	v := &p.vain
	if p.conn.reads.Load() > 0 {
		*v = vain{}
		return false
	}
	if v.since.IsZero() {
		*v = vain{time.Now(), firstPause}
		return false
	}
	select {
	case <-time.After(v.pause):
	case <-r.ctx.Done():
	}
	v.pause = min(2*v.pause, longPause)
	return time.Since(v.since) > r.cfg.RetryFor
}

// attach gives p a connection.
func (r *run) attach(p *pipeline, g *greeting) {
	n := p.node
	if n.server != nil && n.server.RunID != g.info.RunID {
		r.newRow(n, &g.info)
	}
	n.addr, n.server, p.id = g.addr, &g.info, g.info.ID
	n.wait = r.cfg.WaitReplicas
	if h := g.info.Health; h != nil && h.Replicas < n.wait {
		n.wait = 0
		r.note(fmt.Sprintf("warning: %s has %d replicas: what it acknowledges is taken without waiting for %d", n.addr, h.Replicas, r.cfg.WaitReplicas))
	}
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
