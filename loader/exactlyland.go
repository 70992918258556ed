package loader

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"respipe/parser"
)

// errTouched says that the key was written by somebody, who left in it what
// was there.
var errTouched = errors.New("another client has touched the key of the position")

// land takes the transaction that was under way, and how it ended.
func (x *exactly) land(err error) {
	t := x.flying
	x.flying = nil
	x.rep.Bytes += t.written
	switch {
	case t.outside != nil:
		x.pending = t
		x.lost = &LostError{Addr: x.node.addr, Err: t.outside, Why: "no transactions can be had there"}
		return
	case err != nil:
		x.pending = t
		x.lose(err)
		return
	}
	x.delayed(t, time.Now())
	switch {
	case t.ran:
		x.executed(t)
	case t.discarded:
		x.settle(t)
		x.check(t)
	case t.aborted != nil:
		x.rejected(t)
	default: // a null: the key was touched
		x.pending = t
		if x.check(t) {
			x.lose(errTouched)
		}
	}
}

// delayed takes note of how long the replies took.
func (x *exactly) delayed(t *transaction, now time.Time) {
	for _, b := range t.batches {
		x.latencies.RecordValues(now.Sub(b.sent).Microseconds(), int64(b.due))
		x.node.latencies.RecordValues(now.Sub(b.sent).Microseconds(), int64(b.due))
	}
}

// executed settles a transaction that has run.
func (x *exactly) executed(t *transaction) {
	x.held = &t.next
	x.settle(t)
	switch {
	case t.kept != nil: // rights were taken away between queueing and running
		x.lost = &PositionError{Key: x.key, Err: fmt.Errorf("commands ran up to record %d, which the position does not say: %s", t.next.Mark.N, t.kept)}
	case !x.check(t):
	case t.afterErr != nil:
		x.afterFailed(t)
	default:
		x.correct(t)
	}
}

// correct writes the position again, if it says of a SELECT that was refused
// that it was not, or of Config.After that its reply was not seen.
func (x *exactly) correct(t *transaction) {
	if x.db != t.next.Mark.DB || t.after != nil && !t.unseen {
		x.launch(&transaction{next: x.reached})
	}
}

// check compares what lies under the key with what must.
func (x *exactly) check(t *transaction) bool {
	switch v := t.key; {
	case v.Kind == '-':
		x.lose(v.Err())
	case t.refused != nil:
		x.lose(errors.New(string(t.refused)))
	case v.Nil:
		x.lost = x.contested(nil)
	case !bytes.Equal(v.Text, x.held.raw):
		x.lost = x.contested(x.held)
	default:
		return true
	}
	return false
}

// rejected goes on after an EXEC that was answered with an error: nothing has
// run. Commands that were refused when they were queued are refused, and the
// rest is sent again; a block of the input is refused as a whole. What keeps the
// position from being written ends the load, unless it passes.
func (x *exactly) rejected(t *transaction) {
	why := x.obstacle(t)
	switch {
	case t.afterErr != nil:
		if x.check(t) {
			x.afterFailed(t)
		}
	case why != nil && x.passes(why):
		x.pending = t
		x.lose(errors.New(string(why)))
	case why != nil:
		x.pending = t
		x.refused(&PositionError{Key: x.key, Err: errors.New(string(why)), Refused: true})
	case t.block:
		x.settle(t)
		x.check(t)
	case x.check(t):
		x.launch(t)
	default:
		x.pending = t
	}
}

// refused ends the load, as the position cannot be written; why it ended already
// is not forgotten for that.
func (x *exactly) refused(err *PositionError) {
	if x.stopped == nil {
		x.stopped = err
	} else {
		x.stopped = errors.Join(x.stopped, err)
	}
}

// obstacle returns the words of the server that say why the position was not
// written; nil if it was for commands of the input alone.
func (x *exactly) obstacle(t *transaction) []byte {
	if t.refused != nil {
		return t.refused
	}
	if _, why, ok := bytes.Cut(t.aborted, []byte("because of: ")); ok && (keepsOut(why) || !t.block) {
		return why
	} else if ok {
		return nil // the EXEC of the input is malformed
	}
	fresh := 0
	for i, b := range t.batches {
		for _, f := range b.failures[t.failures[i]:] {
			if keepsOut(f.Text) {
				return f.Text
			}
			fresh++
		}
	}
	if t.block && fresh > 1 || !t.block && fresh > 0 { // an EXEC of the input is one
		return nil
	}
	return t.aborted
}

// keepsOut reports whether an error is the answer to every write.
func keepsOut(text []byte) bool {
	word, _, _ := bytes.Cut(text, []byte(" "))
	return isTemporary(text) || isHopeless(text) || string(word) == "OOM" || string(word) == "NOREPLICAS"
}

// passes reports whether what keeps the position from being written may pass:
// behind sentinels, a master that has become a replica has a successor.
func (x *exactly) passes(text []byte) bool {
	return isTemporary(text) || x.cfg.Master != nil && bytes.HasPrefix(text, []byte("READONLY "))
}

// settle puts a transaction into the report.
func (x *exactly) settle(t *transaction) {
	again := x.again(t.next.reach())
	if t.unseen && !again {
		x.noteUnconfirmed(t)
	}
	for _, b := range t.batches {
		b.mark.DB = x.db
		if t.changes && t.ran {
			x.changed(b)
		}
		if again {
			x.rep.Again += int64(b.Len() - b.owned)
		} else {
			replies := int64(b.due - b.owned)
			if t.unseen {
				replies -= x.unanswered(b)
			}
			x.rep.Replies += replies
			x.node.report.Replies += replies
			x.run.settle(b)
		}
		x.free.put(b)
	}
	if !again {
		x.settled, x.sure = t.next.reach(), t.counted
	}
	x.reached = t.next
	x.reached.Mark.DB = x.db
	x.reached.Confirmed, x.reached.Unconfirmed = nil, x.unconfirmed
	x.reached.AfterUnconfirmed = t.next.AfterUnconfirmed && (t.after == nil || t.unseen)
	x.lag = !x.reached.same(x.held)
	x.vain = vain{}
}

// changed takes note of what a batch has changed in the connection.
func (x *exactly) changed(b *Batch) {
	x.db = dbBehind(b, x.db)
	failed := failedPlaces(b)
	for i, p := range b.places {
		if p.class == parser.State && p.flags&queued != 0 && !failed[i] {
			resp := bytes.Clone(b.bytesOf(i))
			x.remember(new(parser.Ops).Find(parser.ParseRequest(resp, nil)), resp)
		}
	}
}

// afterFailed notes that Config.After was refused: the input is not done.
func (x *exactly) afterFailed(t *transaction) {
	x.failedAfter = &AfterError{errors.New(string(t.afterErr))}
	x.reached.Done = false
	x.launch(&transaction{next: x.reached})
}

// lose gives the connection up.
func (x *exactly) lose(err error) {
	if x.cause != nil {
		err, x.cause = x.cause, nil
	}
	x.down = err
	x.link.net.Close()
}

// leaveTransactions accounts for what was not settled.
func (x *exactly) leaveTransactions() {
	for _, t := range []*transaction{x.pending, x.filling} {
		if t == nil {
			continue
		}
		t.undo()
		db := x.db
		for _, b := range t.batches {
			b.mark.DB = db
			db = dbBehind(b, db)
			if !x.again(t.next.reach()) {
				x.leaveBatch(b, t.unknown(), t.block)
			}
		}
	}
}

// leaveBatch accounts for a batch of which nobody knows whether it ran, or that
// did not.
func (x *exactly) leaveBatch(b *Batch, isUnknown, block bool) {
	failed := failedPlaces(b)
	for i, p := range b.places {
		if p.flags&(refused|own) != 0 || failed[i] {
			continue
		}
		x.goOnFrom(b.markOf(i), b.file, block)
		if !isUnknown {
			x.rep.NotSent++
			continue
		}
		x.lostFrom(b.N(i), b.Pos(i), b.Pos(i))
		x.rep.Unknown++
		x.rep.Sent++
		x.rep.Unanswered++
	}
	x.tally(b)
}

// unknown reports whether nobody knows if the transaction ran: all of it was
// sent, and it was not answered.
func (t *transaction) unknown() bool {
	return t.outside != nil || t.end > 0 && t.written >= t.end && !t.answered
}
