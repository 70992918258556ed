package loader

// pass gives the observer records of a transaction that an earlier run has
// committed without seeing the reply. Records that respipe refuses were refused
// in that run, too, which may not have lived to say so.
func (x *exactly) pass(t *transaction) {
	x.noteUnconfirmed(t)
	for _, b := range t.batches {
		b.mark.DB = x.db
		x.db = dbBehind(b, x.db)
		b.settled = true
		for i := range b.failures {
			f := &b.failures[i]
			x.rep.EarlierErrors++
			f.Kind, f.Nth = x.kinds.Count(f.Text, b.Pos(f.I))
		}
		if x.cfg.OnSettled != nil {
			if err := x.cfg.OnSettled(b); err != nil && x.stopped == nil {
				x.stopped = err
			}
		}
		x.free.put(b)
	}
	x.passed = t.next.reach()
	if !x.passed.before(x.from) {
		x.allPassed()
	}
}

// allPassed is called when the source has come to the position that the run goes
// on from: from now on its positions say what is unconfirmed before.
func (x *exactly) allPassed() {
	x.unread = false
	x.db = x.reached.Mark.DB
	x.reached.Confirmed, x.reached.Unconfirmed = nil, x.unconfirmed
	x.lag = true
	if x.once.SameInput == nil {
		return
	}
	if err := x.once.SameInput(&x.reached, true); err != nil && x.stopped == nil {
		x.stopped = err
	}
}

// noteUnconfirmed notes that the commands of a transaction are unconfirmed.
func (x *exactly) noteUnconfirmed(t *transaction) {
	if r := t.unconfirmedRange(); r.Records > 0 {
		x.unconfirmed.add(r)
	}
}

// unanswered counts the unconfirmed commands of a batch as unknown, before all
// of the batch is counted as acknowledged. It returns how many there are.
func (x *exactly) unanswered(b *Batch) (n int64) {
	for i, p := range b.places {
		if p.flags&unsure != 0 {
			x.lostFrom(b.N(i), b.Pos(i), b.Pos(i))
			x.rep.Unknown++
			n++
		}
	}
	x.rep.Acknowledged -= n
	x.rep.Unanswered += n
	return n
}

// reportUnconfirmed puts what is unconfirmed at the end into the report.
func (x *exactly) reportUnconfirmed() {
	x.rep.Unconfirmed, x.rep.AfterUnconfirmed = x.unconfirmed, x.reached.AfterUnconfirmed
}
