package engine

import "respipe/loader/batch"

// round sends the entries of a plan that are to be resent. What must wait for
// the next round is left in the plan.
func (r *repair) round(p *plan) {
	r.home = append(r.home[:0], make([]int32, p.table.n)...)
	p.begin()
	wait := p.entries[:0]
	for i := range p.entries {
		if en := &p.entries[i]; en.send && !r.resend(p, en) {
			wait = append(wait, *en)
		}
	}
	clear(p.entries[len(wait):])
	p.entries = wait
}

// clashes reports whether something must be resent to a connection on which a
// transaction is open that cannot be resent, or such a transaction is on a
// connection that its slot has left.
func (r *repair) clashes() bool {
	for _, c := range r.e.pool.conns {
		for _, s := range c.streams {
			left := r.e.cfg.Cluster && c != r.e.router.connection(r.e.router.tx.slot)
			if s.conn != c.id || c.node.away || left {
				return true
			}
		}
	}
	for i := range r.plan.entries {
		en := &r.plan.entries[i]
		if c, _ := r.target(en); en.send && len(c.streams) > 0 {
			return true
		}
	}
	return false
}

// resend sends one entry in this round; it returns false if the entry must wait
// for the next one.
func (r *repair) resend(p *plan, en *pending) bool {
	c, asking := r.target(en)
	if r.mustWait(p, en, c) {
		if en.state == ran || en.state == inFlight {
			r.flag(en)
			en.state, en.may = queued, true
		}
		return false
	}
	if en.state == ran || en.state == inFlight {
		r.flag(en)
	}
	if asking {
		r.e.log.own(c, en.batch.Position(int(en.first)), askingRESP)
	}
	r.e.log.copyEntry(c, en.batch, int(en.first), int(en.last))
	r.e.log.appended(c)
	return true
}

var askingRESP = []byte("*1\r\n$6\r\nASKING\r\n")

// target returns the connection that an entry is resent to, and whether ASKING
// goes before it.
func (r *repair) target(en *pending) (c *connection, asking bool) {
	if en.state == retry && en.kind == ask {
		if n := r.e.pool.known(en.redirectOf()); n != nil {
			return n.conns[int(en.slot)%len(n.conns)], true
		}
	}
	if c := r.e.pool.conns[en.place-1]; en.slot == noSlot && !c.node.away {
		return c, false // an UNWATCH belongs to the connection of its WATCH
	}
	return r.e.router.connection(int(en.slot)), false
}

// mustWait reports whether an entry shares a key with an earlier one that goes
// to another connection in this round, and notes where its own keys go.
func (r *repair) mustWait(p *plan, en *pending, c *connection) bool {
	const waits = -1
	wait := p.shared(en)&must != 0
	for _, id := range p.ids[en.key:en.keyEnd] {
		wait = wait || r.home[id] != 0 && r.home[id] != c.id.Place
	}
	if wait {
		p.mark(en, must)
	}
	for _, id := range p.ids[en.key:en.keyEnd] {
		if r.home[id] = c.id.Place; wait {
			r.home[id] = waits
		}
	}
	return wait
}

// flag notes with an entry that an attempt ran or may have run, and which of its
// commands a later one has overtaken, in its own transaction or behind it.
func (r *repair) flag(en *pending) {
	var later map[uint64]bool // by hash of the key
	if en.first < en.last {
		later = map[uint64]bool{}
	}
	for i := int(en.last); i >= int(en.first); i-- {
		overtaken := en.passed
		if later != nil {
			for _, key := range r.gatherer.keys.read(en.batch.Command(i)) {
				hash := hashKey(key)
				overtaken = overtaken || later[hash]
				later[hash] = true
			}
		}
		en.batch.Entries[i].Flags |= batch.MayHaveRun
		if overtaken && en.state == ran {
			en.batch.Entries[i].Flags |= batch.Overtaken
		}
	}
	for _, f := range failuresOf(en.batch, int(en.first), int(en.last)) {
		if f.Element >= 0 { // this command of the transaction was not acknowledged
			en.batch.Entries[int(en.first)+1+f.Element].Flags &^= batch.Overtaken
		}
	}
}
