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
// what stands between WATCH and EXEC. Then the transaction is refused; it never
// runs unguarded.
type guard struct {
	e      *Engine
	on     bool // a WATCH was taken
	failed bool // it was refused
	conn   *connection
	id     ConnID
	causes int64 // repairs before it was answered
}

// set notes that the WATCH was answered on a connection, for good.
func (g *guard) set(c *connection, acknowledged bool) {
	g.failed = g.failed || !acknowledged
	g.conn, g.id, g.causes = c, c.id, g.e.repair.causes
}

// lost reports whether there was a WATCH that does not guard any more.
func (g *guard) lost() bool {
	return g.on && (g.failed || g.conn == nil || g.conn.id != g.id || g.causes != g.e.repair.causes)
}

// use notes that a batch leaves the router for a connection, or for the queue of
// a held slot. With the end of the transaction that is guarded the server
// forgets what it watches.
func (g *guard) use(c *connection, b *batch.Batch) {
	first := b
	if c != nil {
		if s := c.streamOf(b); s != nil {
			first = s.parts[0]
		}
	}
	if watched(first) && b.Entries[b.Len()-1].Flags&batch.Ends != 0 {
		*g = guard{e: g.e}
	}
}

// live reports whether the connection of the WATCH is there: it may watch keys,
// even if the guard is lost.
func (g *guard) live() bool {
	return g.on && g.conn != nil && g.conn.id == g.id && g.conn.phase == ready
}

// clear forgets the guard. If keys are still watched, they must not be.
func (g *guard) clear() {
	if g.live() {
		g.e.log.own(g.conn, batch.Position{}, unwatchRESP)
		g.e.log.submit(g.conn)
	}
	*g = guard{e: g.e}
}

var unwatchRESP = []byte("*1\r\n$7\r\nUNWATCH\r\n")

// watch takes a WATCH.
func (r *router) watch(c *parser.Command) {
	slot, same := r.slotOf(c)
	if r.e.cfg.Cluster && !same {
		r.e.refuse(c, SlotsDiffer)
		r.guard.on, r.guard.failed = true, true
		return
	}
	bound := r.guard.conn
	if r.guard.lost() || !r.guard.on {
		bound = nil
	}
	r.guard.on = true
	b := r.e.log.get()
	appendCommand(b, c, batch.Watches)
	b.Mixed = true
	r.e.barrier.begin(b, one, slot, bound, c.Op)
}

// unwatch takes an UNWATCH, which goes to the connection of the WATCH.
func (r *router) unwatch(c *parser.Command) {
	to := r.connection(noSlot)
	if r.guard.live() {
		to = r.guard.conn
	}
	r.guard = guard{e: r.e}
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
	r.e.window.giveBack(b)
	r.e.log.put(b)
	r.guard.clear()
}
