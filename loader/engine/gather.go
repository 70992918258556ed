package engine

import (
	"slices"

	"respipe/loader/batch"
	"respipe/parser"
)

// gatherer takes entries out of the log for a repair, and finds their keys.
type gatherer struct {
	e    *Engine
	r    *repair
	keys keyReader
}

// gather moves everything that is not complete from the connections into the
// plan. No reply may be owed.
func (g *gatherer) gather() {
	for _, c := range g.e.pool.conns {
		begun := false
		for i := 0; i < len(c.flight); {
			if s := c.streamOf(c.flight[i]); s != nil {
				i += s.sent()
				begun = g.gatherStream(c, s) || begun
				continue
			}
			g.gatherBatch(c, c.flight[i])
			i++
		}
		c.flight = c.flight[:0]
		for len(c.streams) > 0 && c.streams[0].sent() == 0 {
			g.gatherStream(c, c.streams[0])
		}
		if c.filling != nil {
			g.gatherBatch(c, c.filling)
			c.filling = nil
		}
		g.keepStream(c)
		if begun && c.phase == ready {
			g.e.log.own(c, batch.Position{}, discardRESP)
			g.e.log.submit(c)
		}
	}
	g.e.holds.dissolve(g)
	g.r.plan.sort()
	g.readKeys(&g.r.plan)
}

// gatherBatch takes the entries of one batch, but those of streamed
// transactions, which gatherStreams has taken.
func (g *gatherer) gatherBatch(c *connection, b *batch.Batch) {
	g.r.batches = append(g.r.batches, b)
	for i := 0; i < b.Len(); {
		last := lastOf(b, i)
		en := &b.Entries[i]
		switch {
		case en.Status == batch.Removed:
		case en.Flags&batch.Copied != 0:
			p := g.pendingOf(c, b, i, last)
			p.class = g.retryOf(b, i)
			g.e.barrier.gather(c, &p)
		case en.Flags&batch.InTx == 0 && en.Flags&batch.Own != 0:
		default:
			g.r.plan.entries = append(g.r.plan.entries, g.pendingOf(c, b, i, last))
		}
		i = last + 1
	}
}

// gatherStream takes a streamed transaction. As long as all of its bytes are
// there it becomes one entry again, or, without its end, returns to the router.
// It reports whether the server would take what comes next for a part of it.
func (g *gatherer) gatherStream(c *connection, s *stream) (begun bool) {
	if !s.kept {
		if !g.stays(c, s) {
			g.r.plan.entries = append(g.r.plan.entries, pending{
				number: s.parts[0].Number(0), place: c.id.Place, slot: noSlot,
				stream: s, state: s.state(), fixed: true, class: parser.NonIdempotent,
			})
			c.dropStream(s)
		}
		return false
	}
	state, kind := s.state(), s.failure()
	begun = s.sent() > 0 && (s.open || s.sent() < len(s.parts))
	waits := slices.Contains(s.parts, g.e.barrier.entry)
	whole := g.merge(s)
	c.dropStream(s)
	switch {
	case s.open:
		g.e.router.tx.takeBack(whole)
		return begun
	case waits:
		whole.Sent, whole.Written, whole.Answered = false, 0, 0
		g.e.barrier.entry, g.e.barrier.bound = whole, nil
		return begun
	}
	g.r.batches = append(g.r.batches, whole)
	p := g.pendingOf(c, whole, 0, whole.Len()-1)
	p.state, p.kind = state, kind
	g.r.plan.entries = append(g.r.plan.entries, p)
	return begun
}

// stays reports whether a streamed transaction can remain on its connection
// during the repair: its end has not been sent, and nothing is wrong with it.
func (g *gatherer) stays(c *connection, s *stream) bool {
	last := s.parts[len(s.parts)-1]
	return c.phase == ready && s.conn == c.id && s.failure() == null && (s.open || !last.Sent)
}

// keepStream puts the parts of a transaction that stays back in flight.
func (g *gatherer) keepStream(c *connection) {
	for _, s := range c.streams {
		if !s.kept && g.stays(c, s) {
			for _, b := range s.parts {
				if b.Sent {
					c.flight = append(c.flight, b)
				}
			}
		}
	}
}

// merge makes one batch of the parts of a stream, the parked one included. It
// tells how much of it was sent and answered.
func (g *gatherer) merge(s *stream) *batch.Batch {
	whole := g.e.log.get()
	for _, b := range s.parts {
		for i := range b.Entries {
			whole.Copy(b, i)
		}
		whole.CopyReplies(b)
		for _, f := range b.Failures {
			f.Entry += whole.Len() - b.Len()
			whole.Failures = append(whole.Failures, f)
		}
		whole.Sent = whole.Sent || b.Sent
		whole.Written, whole.Answered = whole.Written+b.Written, whole.Answered+b.Answered
		g.e.router.unparkPart(b)
		g.e.log.put(b)
	}
	whole.Mixed = true
	g.e.window.charge(whole)
	return whole
}

// gatherSlot adds what is in flight on a connection of a slot that is held to
// a plan, from the first batch on that is held. All of it is answered.
func (g *gatherer) gatherSlot(p *plan, c *connection, slot int) {
	held := false
	for _, b := range c.flight {
		held = held || b.Held
		if !held || c.streamOf(b) != nil {
			continue
		}
		for i := 0; i < b.Answered; {
			last := lastOf(b, i)
			en := &b.Entries[i]
			if en.Status != batch.Removed && en.Flags&(batch.Own|batch.Copied) == 0 && g.slotOf(b, i, last) == slot {
				p.entries = append(p.entries, g.pendingOf(c, b, i, last))
			}
			i = last + 1
		}
	}
}

// slotOf returns the slot of the keys of an entry.
func (g *gatherer) slotOf(b *batch.Batch, first, last int) int {
	for i := first; i <= last; i++ {
		if keys := g.keys.read(b.Command(i)); len(keys) > 0 {
			return parser.Slot(keys[0])
		}
	}
	return noSlot
}

// pendingOf describes the entry at first to last of a batch.
func (g *gatherer) pendingOf(c *connection, b *batch.Batch, first, last int) pending {
	p := pending{
		number:  b.Number(first),
		batch:   b,
		first:   int32(first),
		last:    int32(last),
		place:   c.id.Place,
		slot:    -1,
		may:     b.Entries[first].Flags&batch.MayHaveRun != 0,
		watched: b.Entries[first].Flags&batch.Watched != 0,
	}
	switch {
	case !b.Sent:
		p.state = queued
	case last < b.Answered:
		p.state = answeredState(b, first, last)
		if p.state == retry {
			p.kind = retryKind(b, first, last)
		}
	case int64(b.Entries[last].End) > b.Written:
		p.state = queued
	default:
		p.state = inFlight
	}
	return p
}

// answeredState returns what the replies say of an entry that was answered. A
// transaction is what its EXEC says; if that was aborted, what its commands
// say.
func answeredState(b *batch.Batch, first, last int) entryState {
	switch b.Entries[last].Status {
	case batch.Retryable:
		return retry
	case batch.Null:
		return notRun
	case batch.Failed:
		if first < last && abortedByRetryable(b, last) {
			return retry
		}
		return failed
	}
	return ran
}

// abortedByRetryable reports whether nothing but retryable errors has aborted
// the transaction that ends with an entry of the batch.
func abortedByRetryable(b *batch.Batch, last int) bool {
	some := false
	for i := len(b.Failures) - 1; i >= 0; i-- {
		f := &b.Failures[i]
		if f.Entry > last {
			continue
		}
		if f.Entry < last && b.Entries[f.Entry].Flags&batch.Ends != 0 {
			break
		}
		switch {
		case f.Entry == last && f.Kind == aborted:
		case f.Entry < last && b.Entries[f.Entry].Flags&batch.InTx == 0:
			return some
		case retryable(f.Kind):
			some = true
		default:
			return false
		}
	}
	return some
}

// retryKind returns the kind of the retryable error of an entry. A transaction
// was answered ASK only if nothing but ASK was answered.
func retryKind(b *batch.Batch, first, last int) uint8 {
	kind := permanent
	for _, f := range failuresOf(b, first, last) {
		switch {
		case !retryable(f.Kind):
		case kind == permanent:
			kind = f.Kind
		case kind == ask || f.Kind == ask && kind != ask:
			kind = min(kind, f.Kind)
		}
	}
	return kind
}

// redirectOf returns the address that the first redirect of an entry names.
func (p *pending) redirectOf() string {
	for _, f := range failuresOf(p.batch, int(p.first), int(p.last)) {
		if f.Address != "" {
			return f.Address
		}
	}
	return ""
}

// retryOf returns the class of the command of an entry.
func (g *gatherer) retryOf(b *batch.Batch, i int) parser.Retry {
	g.keys.read(b.Command(i))
	return g.keys.op(g.keys.args).Retry(g.keys.args)
}

// readKeys numbers the keys of all entries and finds their classes.
func (g *gatherer) readKeys(p *plan) {
	p.ids = p.ids[:0]
	p.table.reset(len(p.entries))
	for i := range p.entries {
		en := &p.entries[i]
		en.key = int32(len(p.ids))
		g.readKeysOf(p, en)
		en.keyEnd = int32(len(p.ids))
	}
}

// readKeysOf numbers the keys of one entry.
func (g *gatherer) readKeysOf(p *plan, en *pending) {
	if s := en.stream; s != nil {
		for _, b := range s.parts {
			if b.RESP != nil {
				s.keepHashes(b, &g.keys)
			}
		}
		for _, hash := range s.hashes {
			p.ids = append(p.ids, p.table.id(hash))
		}
		en.wide = s.wide
		return
	}
	var derived []int32 // the keys of commands that read some and write others
	for i := en.first; i <= en.last; i++ {
		from := len(p.ids)
		keys := g.keys.read(en.batch.Command(int(i)))
		for _, key := range keys {
			if en.slot < 0 {
				en.slot = int16(parser.Slot(key))
			}
			p.ids = append(p.ids, p.table.id(hashKey(key)))
		}
		op := g.keys.op(g.keys.args)
		class := op.Retry(g.keys.args)
		if slices.ContainsFunc(p.ids[from:], func(id int32) bool { return slices.Contains(derived, id) }) {
			class = parser.NonIdempotent // run again, the other one reads what this one wrote
		}
		if class == parser.Derives {
			derived = append(derived, p.ids[from:]...)
		}
		en.class = max(en.class, class)
		en.wide = en.wide || len(keys) == 0 && touchesAll(op)
	}
}

// touchesAll reports whether a command without keys may touch any key.
func touchesAll(op *parser.Op) bool {
	return op.Class <= parser.Repeatable && !op.LeavesKeys()
}
