package engine

import (
	"respipe/loader/batch"
	"respipe/loader/cluster"
)

// step is where a repair stands.
type step uint8

const (
	pausing   step = iota // the back-off before the next attempt
	fetching              // the topology is awaited
	redialing             // connections are awaited
	resending             // what was resent is being answered
)

// repair is what follows a retryable error or a lost connection: the load
// drains, backs off, fetches the topology until the nodes agree, makes the
// missing connections, which ends the lost ones on the server, plans, and
// resends in the order of the input. New input follows only when everything
// that was resent has been answered.
//
// In one round, an entry that shares a key with an earlier one on another
// connection waits for the next round: between connections there is no order.
type repair struct {
	e        *Engine
	step     step
	plan     plan
	gatherer gatherer
	batches  []*batch.Batch  // that the entries of the plan lie in
	next     []cluster.Range // the slot table to install
	home     []int32         // by key: the place it goes to in this round

	unheard bool // no node has told the topology when asked last

	drained Time // when silent connections count as lost
	until   Time // end of the pause
	giveUp  Time // end of the repair; 0 outside of one
	rounds  int  // attempts of this repair
	pauses  int  // since the last reply outside of a repair
	idle    int  // repairs since then
	causes  int64
}

// start begins a repair, or begins it again: something is in the way.
func (r *repair) start() {
	if r.giveUp == 0 {
		r.giveUp = r.e.now + r.e.cfg.RetryFor
		r.causes++
		r.idle++
	}
	r.e.state = Draining
	r.drained = r.e.now + r.e.cfg.DrainFor
	r.e.stop.advance()
	r.e.advance()
}

// begin leaves the drain: nothing is in flight any more.
func (r *repair) begin() {
	r.e.state = Repairing
	r.gatherer.gather()
	r.recognise()
	switch {
	case r.mustStop():
	case r.e.now >= r.giveUp:
		r.abandon()
	case r.rounds > 0 || r.idle > 1 || r.plan.needsPause(): // idle: a server that hangs up at once would be asked for ever
		r.rounds++
		r.pause()
	default:
		r.rounds++
		r.fetch()
	}
}

// recognise takes a server that answers MOVED for a node of a cluster.
func (r *repair) recognise() {
	for i := range r.plan.entries {
		if en := &r.plan.entries[i]; en.state == retry && en.kind == moved {
			r.e.cfg.Cluster = true
		}
	}
}

// mustStop stops the load if the policy for lost connections forbids to
// continue.
func (r *repair) mustStop() bool {
	if r.e.barrier.unknown {
		r.e.stop.begin(ReasonLost)
		return true
	}
	r.plan.mayRunAgain(r.e.cfg.OnDisconnect == Resend)
	for i := range r.plan.entries {
		en := &r.plan.entries[i]
		switch {
		case en.state == inFlight && r.e.cfg.OnDisconnect == Resend:
		case en.state == inFlight && (!en.can || r.e.cfg.OnDisconnect == Fail):
			r.e.stop.begin(ReasonLost)
			return true
		case en.fixed && (en.state == queued || en.state == retry):
			r.e.stop.begin(ReasonTransactionLost)
			return true
		}
	}
	return false
}

// pause waits before the next attempt. A load that has not begun ends when an
// attempt has failed and there is no time for another.
func (r *repair) pause() {
	if r.e.state == Connecting && r.e.now >= r.giveUp {
		r.e.stop.begin(ReasonUnreachable)
		return
	}
	backoff := r.e.cfg.Backoff
	for range r.pauses {
		if 2*backoff > r.e.cfg.LongestBackoff {
			break
		}
		backoff *= 2
	}
	r.pauses++
	r.step = pausing
	r.until = r.e.now + backoff
}

// fetch asks the nodes for the topology; without a cluster there is none.
func (r *repair) fetch() {
	if !r.e.cfg.Cluster {
		r.redial()
		return
	}
	r.step = fetching
	a := Action{Kind: FetchTopology, Addresses: r.e.cfg.Addresses}
	if len(r.e.pool.nodes) > 0 {
		a.Addresses = r.e.pool.tellers(r.unheard)
	}
	r.e.act(a)
}

// topology takes what the nodes say. It counts only if they agree: what is sent
// by a table that another node does not know of may lose its order.
func (r *repair) topology(views []cluster.View) {
	r.unheard = len(views) == 0
	ranges, ok := cluster.Agree(views)
	if !ok {
		r.pause()
		return
	}
	r.next = ranges
	r.redial()
}

// redial installs the new slot table, as nothing of the old one is left but in
// the plan, and makes the connections that are missing, those of new nodes, too.
func (r *repair) redial() {
	r.step = redialing
	if r.next != nil {
		r.e.risk.failedOver(r.next)
		r.e.router.install(r.next)
		r.next = nil
	}
	for i := range r.plan.entries {
		if en := &r.plan.entries[i]; en.state == retry && en.kind == ask {
			r.e.pool.node(en.redirectOf()).away = false
		}
	}
	r.e.pool.leave()
	r.e.pool.dial()
	r.e.advance()
}

// send plans and sends the next round.
func (r *repair) send() {
	r.plan.mayRunAgain(r.e.cfg.OnDisconnect == Resend)
	r.plan.mustRunAgain()
	r.e.holds.putOff(&r.plan)
	if r.clashes() {
		r.e.stop.begin(ReasonTransactionLost)
		return
	}
	r.step = resending
	for i := range r.plan.entries {
		if en := &r.plan.entries[i]; !en.send {
			r.finish(en, en.outcome(), en.cause())
		}
	}
	r.round(&r.plan)
	r.shrink()
	r.e.log.flush()
	r.e.advance()
}

// finish reports an entry that is not resent.
func (r *repair) finish(en *pending, outcome batch.Outcome, cause Cause) {
	c := r.e.pool.conns[en.place-1]
	if b := en.batch; b != nil && b.Entries[en.first].Flags&batch.Watches != 0 {
		r.e.router.guard.set(c, false) // a repair has come behind it
	}
	if en.watched && en.state == queued && c.phase == ready {
		r.e.log.own(c, en.batch.Position(int(en.first)), unwatchRESP)
	}
	if en.stream != nil {
		r.e.log.reportStream(c, en.stream, outcome, cause)
		return
	}
	done := Completion{
		Parts:   []Part{{en.batch, int(en.first), int(en.last)}},
		Outcome: outcome, Cause: cause,
		Errors: failuresOf(en.batch, int(en.first), int(en.last)),
	}
	replaced(&done)
	r.e.report(&done)
	if cause == RetriesEnded && en.kind == busy {
		c.node.row.note(r.e.router.guard.beginning(en.batch, int(en.first)))
	}
}

// evaluate looks at what was resent, when all of it is answered or lost.
func (r *repair) evaluate() {
	if len(r.plan.entries) > 0 || r.e.log.troubled() {
		r.start()
		return
	}
	r.end()
}

// end returns to the state before the repair.
func (r *repair) end() {
	for _, c := range r.e.pool.conns {
		r.e.log.completeHead(c)
	}
	r.release()
	if !r.e.barrier.retries() {
		r.giveUp, r.rounds = 0, 0
	}
	r.e.resume()
}

// shrink gives back what the entries lay in that were resent or are final, so
// that many rounds hold no more memory than one.
func (r *repair) shrink() {
	s := store{log: &r.e.log, batches: r.batches}
	s.take(&r.plan)
	r.batches = s.batches
}

// release gives back what the entries under repair lay in.
func (r *repair) release() {
	for _, b := range r.batches {
		r.e.log.put(b)
	}
	clear(r.batches)
	r.batches = r.batches[:0]
	r.plan.entries = r.plan.entries[:0]
}

// strands reports whether something that was only queued would be sent to a
// connection on which a transaction is open that cannot be resent.
func (r *repair) strands() bool {
	for i := range r.plan.entries {
		en := &r.plan.entries[i]
		if en.state == queued && !en.may && r.e.router.connection(int(en.slot)).inTransaction() {
			return true
		}
	}
	return false
}

// abandon ends a repair that has taken too long. What was only queued continues
// as new if all connections live; else the load stops.
func (r *repair) abandon() {
	if !r.e.pool.complete() {
		r.e.stop.begin(ReasonUnreachable)
		return
	}
	if r.strands() {
		r.e.stop.begin(ReasonTransactionLost)
		return
	}
	r.e.barrier.abandon()
	for i := range r.plan.entries {
		en := &r.plan.entries[i]
		switch {
		case en.state != queued || en.may || en.watched:
			r.finish(en, en.outcome(), RetriesEnded)
		case en.stream == nil:
			c := r.e.router.connection(int(en.slot))
			r.e.log.copyEntry(c, en.batch, int(en.first), int(en.last))
			r.e.log.appended(c)
		}
	}
	r.end()
	r.e.log.flush()
}

// tick ends a pause, or the repair itself when its time is over.
func (r *repair) tick() {
	switch {
	case r.e.state == Connecting:
		if r.step == pausing && r.e.now >= r.until {
			r.fetch()
		}
	case r.e.now >= r.giveUp && r.step == resending:
		r.e.state = Draining
		r.drained = r.e.now + r.e.cfg.DrainFor
		r.e.advance()
	case r.step != pausing: // an attempt under way is answered in bounded time
	case r.e.now >= r.giveUp:
		r.abandon()
	case r.e.now >= r.until:
		r.fetch()
	}
}
