package loader

import (
	"errors"
	"fmt"
)

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
	refused := r.refusedFlights() // on other connections: the topology may be another now
	forgetFlights(refused)
	plan := r.resend(append(work, refused...), fresh)
	if anything {
		r.note(fmt.Sprintf("connected again, %d commands are sent again", plan.commandsOfLost()))
	}
}

// giveUp leaves a connection that is lost and looks at what was under way. The
// error says why the load does not go on.
func (r *run) giveUp(p *pipeline) (*salvage, error) {
	cause := p.down
	p.down = nil
	r.leave(p)
	w := &salvage{p: p, all: p.conn.flight(), written: p.conn.written, lost: true}
	w.plan = newPlan(w)
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
		w.plan = newPlan(w)
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

// mayResume tells whether the load may go on by itself, or why not.
func (r *run) mayResume(p *pipeline, cause error, plan *plan) (may bool, why string) {
	switch {
	case r.stopped != nil, r.cfg.OnDisconnect == Fail:
		return false, ""
	case errors.Is(cause, errUnasked):
		return false, "it cannot be told which reply belongs to which command"
	case r.stuck(&p.vain, plan.first()):
		return false, fmt.Sprintf("the same command was left without an answer on new connections for %v", r.cfg.RetryFor)
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
