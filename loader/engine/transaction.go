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
	queued  int          // commands behind MULTI
	inside  inside       // its session commands
}

// begin begins a transaction with its MULTI.
func (t *transaction) begin(c *parser.Command) {
	t.open, t.slot, t.spans, t.queued = true, noSlot, false, 0
	t.inside = inside{number: batch.NumberOf(c.N, c.Index)}
	t.refused = t.e.session.refused // as a whole: a SELECT in it does not change that
	t.buffer = t.e.log.get()
	flags := batch.InTx | batch.Begins
	if g := &t.e.router.guard; g.on {
		flags |= batch.Watched
		t.conn = g.conn
		if g.conn != nil && t.e.cfg.Cluster {
			t.slot = g.slot
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
		if !t.admits(c) {
			return
		}
		t.change(c.Op, parser.AppendCommand(nil, c.Args))
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
	t.queued++
	if t.long() {
		t.push()
	}
}

// long reports whether the transaction must be sent in parts. In a cluster its
// slot must be known before: commands on its keys that follow it must not go
// elsewhere.
func (t *transaction) long() bool {
	if t.slot == noSlot && t.e.cfg.Cluster {
		return 2*len(t.buffer.RESP) >= t.e.cfg.WindowBytes
	}
	commands, bytes := t.e.window.limits()
	commands = max(commands, min(sentWhole, t.e.cfg.BatchCommands))
	return t.buffer.Len() >= commands || len(t.buffer.RESP) >= bytes
}

// sentWhole is how many commands a transaction may have and is sent whole even
// if the window is smaller, as one entry of any size may be in flight.
const sentWhole = 64

// admits reports whether a session command may be appended now. A SELECT of a
// database that was not selected before must be tried first, and cannot be once a
// part of the transaction was sent. In a transaction that is refused it has no
// effect.
func (t *transaction) admits(c *parser.Command) bool {
	s := &t.e.session
	if t.refused || c.Op.Name != "SELECT" {
		return true
	}
	selected, known := s.databases[databaseOf(c.Args)]
	switch {
	case selected:
		return true
	case known || t.buffer == nil || t.stream != nil || !t.buffer.Fits(positionOf(c)):
		t.refused = true
		t.e.refuse(c, DatabaseRefused)
	default:
		s.try(c)
	}
	return false
}

// appendTried appends a SELECT whose trial has succeeded.
func (t *transaction) appendTried(entry *batch.Batch) {
	entry.Entries[0].Flags |= batch.InTx
	t.buffer.Copy(entry, 0)
	args := appendArgs(nil, entry.Command(0))
	t.change(t.e.cfg.Op(args), entry.Command(0))
	t.queued++
}

// change notes a session command, which takes effect with EXEC.
func (t *transaction) change(op *parser.Op, resp []byte) {
	t.inside.commands = append(t.inside.commands, insideCommand{t.queued, op, slices.Clone(resp)})
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
	if t.refused && c.Op.Class == parser.Exec {
		t.discard(positionOf(c), c.Index)
		t.buffer.AddText(textOf(c))
	} else {
		t.append(c, batch.InTx|batch.Ends)
	}
	if c.Op.Class == parser.Exec && !t.refused && len(t.inside.commands) > 0 {
		t.spans = true
		t.e.session.inside = t.inside
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
			whole.Copy(t.buffer, i)
		}
		t.e.log.put(t.buffer)
	}
	t.e.window.giveBack(whole)
	whole.Sent, whole.Written, whole.Answered = false, 0, 0
	whole.Failures = whole.Failures[:0]
	whole.DropReplies()
	t.buffer, t.stream, t.conn = whole, nil, nil
}

var discardRESP = []byte("*1\r\n$7\r\nDISCARD\r\n")

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
