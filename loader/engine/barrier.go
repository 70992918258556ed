package engine

import (
	"bytes"
	"slices"

	"respipe/loader/batch"
	"respipe/parser"
)

// scope says which connections the command of a barrier goes to.
type scope uint8

const (
	one             scope = iota // one connection
	everyMaster                  // one connection to each node
	everyConnection              // session state
)

// copyResult is what became of the copy of a command on a connection.
type copyResult struct {
	conn   ConnID
	failed bool
}

// barrier is a command, or a transaction, before and after which the load
// drains: one without keys that may touch any key, one with keys on several
// connections, or one that changes session state. The list of connections that
// it goes to is made behind the drain, as repairs may have changed it.
//
// A command for one connection is an entry as any other. Of one for several,
// each gets a copy, which the log does not report; those that were not
// answered for good are sent again until none is missing.
type barrier struct {
	e       *Engine
	active  bool
	entry   *batch.Batch // nil once it was sent to its one connection
	at      batch.Position
	slot    int
	bound   *connection
	scope   scope
	results []copyResult
	errors  []batch.Failure
	reply   []byte // of a copy: the first that is an error, or the first
	places  int32  // of the connections that were there when copies were first sent
	unknown bool   // a copy that must not run twice was lost
	op      *parser.Op
}

// begin takes a command that needs a barrier.
func (b *barrier) begin(entry *batch.Batch, scope scope, slot int, bound *connection, op *parser.Op) {
	*b = barrier{
		e: b.e, active: true, entry: entry, at: entry.Position(0), scope: scope, slot: slot, bound: bound, op: op,
		results: b.results[:0],
	}
	b.e.window.charge(entry)
	b.e.state = Barrier
	b.e.log.flush()
	b.advance()
}

// advance sends the command when everything before it is complete, and ends
// the barrier when the command is.
func (b *barrier) advance() {
	switch {
	case b.e.state != Barrier || len(b.e.router.parked) > 0 || !b.e.log.emptyBut(b.entry):
	case b.entry == nil:
		if b.close(); !b.e.session.alignNext(b.at) {
			b.e.resume()
		}
	case b.scope == one:
		b.sendOne()
	case !b.sendMissing():
		b.finish()
	}
}

// sendOne sends the command to its connection.
func (b *barrier) sendOne() {
	c := b.bound
	if c == nil {
		c = b.e.router.connection(b.slot)
	}
	entry := b.entry
	b.entry = nil
	if watched(entry) && b.e.router.guard.lost() && c.streamOf(entry) == nil {
		b.e.router.refuseUnguarded(entry)
		b.e.advance()
		return
	}
	b.e.window.giveBack(entry)
	b.e.router.guard.use(c, entry)
	b.e.router.send(c, entry)
	b.e.log.submit(c)
}

// sendMissing sends copies to the connections that have not answered for good.
// It reports whether there was one.
func (b *barrier) sendMissing() (some bool) {
	for _, c := range b.e.pool.conns {
		if c.node.away || b.scope == everyMaster && c != c.node.conns[0] || b.has(c) {
			continue
		}
		if b.mayBeThere(c) {
			b.e.stop.begin(ReasonLost)
			return true
		}
		b.entry.Entries[0].Flags |= batch.Copied
		b.e.log.copyEntry(c, b.entry, 0, b.entry.Len()-1)
		b.e.log.submit(c)
		some = true
	}
	return some
}

// mayBeThere reports whether a node that has come since the copies were sent may
// have the effect of one that must not run twice: it may have replaced a node
// that had run it.
func (b *barrier) mayBeThere(c *connection) bool {
	if !b.copied() {
		b.places = int32(len(b.e.pool.conns))
		return false
	}
	return c.id.Place > b.places && b.scope == everyMaster && b.e.cfg.OnDisconnect != Resend &&
		b.e.repair.gatherer.retryOf(b.entry, 0) == parser.NonIdempotent
}

// has reports whether a connection has answered its copy for good. A session
// ends with its connection, the effect on a server does not.
func (b *barrier) has(c *connection) bool {
	return slices.ContainsFunc(b.results, func(r copyResult) bool {
		return r.conn == c.id || b.scope == everyMaster && r.conn.Place == c.id.Place
	})
}

// answered takes the answer to a copy that is final.
func (b *barrier) answered(c *connection, from *batch.Batch, i int) {
	failed := from.Entries[i].Status != batch.Clean
	if len(b.results) == 0 || failed && len(b.errors) == 0 {
		b.reply = bytes.Clone(from.Reply(i))
	}
	if failed {
		for _, f := range failuresOf(from, i, i) {
			f.Entry = 0
			b.errors = append(b.errors, f)
		}
	}
	b.results = append(b.results, copyResult{c.id, failed})
}

// gather takes what became of a copy when a repair begins. What was not
// answered for good is missing.
func (b *barrier) gather(c *connection, p *pending) {
	switch p.state {
	case ran, failed:
		b.answered(c, p.batch, int(p.first))
	case inFlight:
		if b.scope == everyMaster && p.class == parser.NonIdempotent && b.e.cfg.OnDisconnect != Resend {
			b.unknown = true
		}
	}
}

// abandon makes what is missing final: there is no more time for retries.
func (b *barrier) abandon() {
	if !b.retries() {
		return
	}
	for _, c := range b.e.pool.conns {
		if !b.has(c) {
			b.results = append(b.results, copyResult{c.id, true})
		}
	}
}

// retries reports whether copies were sent and some may be missing: the time for
// retries goes on until none is.
func (b *barrier) retries() bool { return b.active && b.entry != nil && b.copied() }

// copied reports whether copies were sent.
func (b *barrier) copied() bool { return b.entry.Entries[0].Flags&batch.Copied != 0 }

// finish reports a command of which every copy is final.
func (b *barrier) finish() {
	entry := b.entry
	if entry.Entries[0].Flags&batch.Own != 0 {
		b.e.session.answered(b.refusing())
		return
	}
	failures := 0
	for _, r := range b.results {
		if r.failed {
			failures++
		}
	}
	refused := failures > 0
	if b.scope == everyConnection {
		refused = b.e.session.changed(b.op, entry.Command(0), failures == len(b.results))
	}
	done := Completion{Parts: []Part{{entry, 0, entry.Len() - 1}}, Outcome: batch.Acknowledged}
	if refused {
		done.Outcome, done.Errors = batch.Refused, b.errors
	}
	if b.reply != nil {
		entry.AddReply(b.reply)
	}
	b.e.report(&done)
	mixed := b.scope == everyConnection && !refused
	results := slices.Clone(b.results)
	b.end()
	for _, r := range results {
		if c := b.e.pool.find(r.conn); mixed && r.failed && c != nil {
			b.e.pool.abandon(c, Refusing) // the handshake of the next one restores the session
		}
	}
}

// refusing returns the connections that are there and have refused their copy.
func (b *barrier) refusing() (refusing []*connection) {
	for _, r := range b.results {
		if c := b.e.pool.find(r.conn); r.failed && c != nil && c.phase == ready {
			refusing = append(refusing, c)
		}
	}
	return refusing
}

// end returns to the state before the barrier.
func (b *barrier) end() {
	b.close()
	b.e.resume()
}

// close ends the barrier, and the time for its retries.
func (b *barrier) close() {
	b.drop()
	b.e.repair.giveUp, b.e.repair.rounds = 0, 0
}

// drop forgets the barrier.
func (b *barrier) drop() {
	if b.entry != nil {
		b.e.log.put(b.entry)
	}
	b.active, b.entry = false, nil
}

// stop reports what becomes of the barrier when the load stops.
func (b *barrier) stop() {
	if !b.active {
		return
	}
	if b.entry != nil && b.entry.Entries[0].Flags&batch.Own == 0 {
		outcome := batch.NotSent
		if b.copied() {
			outcome = batch.Unknown
		}
		b.e.report(&Completion{
			Parts:   []Part{{b.entry, 0, b.entry.Len() - 1}},
			Outcome: outcome, Cause: LoadStopped,
		})
	}
	b.drop()
}
