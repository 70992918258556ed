package engine

import (
	"slices"

	"respipe/loader/batch"
	"respipe/loader/cluster"
	"respipe/parser"
)

// noSlot is the slot of a command without keys.
const noSlot = -1

// router decides which connection a command of the input goes to.
type router struct {
	e      *Engine
	table  []uint16        // Place of the connection, by slot; nil with one connection
	ranges []cluster.Range // that the table is made of
	keys   [][]byte
	tx     transaction
	guard  guard // of the next transaction, or of the one that is parked

	// parked is the one entry that was taken from the source and cannot be sent
	// yet, as the window is spent; of a streamed transaction, some of its parts.
	parked []*batch.Batch
	slot   int         // of parked
	bound  *connection // that parked must go to; nil: that of its slot
}

// install makes the connections of the nodes that have the slots those of the
// load. What has a slot without a node goes to the first one, which says so.
func (r *router) install(ranges []cluster.Range) {
	p := &r.e.pool
	for _, n := range p.nodes {
		n.away = true
	}
	if r.table == nil {
		r.table = make([]uint16, parser.Slots)
	}
	same := slices.Equal(ranges, r.ranges)
	r.ranges = append(r.ranges[:0], ranges...)
	if !same {
		r.assign(0, parser.Slots-1, p.node(ranges[0].Address))
	}
	for _, rg := range ranges {
		n := p.node(rg.Address)
		if n.away = false; !same {
			r.assign(rg.First, rg.Last, n)
		}
	}
}

// assign assigns slots to the connections of a node.
func (r *router) assign(first, last int, n *node) {
	for slot := first; slot <= last; slot++ {
		r.table[slot] = uint16(n.conns[slot%len(n.conns)].id.Place)
	}
}

// single makes one server that of the load.
func (r *router) single(address string) {
	if r.e.pool.node(address); len(r.e.pool.conns) > 1 {
		r.install([]cluster.Range{{First: 0, Last: parser.Slots - 1, Address: address}})
	}
}

// connection returns the connection for a slot, the first one that is there
// for noSlot.
func (r *router) connection(slot int) *connection {
	p := &r.e.pool
	switch {
	case slot >= 0 && r.table != nil:
		return p.conns[r.table[slot]-1]
	case r.table != nil:
		return p.conns[r.table[0]-1]
	}
	return p.conns[0]
}

// submit takes a command of the input. It returns false if the command must be
// sent in parts.
func (r *router) submit(c *parser.Command) bool {
	switch {
	case r.tx.open:
		r.tx.add(c)
	case c.Op.Class == parser.State:
		r.barrier(c, everyConnection)
	case c.Op.Class == parser.Multi:
		r.tx.begin(c)
	case r.e.session.refused && c.Op.Class == parser.Watch:
		r.refuseWatch(c, DatabaseUnset)
	case r.e.session.refused:
		r.e.refuse(c, DatabaseUnset)
	case c.Op.Class == parser.Watch:
		r.watch(c)
	case c.Op.Class == parser.Unwatch:
		r.unwatch(c)
	case r.table == nil:
		r.plain(r.e.pool.conns[0], noSlot, c, 0)
	default:
		return r.spread(c)
	}
	return true
}

// part takes a part of a command that is sent in parts.
func (r *router) part(c *parser.Command) {
	slot, _ := r.slotOf(c)
	r.plain(r.connection(slot), slot, c, batch.Part)
}

// spread takes a plain command where there are several connections. It returns
// false if the command must be sent in parts.
func (r *router) spread(c *parser.Command) bool {
	slot, same := r.slotOf(c)
	switch {
	case !same && r.e.cfg.Cluster && c.Op.Splits:
		return false
	case !same && r.e.cfg.Cluster:
		r.e.refuse(c, SlotsDiffer)
	case slot == noSlot && touchesAll(c.Op) && c.Op.Everywhere && r.e.cfg.Cluster:
		r.barrier(c, everyMaster)
	case !same, slot == noSlot && touchesAll(c.Op):
		r.barrier(c, one)
	default:
		r.plain(r.connection(slot), slot, c, 0)
	}
	return true
}

// barrier begins a barrier with a command.
func (r *router) barrier(c *parser.Command, scope scope) {
	b := r.e.log.get()
	appendCommand(b, c, 0)
	b.Mixed = true
	r.e.barrier.begin(b, scope, noSlot, nil, c.Op)
}

// slotOf returns the slot of the keys of a command; same is false if they have
// several.
func (r *router) slotOf(c *parser.Command) (slot int, same bool) {
	r.keys = c.Op.AppendKeys(r.keys[:0], c.Args)
	if len(r.keys) == 0 {
		return noSlot, true
	}
	slot = parser.Slot(r.keys[0])
	for _, key := range r.keys[1:] {
		if parser.Slot(key) != slot {
			return slot, false
		}
	}
	return slot, true
}

// plain appends a command to the batch of a connection, or parks it.
func (r *router) plain(to *connection, slot int, c *parser.Command, flags batch.Flags) {
	if !r.e.window.admits(to, 1, sizeOf(c)) || len(r.e.holds.list) > 0 && r.e.holds.of(slot) != nil {
		b := r.e.log.get()
		appendCommand(b, c, flags)
		r.park(b, slot, nil)
		return
	}
	b := r.e.log.filling(to, positionOf(c))
	appendCommand(b, c, flags)
	b.Mixed = b.Mixed || flags != 0
	r.e.log.appended(to)
}

// park takes an entry that must be sent next, and where it goes.
func (r *router) park(b *batch.Batch, slot int, bound *connection) {
	r.parked = append(r.parked, b)
	r.slot, r.bound = slot, bound
	r.e.window.charge(b)
	r.unpark()
}

// unpark sends what is parked as far as the window allows it.
func (r *router) unpark() {
	for len(r.parked) > 0 && r.e.flows() {
		b, c := r.parked[0], r.bound
		h, streamed := r.e.holds.of(r.slot), c != nil && c.streamOf(b) != nil
		if watched(b) && (r.guard.lost() || h != nil) && !streamed { // held: a retry is needed behind the WATCH
			r.parked = slices.Delete(r.parked, 0, 1)
			r.refuseUnguarded(b)
			continue
		}
		if h != nil {
			if streamed || !r.unparkHeld(h, b) {
				return
			}
			continue
		}
		if c == nil {
			c = r.connection(r.slot)
		}
		r.e.window.giveBack(b)
		if !r.e.window.admits(c, b.Len(), len(b.RESP)) {
			r.e.window.charge(b)
			if s := c.streamOf(b); s != nil && c.load() == 0 && s.makeRoom(&r.e.log) {
				continue
			}
			if c.unanswered == 0 {
				r.e.log.submit(c)
			}
			return
		}
		r.parked = slices.Delete(r.parked, 0, 1)
		r.guard.use(c, b)
		r.send(c, b)
	}
}

// watched reports whether a WATCH guards the transaction that begins a batch.
func watched(b *batch.Batch) bool { return b.Entries[0].Flags&batch.Watched != 0 }

// unparkHeld queues the parked entry, whose slot is held, if the window allows
// it.
func (r *router) unparkHeld(h *hold, b *batch.Batch) bool {
	r.e.window.giveBack(b)
	if !r.e.holds.admits(h, b.Len(), len(b.RESP)) {
		r.e.window.charge(b)
		return false
	}
	r.parked = slices.Delete(r.parked, 0, 1)
	r.e.holds.queue(h, b)
	return true
}

// unparkPart forgets a parked part of a stream.
func (r *router) unparkPart(b *batch.Batch) {
	r.parked = slices.DeleteFunc(r.parked, func(other *batch.Batch) bool { return other == b })
}

// send appends a parked entry to the batch of a connection. A part of a
// streamed transaction is a batch of its own.
func (r *router) send(c *connection, b *batch.Batch) {
	if s := c.streamOf(b); s != nil {
		if b == s.parts[0] {
			s.conn = c.id
		}
		r.e.log.submit(c)
		c.filling = b
		r.e.window.charge(b)
		r.e.log.submit(c)
		return
	}
	r.e.log.copyEntry(c, b, 0, b.Len()-1)
	r.e.log.appended(c)
	r.e.log.put(b)
}

// appendCommand appends a command to a batch.
func appendCommand(b *batch.Batch, c *parser.Command, flags batch.Flags) {
	if c.Raw != nil {
		b.RESP = append(b.RESP, c.Raw...)
	} else {
		b.RESP = parser.AppendCommand(b.RESP, c.Args)
	}
	if c.Last {
		flags |= batch.Last
	}
	b.Add(positionOf(c), c.Index, flags)
	if c.Raw == nil { // else the RESP is the text
		b.AddText(c.Src)
	}
}

// textOf returns the record of a command as it was read, nil if that is not kept.
func textOf(c *parser.Command) []byte {
	if c.Raw != nil {
		return c.Raw
	}
	return c.Src
}

// positionOf returns where the record of a command begins.
func positionOf(c *parser.Command) batch.Position {
	return batch.Position{File: c.File, Line: c.Pos.Line, Offset: c.Pos.Offset, Record: c.N}
}

// sizeOf returns how many bytes of RESP a command is, or a little more.
func sizeOf(c *parser.Command) int {
	if c.Raw != nil {
		return len(c.Raw)
	}
	n := 16 + len(c.Src)
	for _, arg := range c.Args {
		n += len(arg) + 16
	}
	return n
}
