package engine

import (
	"cmp"
	"slices"

	"respipe/loader/batch"
)

// putOff takes out of the plan of a repair what would be resent to a connection
// on which a transaction is open that cannot be resent, and holds its slots until
// the transaction has ended: nothing is wrong with that, and no key of another
// slot is one of its own. What may touch any key cannot wait, nor can what the
// EXEC of the transaction waits for.
func (hs *holds) putOff(p *plan) {
	if !hs.e.cfg.Cluster || hs.e.barrier.active || slices.ContainsFunc(p.entries, func(en pending) bool { return en.wide }) {
		return
	}
	for i := range p.entries {
		en := &p.entries[i]
		if !en.send || en.slot == noSlot || int(en.slot) == hs.e.router.tx.slot || hs.of(int(en.slot)) != nil {
			continue
		}
		if c, _ := hs.e.repair.target(en); c.inTransaction() {
			hs.list = append(hs.list, &hold{
				slot: int(en.slot), step: waiting, store: store{log: &hs.e.log},
				giveUp: hs.e.repair.giveUp, until: hs.e.now + hs.e.cfg.Backoff,
			})
		}
	}
	if len(hs.list) > 0 {
		hs.takeFrom(p)
	}
}

// takeFrom moves the entries of a plan whose slots are held to their holds.
func (hs *holds) takeFrom(p *plan) {
	left := p.entries[:0]
	for _, en := range p.entries {
		if h := hs.of(int(en.slot)); h != nil && en.send {
			h.plan.entries = append(h.plan.entries, en)
			continue
		}
		left = append(left, en)
	}
	p.entries = left
	for _, h := range hs.list {
		h.store.take(&h.plan)
		hs.e.repair.gatherer.readKeys(&h.plan)
	}
}

// renew makes an entry new that was never sent, as there is no more time for
// retries: it goes before what was queued since.
func (hs *holds) renew(h *hold, en *pending) {
	b := hs.e.log.get()
	for i := int(en.first); i <= int(en.last); i++ {
		b.Copy(en.batch, i)
		b.Mixed = b.Mixed || en.batch.Entries[i].Flags&^batch.Last != 0
	}
	remove(en)
	hs.e.window.charge(b)
	i, _ := slices.BinarySearchFunc(h.queue, en.number, func(queued *batch.Batch, n batch.Number) int {
		return cmp.Compare(queued.Number(0), n)
	})
	h.queue = slices.Insert(h.queue, i, b)
}
