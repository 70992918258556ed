package engine

import (
	"slices"

	"respipe/loader/batch"
	"respipe/parser"
)

// transaction is the one that the input is inside of. Where a transaction
// begins and ends is decided here and nowhere else: its entries carry it.
//
// One that fits a batch is parked when its EXEC comes and sent whole. A longer
// one is streamed: see stream.
type transaction struct {
	e       *Engine
	open    bool
	buffer  *batch.Batch // what is not submitted
	slot    int          // of its first key; noSlot before there is one
	stream  *stream      // once a part of it was submitted
	conn    *connection  // that the stream goes to
	refused bool         // a record of it was refused
	spans   bool         // its keys belong to several connections: its EXEC is a barrier
}

// begin begins a transaction with its MULTI.
func (t *transaction) begin(c *parser.Command) {
	t.open, t.slot, t.spans = true, noSlot, false
	t.refused = t.e.session.refused // as a whole: a SELECT in it does not change that
	t.buffer = t.e.log.get()
	flags := batch.InTx | batch.Begins
	if g := &t.e.router.guard; g.on {
		flags |= batch.Watched
		t.conn = g.conn
		if g.conn != nil && t.e.cfg.Cluster {
			t.slot = t.e.barrier.slot
		}
	}
	t.append(c, flags)
}

// add adds a command to the open transaction; EXEC and DISCARD end it.
func (t *transaction) add(c *parser.Command) {
	switch c.Op.Class {
	case parser.Exec, parser.Discard:
		t.end(c)
		return
	case parser.State:
		// It would change one connection and no other, and not before EXEC.
		t.refused = true
		t.e.refuse(c, SessionInside)
		return
	case parser.Multi, parser.Watch:
		// The server refuses it and aborts the transaction.
	default:
		if t.e.router.table != nil && !t.keep(c) {
			t.refused = true
			t.e.refuse(c, SlotsDiffer)
			return
		}
	}
	t.append(c, batch.InTx)
	commands, bytes := t.e.window.limits()
	if t.buffer.Len() >= commands || len(t.buffer.RESP) >= bytes {
		t.push()
	}
}

// keep reports whether a command may stand in the transaction, which in a
// cluster has one slot. Where one server has several connections it notes
// whether the keys belong to more than one of them.
func (t *transaction) keep(c *parser.Command) bool {
	r := &t.e.router
	slot, same := r.slotOf(c)
	if slot == noSlot {
		t.spans = t.spans || touchesAll(c.Op)
		return true
	}
	if t.slot == noSlot {
		t.slot = slot
	}
	if r.e.cfg.Cluster {
		return same && slot == t.slot
	}
	home := t.conn
	if home == nil {
		home = r.connection(t.slot)
	}
	for _, key := range r.keys {
		t.spans = t.spans || r.connection(parser.Slot(key)) != home
	}
	return true
}

// end ends the transaction with its EXEC or DISCARD. Of one that was refused,
// DISCARD replaces EXEC.
func (t *transaction) end(c *parser.Command) {
	if t.refused {
		t.discard(positionOf(c), c.Index)
	} else {
		t.append(c, batch.InTx|batch.Ends)
	}
	t.finish()
}

// finish sends what is left of the transaction, which has its end.
func (t *transaction) finish() {
	t.open = false
	r, b, bound := &t.e.router, t.buffer, t.conn
	if t.stream != nil {
		t.stream.open = false
		t.stream.parts = append(t.stream.parts, b)
	}
	t.buffer, t.stream, t.conn = nil, nil, nil
	if r.guard.lost() && bound != nil && bound.streamOf(b) == nil {
		bound = nil
	}
	if t.spans {
		t.e.barrier.begin(b, one, t.slot, bound, nil)
		return
	}
	r.park(b, t.slot, bound)
}

// discard ends the transaction with a DISCARD of our own in the place of a
// command.
func (t *transaction) discard(p batch.Position, index int) {
	t.ensure(p)
	t.buffer.RESP = append(t.buffer.RESP, discardRESP...)
	t.buffer.Add(p, index, batch.InTx|batch.Ends|batch.Replaced)
}

// append appends a command to what is not submitted.
func (t *transaction) append(c *parser.Command, flags batch.Flags) {
	t.ensure(positionOf(c))
	appendCommand(t.buffer, c, flags)
	t.buffer.Mixed = true
}

// ensure begins another part if an entry does not fit the last one.
func (t *transaction) ensure(p batch.Position) {
	if t.buffer != nil && !t.buffer.Fits(p) {
		t.push()
	}
	if t.buffer == nil {
		t.buffer = t.e.log.get()
		t.buffer.Mixed = true
	}
}

// push submits what there is of the transaction as a part of a stream.
func (t *transaction) push() {
	r := &t.e.router
	if t.stream == nil && r.guard.lost() {
		return // it is refused when its end comes
	}
	if t.stream == nil {
		if !r.guard.on {
			t.conn = r.connection(t.slot)
		}
		t.stream = &stream{open: true, kept: true}
		t.conn.streams = append(t.conn.streams, t.stream)
	}
	t.stream.parts = append(t.stream.parts, t.buffer)
	b := t.buffer
	t.buffer = nil
	r.park(b, t.slot, t.conn)
}

// takeBack takes what was streamed of the open transaction back, all of it: it
// is sent anew after the repair.
func (t *transaction) takeBack(whole *batch.Batch) {
	if t.buffer != nil {
		for i := range t.buffer.Entries {
			en := &t.buffer.Entries[i]
			whole.RESP = append(whole.RESP, t.buffer.Command(i)...)
			whole.Add(t.buffer.Position(i), int(en.Index), en.Flags)
		}
		t.e.log.put(t.buffer)
	}
	t.e.window.giveBack(whole)
	whole.Failures = whole.Failures[:0]
	t.buffer, t.stream, t.conn = whole, nil, nil
}

var discardRESP = []byte("*1\r\n$7\r\nDISCARD\r\n")

// stream is a transaction that is sent in parts, each a batch of its own. The
// parts stay in the log until the EXEC is answered. The bytes of a part are
// given back when its commands were answered QUEUED; the transaction cannot be
// resent from then on.
type stream struct {
	parts []*batch.Batch
	open  bool   // its EXEC has not come
	kept  bool   // no bytes were given back
	conn  ConnID // that the first part was sent to

	hashes []uint64 // of the keys in the bytes that were given back
	wide   bool     // a command in them may touch any key
}

// streamOf returns the streamed transaction that a batch is a part of, nil if
// it is none.
func (c *connection) streamOf(b *batch.Batch) *stream {
	for _, s := range c.streams {
		if slices.Contains(s.parts, b) {
			return s
		}
	}
	return nil
}

// inTransaction reports whether a transaction is open on the connection: what is
// sent now would become a part of it.
func (c *connection) inTransaction() bool {
	for _, s := range c.streams {
		if s.parts[0].Sent && (s.open || !s.parts[len(s.parts)-1].Sent) {
			return true
		}
	}
	return false
}

// answered reports whether the end of the transaction is answered.
func (s *stream) answered() bool {
	last := s.parts[len(s.parts)-1]
	return !s.open && last.Sent && last.Answered == last.Len()
}

// sent returns how many parts were submitted.
func (s *stream) sent() (n int) {
	for n < len(s.parts) && s.parts[n].Sent {
		n++
	}
	return n
}

// giveBack gives the bytes of parts back whose commands are queued.
func (s *stream) giveBack(w *window, keys *keyReader) {
	for _, b := range s.parts {
		if b.Sent && b.Answered == b.Len() && b.RESP != nil && !s.answered() {
			s.keepHashes(b, keys)
			w.giveBack(b)
			b.RESP, s.kept = nil, false
		}
	}
}

// keepHashes keeps what a plan must know of the keys of a part.
func (s *stream) keepHashes(b *batch.Batch, keys *keyReader) {
	for i := range b.Entries {
		found := keys.read(b.Command(i))
		for _, key := range found {
			s.hashes = append(s.hashes, hashKey(key))
		}
		s.wide = s.wide || len(found) == 0 && touchesAll(keys.op(keys.args))
	}
}

// state returns what the replies say of the transaction.
func (s *stream) state() entryState {
	last := s.parts[len(s.parts)-1]
	switch {
	case s.open || !last.Sent || last.Answered < last.Len() && int64(last.Entries[last.Len()-1].End) > last.Written:
		if kind := s.failure(); kind != null && kind != permanent {
			return retry
		}
		return queued
	case last.Answered < last.Len():
		return inFlight
	case last.Entries[last.Len()-1].Status == batch.Retryable:
		return retry
	case last.Entries[last.Len()-1].Status == batch.Null:
		return notRun
	case last.Entries[last.Len()-1].Status != batch.Failed:
		return ran
	}
	if kind := s.failure(); kind != null && kind != permanent {
		return retry
	}
	return failed
}

// failure returns the kind of the error that the transaction will be aborted
// for: a permanent one if there is any, null if there is no error.
func (s *stream) failure() uint8 {
	kind := null
	for _, b := range s.parts {
		for _, f := range b.Failures {
			switch {
			case f.Element >= 0 || f.Kind == aborted:
			case !retryable(f.Kind):
				return permanent
			case kind == null || f.Kind < kind:
				kind = f.Kind
			}
		}
	}
	return kind
}

// completeStream reports a streamed transaction whose end is answered.
func (l *log) completeStream(c *connection, s *stream) {
	outcome := batch.Acknowledged
	switch s.state() {
	case failed, retry:
		outcome = batch.Refused
	case notRun:
		outcome = batch.NotRun
	}
	l.reportStream(c, s, outcome, NoCause)
}

// reportStream reports a streamed transaction and forgets it.
func (l *log) reportStream(c *connection, s *stream, outcome batch.Outcome, cause Cause) {
	done := Completion{Outcome: outcome, Cause: cause}
	for _, b := range s.parts {
		done.Parts = append(done.Parts, Part{b, 0, b.Len() - 1})
		done.Errors = append(done.Errors, b.Failures...)
	}
	replaced(&done)
	l.e.report(&done)
	for _, b := range s.parts {
		l.e.router.unparkPart(b)
		if b == l.e.barrier.entry {
			l.e.barrier.entry = nil
		}
		l.put(b)
	}
	c.dropStream(s)
}

// dropStream forgets a streamed transaction.
func (c *connection) dropStream(s *stream) {
	c.streams = slices.DeleteFunc(c.streams, func(other *stream) bool { return other == s })
}

// breakOff refuses the open transaction at the end of its input: its end is
// missing, and a DISCARD of our own stands for it.
func (t *transaction) breakOff() {
	last := t.buffer
	if last == nil {
		last = t.stream.parts[len(t.stream.parts)-1]
	}
	p := last.Position(last.Len() - 1)
	t.discard(p, 0)
	t.buffer.Entries[t.buffer.Len()-1].Flags |= batch.Own
	t.finish()
}
