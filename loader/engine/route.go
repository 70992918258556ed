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
// load.
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
	for _, rg := range ranges {
		n := p.node(rg.Address)
		if n.away = false; same {
			continue
		}
		for slot := rg.First; slot <= rg.Last; slot++ {
			r.table[slot] = uint16(n.conns[slot%len(n.conns)].id.Place)
		}
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

// submit takes a command of the input.
func (r *router) submit(c *parser.Command) {
	switch {
	case r.tx.open:
		r.tx.add(c)
	case c.Op.Class == parser.State:
		r.barrier(c, everyConnection)
	case c.Op.Class == parser.Multi:
		r.tx.begin(c)
	case r.e.session.refused:
		r.e.refuse(c, DatabaseUnset)
	case c.Op.Class == parser.Watch:
		r.watch(c)
	case c.Op.Class == parser.Unwatch:
		r.unwatch(c)
	case r.table == nil:
		r.plain(r.e.pool.conns[0], noSlot, c)
	default:
		r.spread(c)
	}
}

// spread takes a plain command where there are several connections.
func (r *router) spread(c *parser.Command) {
	slot, same := r.slotOf(c)
	switch {
	case !same && r.e.cfg.Cluster:
		r.e.refuse(c, SlotsDiffer)
	case slot == noSlot && touchesAll(c.Op) && c.Op.Everywhere && r.e.cfg.Cluster:
		r.barrier(c, everyMaster)
	case !same, slot == noSlot && touchesAll(c.Op):
		r.barrier(c, one)
	default:
		r.plain(r.connection(slot), slot, c)
	}
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
func (r *router) plain(to *connection, slot int, c *parser.Command) {
	if !r.e.window.admits(to, 1, sizeOf(c)) || len(r.e.holds.list) > 0 && r.e.holds.of(slot) != nil {
		b := r.e.log.get()
		appendCommand(b, c, 0)
		r.park(b, slot, nil)
		return
	}
	b := r.e.log.filling(to, positionOf(c))
	appendCommand(b, c, 0)
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
		if watched(b) && r.guard.lost() && (c == nil || c.streamOf(b) == nil) {
			r.parked = slices.Delete(r.parked, 0, 1)
			r.refuseUnguarded(b)
			continue
		}
		if h := r.e.holds.of(r.slot); h != nil {
			if c != nil && c.streamOf(b) != nil || !r.unparkHeld(h, b) {
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
	r.guard.use(nil, b)
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
	b.Add(positionOf(c), c.Index, flags)
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
	n := 16
	for _, arg := range c.Args {
		n += len(arg) + 16
	}
	return n
}
