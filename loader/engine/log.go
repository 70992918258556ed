package engine

import (
	"slices"

	"respipe/loader/batch"
)

// log is the in-flight log, the one record of what was sent and is not
// complete. It is spread over the connections, each with its batches in the
// order in which they were sent.
//
// Outside of a repair a key is on one connection at a time. So an entry is
// complete as soon as its reply is final and everything before it on its
// connection is complete, and a clean reply costs a step per batch.
type log struct {
	e    *Engine
	free []*batch.Batch
}

// get returns an empty batch.
func (l *log) get() *batch.Batch {
	if n := len(l.free); n > 0 {
		b := l.free[n-1]
		l.free = l.free[:n-1]
		return b
	}
	return &batch.Batch{}
}

// largestKept is the size of the largest buffer that is used again.
const largestKept = 1 << 20

// put takes a batch back that nothing refers to any more.
func (l *log) put(b *batch.Batch) {
	l.e.window.giveBack(b)
	if cap(b.RESP) <= largestKept && cap(b.Entries)*entryBytes <= largestKept && b.RESP != nil {
		b.Reset()
		l.free = append(l.free, b)
	}
}

// filling returns the batch of a connection that a command at a position can
// be appended to.
func (l *log) filling(c *connection, p batch.Position) *batch.Batch {
	if c.filling != nil && !c.filling.Fits(p) {
		l.submit(c)
	}
	if c.filling == nil {
		c.filling = l.get()
	}
	return c.filling
}

// appended submits the batch of a connection if it is full.
func (l *log) appended(c *connection) {
	l.e.window.charge(c.filling)
	commands, bytes := l.e.window.limits()
	if c.filling.Len() >= commands || len(c.filling.RESP) >= bytes {
		l.submit(c)
	}
}

// submit sends the batch of a connection.
func (l *log) submit(c *connection) {
	b := c.filling
	if b == nil {
		return
	}
	c.filling = nil
	b.Start, b.Written, b.Sent = c.submitted, int64(len(b.RESP)), true
	b.SentAt = l.e.now
	l.e.window.sent(l.e.now, b)
	c.submitted += int64(len(b.RESP))
	if c.unanswered == 0 {
		c.silence.begin(l.e.now)
	}
	c.flight = append(c.flight, b)
	c.unanswered += b.Len()
	l.e.act(Action{Kind: Submit, Conn: c.id, Batch: b})
}

// flush sends the batches that are not full.
func (l *log) flush() {
	for _, c := range l.e.pool.conns {
		if c.phase == ready {
			l.submit(c)
		}
	}
}

// answer takes further replies of a connection. It reports whether one of them
// is a retryable error.
func (l *log) answer(c *connection, ev *Event) (trouble bool) {
	count, errors := min(ev.Count, c.unanswered), ev.Errors
	c.unanswered -= count
	c.answered += int64(count)
	c.silence.begin(l.e.now)
	if len(errors) == 0 {
		c.node.row = row{}
	} else {
		trouble = l.fail(c, errors, count)
	}
	for _, b := range c.flight {
		n := min(count, b.Len()-b.Answered)
		if n > 0 {
			c.node.answered.add(b, b.Answered, b.Answered+n-1)
		}
		b.Answered += n
		l.keep(b, ev, n)
		if n > 0 && b.Answered == b.Len() {
			l.answered(c, b)
		}
		if count -= n; count == 0 {
			break
		}
	}
	for _, s := range c.streams {
		l.queued(c, s)
		trouble = trouble || s.state() == retry
	}
	return trouble
}

// keep keeps the next n replies of an event in their batch.
func (l *log) keep(b *batch.Batch, ev *Event, n int) {
	if !l.e.cfg.KeepReplies || n == 0 {
		return
	}
	for range n {
		end := ev.Ends[0]
		b.AddReply(ev.Kept[ev.kept:end])
		ev.Ends, ev.kept = ev.Ends[1:], end
	}
	l.e.window.replied(b)
}

// answered is called with a batch whose last reply has come.
func (l *log) answered(c *connection, b *batch.Batch) {
	l.e.cfg.Observer.Answered(c.id, b.Len(), l.e.now-b.SentAt)
	if tuner := l.e.cfg.Tuner; tuner != nil {
		tuner.Answered(b.Mark, b.SentAt, l.e.now, b.Len())
	}
}

// fail notes the errors of an event with their entries, before its replies are
// counted.
func (l *log) fail(c *connection, errors []ErrorReply, count int) (trouble bool) {
	first := 0    // index in the event of the next reply of b
	success := -1 // index in the event of the last reply that is no error, as far as is known
	for _, b := range c.flight {
		owed := b.Len() - b.Answered
		for len(errors) > 0 && errors[0].Index < first+owed {
			f := classify(&errors[0], b.Answered+errors[0].Index-first, c.node.address)
			if errors[0].Index > success+1 {
				c.node.row = row{}
			}
			success = errors[0].Index
			l.noteRow(c, b, &f)
			trouble = note(b, &f) || trouble
			errors = errors[1:]
		}
		first += owed
	}
	if success < count-1 {
		c.node.row = row{}
	}
	return trouble
}

// noteRow notes an error reply in the row of persistent errors of the node.
func (l *log) noteRow(c *connection, b *batch.Batch, f *batch.Failure) {
	switch {
	case b.Entries[f.Entry].Flags&(batch.Own|batch.Copied) != 0: // of no record, or of several for one
	case f.Kind == persistent:
		c.node.row.note(l.beginning(c, b, f.Entry))
	case f.Kind != aborted:
		c.node.row = row{}
	}
}

// beginning returns where the command at an index of a batch begins, or its
// transaction.
func (l *log) beginning(c *connection, b *batch.Batch, i int) place {
	if s := c.streamOf(b); s != nil {
		b, i = s.parts[0], 0
	}
	for i > 0 && b.Entries[i].Flags&batch.InTx != 0 && b.Entries[i].Flags&batch.Begins == 0 {
		i--
	}
	return l.e.router.guard.beginning(b, i)
}

// note notes a failure with its entry. It reports whether it must be retried.
func note(b *batch.Batch, f *batch.Failure) bool {
	en := &b.Entries[f.Entry]
	if b.Entries[commandOf(b, f)].Flags&batch.Overtaken != 0 && wrongType(f.Text) {
		// It was acknowledged before. That a later command, which has run, too,
		// has left another type does not undo that: it runs again next.
		return false
	}
	b.Failures = append(b.Failures, *f)
	b.Mixed = true
	switch {
	case f.Element >= 0:
		return false
	case f.Kind == null:
		en.Status = batch.Null
	case retryable(f.Kind):
		en.Status = batch.Retryable
	default:
		en.Status = batch.Failed
	}
	if en.Flags&(batch.InTx|batch.Ends) == batch.InTx {
		return false // EXEC tells what becomes of the transaction
	}
	return retryable(f.Kind) || f.Kind == aborted && abortedByRetryable(b, f.Entry)
}

// completeHead completes the entries of a connection that are answered. No
// retryable error may be among them.
func (l *log) completeHead(c *connection) {
	n := 0
	for n < len(c.flight) && c.flight[n].Answered == c.flight[n].Len() && !c.flight[n].Held {
		s := c.streamOf(c.flight[n])
		if s == nil {
			l.complete(c, c.flight[n])
			n++
			continue
		}
		if !s.answered() {
			break
		}
		n += len(s.parts)
		l.completeStream(c, s)
	}
	if n > 0 {
		c.flight = slices.Delete(c.flight, 0, n)
	}
}

// commandOf returns the index of the command that a failure is about: that of
// the transaction if an element of the reply to its EXEC has failed.
func commandOf(b *batch.Batch, f *batch.Failure) int {
	i := f.Entry
	if f.Element < 0 {
		return i
	}
	for i > 0 && b.Entries[i].Flags&batch.Begins == 0 {
		i--
	}
	return min(i+1+f.Element, f.Entry)
}

// copyEntry appends the entry at first to last of a batch to the batch of a
// connection.
func (l *log) copyEntry(c *connection, from *batch.Batch, first, last int) {
	b := l.filling(c, from.Position(first))
	if !b.Fits(from.Position(last)) {
		l.submit(c)
		b = l.filling(c, from.Position(first))
	}
	for i := first; i <= last; i++ {
		b.Copy(from, i)
		b.Mixed = b.Mixed || from.Entries[i].Flags&^batch.Last != 0
	}
}

// own appends a command of our own to the batch of a connection.
func (l *log) own(c *connection, p batch.Position, resp []byte) {
	b := l.filling(c, p)
	b.RESP = append(b.RESP, resp...)
	b.Add(p, 0, batch.Own)
	b.Mixed = true
}

// troubled reports whether something in flight was not answered for good.
func (l *log) troubled() bool {
	for _, c := range l.e.pool.conns {
		for _, b := range c.flight {
			if b.Answered < b.Len() && c.streamOf(b) == nil || b.Mixed && retryableIn(b) {
				return true
			}
		}
		if c.filling != nil {
			return true
		}
	}
	return false
}

// retryableIn reports whether an entry of a batch must be retried.
func retryableIn(b *batch.Batch) bool {
	for i := 0; i < b.Len(); {
		last := lastOf(b, i)
		if last < b.Answered && b.Entries[last].Flags&batch.Own == 0 && answeredState(b, i, last) == retry {
			return true
		}
		i = last + 1
	}
	return false
}

// empty reports whether every command is complete.
func (l *log) empty() bool { return l.emptyBut(nil) }

// emptyBut reports whether every command is complete but for the transaction
// that a batch is a part of.
func (l *log) emptyBut(b *batch.Batch) bool {
	if len(l.e.holds.list) > 0 {
		return false
	}
	for _, c := range l.e.pool.conns {
		if c.filling != nil || c.unanswered > 0 {
			return false
		}
		for _, other := range c.flight {
			if s := c.streamOf(other); s == nil || b == nil || !slices.Contains(s.parts, b) {
				return false
			}
		}
	}
	return true
}
