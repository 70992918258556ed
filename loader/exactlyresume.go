package loader

import (
	"errors"
	"fmt"
	"time"

	"respipe/parser"
)

// resume goes on with a new connection. The position that is found there says
// whether the transaction that was under way has run.
func (x *exactly) resume() {
	lost := &LostError{Addr: x.node.addr, Err: x.down}
	x.down = nil
	switch {
	case x.stopped != nil, x.cfg.OnDisconnect == Fail:
		x.lost = lost
		return
	case x.stuck(&x.vain, x.owed()):
		lost.Why = fmt.Sprintf("no transaction went through on new connections for %v", x.cfg.RetryFor)
		x.lost = lost
		return
	case x.pending != nil:
		x.note("connection lost: " + lost.Err.Error() + "; connecting again")
	}
	var found *Position
	g, err := x.connectWithin(max(x.cfg.RetryFor, time.Millisecond), func() (g *greeting, err error) {
		g, found, err = x.rejoin()
		return g, err
	}, func(error) {})
	if err != nil {
		x.notResumed(lost, err)
		return
	}
	x.rep.Reconnects++
	x.attach(g)
	x.goOn(found)
}

// owed returns the record behind the transaction that was under way, 0 for none.
func (x *exactly) owed() int64 {
	if x.pending == nil {
		return 0
	}
	return x.pending.next.Mark.N
}

// notResumed notes why the load does not go on with a new connection.
func (x *exactly) notResumed(lost *LostError, err error) {
	bad, ok := errors.AsType[*PositionError](err)
	switch {
	case x.ctx.Err() != nil:
		x.interrupt()
		x.lost = lost
	case ok && bad.Refused:
		x.stopped = bad
	case ok:
		x.lost = bad
	default:
		lost.Why = err.Error()
		x.lost = lost
	}
}

// rejoin tries once to connect again, to bring the connection into the state
// that the lost one was in, and to claim the position.
func (x *exactly) rejoin() (g *greeting, found *Position, err error) {
	if g, err = x.connectAny(); err != nil {
		return nil, nil, err
	}
	err = g.within(x.ctx, func() error {
		if err := x.bringUp(g); err != nil { // which shows that its database can be selected
			return err
		}
		if err := x.probeSelects(g); err != nil {
			return err
		}
		if err := g.must("SELECT", selectRequest(x.cfg.DB)); err != nil {
			return err
		}
		found, err = x.claim(g, x.mayGoOn)
		return err
	})
	if err != nil {
		g.nc.Close()
		return nil, nil, err
	}
	return g, found, nil
}

// attach makes g the connection.
func (x *exactly) attach(g *greeting) {
	n := x.node
	if n.server.RunID != g.info.RunID {
		x.newRow(n, &g.info)
	}
	n.addr, n.server, x.cause = g.addr, &g.info, nil
	x.link = &link{net: newReplySocket(g.nc, false), buf: make([]byte, readBuffer)}
}

// mayGoOn reports whether the load may go on at what a new connection finds
// under the key, and keeps what that says.
func (x *exactly) mayGoOn(found *Position) error {
	switch x.says = x.whereabouts(found); {
	case x.says == elsewhere:
		return x.contested(found)
	case x.says == behind && x.once.Reopen == nil:
		return &PositionError{Key: x.key, Err: ErrBehind}
	}
	return nil
}

// whereabouts is what a position that was found says of the load.
type whereabouts uint8

const (
	elsewhere whereabouts = iota // nothing: somebody else wrote it, or it is gone
	before                       // what was under way has not run
	hasRun                       // it has
	behind                       // the server has lost what it had acknowledged
)

// whereabouts reads what a position that was found says. One that we have not
// written is ours all the same if it is what we found at the start: then the
// server has lost all that we did.
func (x *exactly) whereabouts(found *Position) whereabouts {
	nothing := x.held.reach() == x.first.reach() // was done by us
	switch t, ours := x.pending, found.writtenBy(x.token); {
	case ours && t != nil && !t.discarded && found.same(&t.next):
		return hasRun
	case ours && found.same(x.held):
		return before
	case ours:
		return behind
	case !found.identical(x.first) || found == nil && !nothing:
		return elsewhere
	case nothing:
		return before
	}
	return behind
}

// goOn goes on at the position that was found and claimed.
func (x *exactly) goOn(found *Position) {
	t := x.pending
	x.pending = nil
	switch {
	case x.says == behind:
		if err := x.rewind(found, t); err != nil {
			x.stopped = err
		}
	case t == nil:
	case x.says == hasRun:
		t.ran, t.unseen = true, !t.answered
		x.settle(t)
		if t.afterErr != nil {
			x.afterFailed(t)
		} else {
			x.correct(t)
		}
	default:
		t.undo()
		x.launch(t)
	}
}

// probeSelects finds out which SELECTs of the transaction that was under way
// are refused: if it ran, they were.
func (x *exactly) probeSelects(g *greeting) error {
	t := x.pending
	if t == nil || !t.changes {
		return nil
	}
	for _, b := range t.batches {
		failed := failedPlaces(b)
		for i, p := range b.places {
			if p.class != parser.State || p.flags&refused != 0 || failed[i] {
				continue
			}
			if _, ok := selectedDB(b.bytesOf(i)); !ok {
				continue
			}
			v, err := g.exchange(b.bytesOf(i))
			if err != nil {
				return err
			}
			if v.Kind != '-' {
				continue
			}
			if err := notReady(v, nil); err != nil {
				return err
			}
			b.fail(i, v.Text, false)
		}
	}
	return nil
}

// rewind reads the input again from what the server still knows. What was under
// way or being filled is dropped: it will be read again, too.
func (x *exactly) rewind(found *Position, t *transaction) error {
	x.note(fmt.Sprintf("the server has lost what it had acknowledged behind record %d: loading again from there", found.reach().n))
	x.drop(t)
	x.drop(x.filling)
	x.filling, x.block, x.inHand = nil, OpenBlock{}, false
	if x.broken != nil {
		x.broken = nil
		x.early--
	}
	x.rep.Records, x.seen = x.sure, x.settled.n
	x.rep.InputDone = false
	return x.reopen(found)
}

// drop forgets a transaction, and what we refused in it.
func (x *exactly) drop(t *transaction) {
	if t == nil {
		return
	}
	for _, b := range t.batches {
		for _, f := range b.failures {
			if f.Ours {
				x.early--
			}
		}
		x.free.put(b)
	}
}

// reopen has the input read from a position on.
func (x *exactly) reopen(p *Position) error {
	src, err := x.once.Reopen(p)
	if err != nil {
		return err
	}
	x.src = src
	src.Await(x.await)
	x.startAt(p)
	x.rewound = true
	return nil
}
