package engine

import (
	"slices"

	"respipe/loader/batch"
)

// holdStep is where a held slot stands.
type holdStep uint8

const (
	collecting holdStep = iota // what was sent to its connections is being answered
	waiting                    // the pause before the next round
	releasing                  // new commands of the slot are sent as the window allows
)

// hold is a slot that is held: a command of it was answered ASK or TRYAGAIN. A
// migration may last for minutes, so only this slot waits and the rest of the
// load continues. New commands of the slot are queued and count in the window.
//
// It is the repair of one slot: as soon as everything that was sent of it is
// answered, its entries are taken out of the log, planned, and resent, those
// that were answered ASK to the node that imports the slot. In the meantime
// nothing of the slot is complete: the batches in which it lies are held.
// Whatever else goes wrong ends the hold and repairs the load.
type hold struct {
	slot   int
	step   holdStep
	marks  []answerMark   // what must be answered before the next step
	plan   plan           // entries between two rounds
	store  store          // in which they lie
	queue  []*batch.Batch // new commands of the slot, each a batch
	giveUp Time
	until  Time // end of the pause; when releasing, 0 if there is none
}

// pauses reports whether the hold must be looked at again at a time.
func (h *hold) pauses() bool { return h.step == waiting || h.step == releasing && h.until > 0 }

// answerMark is a number of replies of a connection.
type answerMark struct {
	conn  *connection
	count int64
}

// reached reports whether the replies have come.
func (h *hold) reached() bool {
	for _, m := range h.marks {
		if m.conn.answered < m.count {
			return false
		}
	}
	return true
}

// holds are the held slots.
type holds struct {
	e    *Engine
	list []*hold
}

// of returns the hold of a slot, nil if it is not held.
func (hs *holds) of(slot int) *hold {
	for _, h := range hs.list {
		if h.slot == slot {
			return h
		}
	}
	return nil
}

// answered takes replies of a connection that hold retryable errors. It reports
// false if holding slots is not enough and the load must be repaired.
func (hs *holds) answered(c *connection) bool {
	if !hs.e.cfg.Cluster || !hs.e.flows() || len(c.streams) > 0 {
		return false
	}
	var slots []int
	for _, b := range c.flight {
		for i := 0; b.Mixed && i < b.Len(); {
			last := lastOf(b, i)
			if last < b.Answered && b.Entries[i].Status != batch.Removed && answeredState(b, i, last) == retry {
				if kind := retryKind(b, i, last); kind != ask && kind != tryAgain {
					return false
				}
				b.Held = true
				slots = append(slots, hs.e.repair.gatherer.slotOf(b, i, last))
			}
			i = last + 1
		}
	}
	for _, slot := range slots {
		hs.begin(slot, c)
	}
	return true
}

// begin holds a slot, if it is not held yet.
func (hs *holds) begin(slot int, c *connection) {
	h := hs.of(slot)
	if h == nil {
		h = &hold{slot: slot, store: store{log: &hs.e.log}, giveUp: hs.e.now + hs.e.cfg.RetryFor}
		hs.list = append(hs.list, h)
	} else if h.step != releasing {
		return
	}
	h.step = collecting
	hs.e.log.submit(c)
	h.marks = append(h.marks[:0], answerMark{c, c.answered + int64(c.unanswered)})
}

// advance takes every step that needs no further event.
func (hs *holds) advance() {
	for i := 0; i < len(hs.list) && hs.e.flows(); {
		h := hs.list[i]
		if h.step == collecting && h.reached() {
			hs.round(h)
		}
		if h.step == releasing {
			hs.release(h)
		}
		if i < len(hs.list) && hs.list[i] == h {
			i++
		}
	}
}

// round looks at what the last round has brought and prepares the next one.
func (hs *holds) round(h *hold) {
	r := &hs.e.repair
	for _, m := range h.marks {
		r.gatherer.gatherSlot(&h.plan, m.conn, h.slot)
	}
	h.plan.sort()
	r.gatherer.readKeys(&h.plan)
	h.plan.mayRunAgain(hs.e.cfg.OnDisconnect == Resend)
	h.plan.mustRunAgain()
	if hs.e.now >= h.giveUp {
		h.plan.resendNothing()
	}
	hs.sort(h)
	hs.free(h)
	switch {
	case len(h.plan.entries) == 0:
		h.step = releasing
	case h.plan.entries[0].state == retry && h.plan.entries[0].kind == ask:
		hs.send(h)
	default:
		h.step, h.until = waiting, hs.e.now+hs.e.cfg.Backoff
	}
}

// sort reports the entries that are final and keeps those that are resent, in a
// batch of their own.
func (hs *holds) sort(h *hold) {
	left := h.plan.entries[:0]
	for i := range h.plan.entries {
		en := &h.plan.entries[i]
		if en.send {
			left = append(left, *en)
			continue
		}
		if en.state == queued && !en.may {
			hs.renew(h, en)
			continue
		}
		cause := en.cause()
		if hs.e.now >= h.giveUp && en.state != ran {
			cause = RetriesEnded
		}
		hs.e.repair.finish(en, en.outcome(), cause)
		remove(en)
	}
	h.plan.entries = left
	h.store.take(&h.plan)
}

// free lets the batches be complete that were held for a slot.
func (hs *holds) free(h *hold) {
	for _, m := range h.marks {
		for _, b := range m.conn.flight {
			b.Held = b.Held && retryableIn(b)
		}
		hs.e.log.completeHead(m.conn)
	}
	h.marks = h.marks[:0]
}

// tick ends the pauses whose time has come.
func (hs *holds) tick() {
	for _, h := range slices.Clone(hs.list) {
		switch {
		case !h.pauses() || hs.e.now < h.until || !hs.e.flows():
		case h.step == releasing:
			hs.release(h)
		case hs.e.now >= h.giveUp:
			hs.round(h)
			hs.e.progress()
		default:
			hs.send(h)
		}
	}
}

// send sends a round. If a connection is missing the load is repaired.
func (hs *holds) send(h *hold) {
	r := &hs.e.repair
	for i := range h.plan.entries {
		en := &h.plan.entries[i]
		if en.state == retry && en.kind == ask && r.e.pool.known(en.redirectOf()) == nil {
			r.start()
			return
		}
	}
	if hs.insideTransaction(h) {
		if hs.deadlocked(h) {
			r.start()
			return
		}
		h.step, h.until = waiting, hs.e.now+hs.e.cfg.Backoff
		return
	}
	first := make([]int, len(hs.e.pool.conns))
	for i, c := range hs.e.pool.conns {
		hs.e.log.submit(c)
		first[i] = len(c.flight)
	}
	r.round(&h.plan)
	hs.e.log.flush()
	for i, c := range hs.e.pool.conns {
		for _, b := range c.flight[first[i]:] {
			b.Held = true
		}
		if len(c.flight) > first[i] {
			h.marks = append(h.marks, answerMark{c, c.answered + int64(c.unanswered)})
		}
	}
	h.step = collecting
}

// insideTransaction reports whether something would be resent to a connection
// on which a transaction is open.
func (hs *holds) insideTransaction(h *hold) bool {
	for i := range h.plan.entries {
		if c, _ := hs.e.repair.target(&h.plan.entries[i]); c.inTransaction() {
			return true
		}
	}
	return false
}

// deadlocked reports whether the transaction that a hold waits for waits for
// the hold: its keys were not known when it began, or its EXEC is a barrier. A
// repair takes it back.
func (hs *holds) deadlocked(h *hold) bool {
	r := &hs.e.router
	return hs.e.barrier.active || len(r.parked) > 0 && r.slot == h.slot
}

// queue queues an entry whose slot is held.
func (hs *holds) queue(h *hold, b *batch.Batch) {
	hs.e.window.charge(b)
	h.queue = append(h.queue, b)
}

// admits reports whether the window allows one more entry of so many commands
// and bytes in the queue of a slot.
func (hs *holds) admits(h *hold, n, bytes int) bool {
	w := &hs.e.window
	most := w.most()
	return (most == 0 || len(h.queue) == 0 || len(h.queue)+n <= most) && w.fits(n, bytes)
}

// release sends what was queued, as the window allows, and ends the hold.
func (hs *holds) release(h *hold) {
	c := hs.e.router.connection(h.slot)
	for len(h.queue) > 0 {
		if h.until = 0; c.inTransaction() {
			if h.until = hs.e.now + hs.e.cfg.Backoff; hs.deadlocked(h) {
				hs.e.repair.start()
			}
			return
		}
		b := h.queue[0]
		hs.e.window.giveBack(b)
		if !hs.e.window.admits(c, b.Len(), len(b.RESP)) && c.load() > 0 {
			hs.e.window.charge(b)
			hs.e.log.submit(c)
			return
		}
		h.queue = slices.Delete(h.queue, 0, 1)
		hs.e.router.send(c, b)
	}
	hs.e.log.submit(c)
	h.store.take(&plan{})
	hs.list = slices.DeleteFunc(hs.list, func(other *hold) bool { return other == h })
}

// dissolve gives everything that is held to the repair of the load.
func (hs *holds) dissolve(g *gatherer) {
	for _, h := range hs.list {
		g.r.plan.entries = append(g.r.plan.entries, h.plan.entries...)
		g.r.batches = append(g.r.batches, h.store.batches...)
		for _, b := range h.queue {
			g.gatherBatch(hs.e.router.connection(h.slot), b)
		}
	}
	hs.list = nil
}

// deadline returns when the first pause ends. A hold that is released pauses
// while a transaction is open on its connection.
func (hs *holds) deadline() (first Time, ok bool) {
	for _, h := range hs.list {
		if h.pauses() && (!ok || h.until < first) {
			first, ok = h.until, true
		}
	}
	return first, ok
}
