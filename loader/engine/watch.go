package engine

import (
	"respipe/loader/batch"
	"respipe/parser"
)

// guard is a WATCH that was answered and guards the next transaction. It binds
// the transaction to its connection.
//
// WATCH is a barrier: what it was answered is known before anything follows it.
// A guard is lost with its connection, and with every repair, which may retry
// what stands between WATCH and EXEC. So is one on a node that only imports its
// slot: what stands between WATCH and MULTI goes to another connection, and
// there is no order between the two. Then the transaction is refused; it never
// runs unguarded.
type guard struct {
	e      *Engine
	on     bool // a WATCH was taken
	failed bool // it was refused
	slot   int  // of the keys that are watched
	conn   *connection
	id     ConnID
	causes int64 // repairs before it was answered

	first  batch.Position // of the WATCH, the first one if there are several
	before batch.Position // of the one before that, whose transaction was sent or refused
	until  int64          // the record of the end of that transaction; 0: there was none
}

// begin notes that a WATCH was taken.
func (g *guard) begin(p batch.Position) {
	if !g.on {
		g.on, g.first = true, p
	}
}

// set notes that the WATCH was answered on a connection, for good.
func (g *guard) set(c *connection, acknowledged bool) {
	g.failed = g.failed || !acknowledged
	g.conn, g.id, g.causes = c, c.id, g.e.repair.causes
}

// lost reports whether there was a WATCH that does not guard any more.
func (g *guard) lost() bool {
	if !g.on {
		return false
	}
	imports := g.e.cfg.Cluster && g.conn != g.e.router.connection(g.slot)
	return g.failed || g.conn == nil || g.conn.id != g.id || g.causes != g.e.repair.causes || imports
}

// use notes that a batch leaves the router for a connection. With the end of the
// transaction that is guarded the server forgets what it watches.
func (g *guard) use(c *connection, b *batch.Batch) {
	first := b
	if s := c.streamOf(b); s != nil {
		first = s.parts[0]
	}
	if watched(first) && b.Entries[b.Len()-1].Flags&batch.Ends != 0 {
		g.end(b)
	}
}

// end forgets the guard, whose transaction ends with a batch.
func (g *guard) end(b *batch.Batch) {
	*g = guard{e: g.e, before: g.first, until: b.Position(b.Len() - 1).Record}
}

// live reports whether the connection of the WATCH is there: it may watch keys,
// even if the guard is lost.
func (g *guard) live() bool {
	return g.on && g.conn != nil && g.conn.id == g.id && g.conn.phase == ready
}

// unwatch stops the server from watching keys for a guard that is forgotten.
func (g *guard) unwatch() {
	if g.live() {
		g.e.log.own(g.conn, batch.Position{}, unwatchRESP)
		g.e.log.submit(g.conn)
	}
}

// beginning returns where a load that continues must begin for the entry that
// stands at an index of a batch. From a WATCH to the end of its transaction that
// is the WATCH, also for what stands between WATCH and MULTI: the transaction
// would follow it unguarded. WATCH is a barrier, so no more than two of them
// have anything that is not complete.
func (g *guard) beginning(b *batch.Batch, i int) place {
	at := b.Position(i)
	switch {
	case g.on && g.first.Record <= at.Record:
		return place{g.first, true}
	case g.before.Record <= at.Record && at.Record <= g.until:
		return place{g.before, true}
	}
	return place{at, b.Entries[i].Flags&(batch.Begins|batch.Watches) != 0}
}

var unwatchRESP = []byte("*1\r\n$7\r\nUNWATCH\r\n")

// watch takes a WATCH.
func (r *router) watch(c *parser.Command) {
	slot, same := r.slotOf(c)
	if r.e.cfg.Cluster && (!same || r.guard.on && slot != r.guard.slot) {
		r.refuseWatch(c, SlotsDiffer)
		return
	}
	bound := r.guard.conn
	if r.guard.lost() || !r.guard.on {
		bound = nil
	}
	r.guard.begin(positionOf(c))
	r.guard.slot = slot
	b := r.e.log.get()
	appendCommand(b, c, batch.Watches)
	b.Mixed = true
	r.e.barrier.begin(b, one, slot, bound, c.Op)
}

// refuseWatch refuses a WATCH, and so the transaction that follows it.
func (r *router) refuseWatch(c *parser.Command, cause Cause) {
	r.guard.begin(positionOf(c))
	r.guard.failed = true
	r.e.refuse(c, cause)
}

// unwatch takes an UNWATCH, which goes to the connection of the WATCH.
func (r *router) unwatch(c *parser.Command) {
	to := r.connection(noSlot)
	if r.guard.live() {
		to = r.guard.conn
	}
	r.guard = guard{e: r.e, before: r.guard.before, until: r.guard.until}
	b := r.e.log.get()
	appendCommand(b, c, 0)
	r.park(b, noSlot, to)
}

// refuseUnguarded refuses a transaction whose WATCH was lost and that was not
// sent.
func (r *router) refuseUnguarded(b *batch.Batch) {
	r.e.report(&Completion{
		Parts:   []Part{{b, 0, b.Len() - 1}},
		Outcome: batch.Refused, Cause: WatchLost,
	})
	r.guard.unwatch()
	r.guard.end(b)
	r.e.window.giveBack(b)
	r.e.log.put(b)
}
