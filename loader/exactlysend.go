package loader

import (
	"strconv"
	"time"

	"respipe/parser"
)

// handOver sends the transaction that is being filled, when all before it is
// settled and the rates allow it. One of nothing but refused records is settled
// at once: the next one writes its position.
func (x *exactly) handOver() error {
	t := x.filling
	if t == nil {
		return x.ending()
	}
	if t.passed {
		x.filling = nil
		x.pass(t)
		return x.ending()
	}
	if err := x.keepPace(t); err != nil {
		return err
	}
	for x.busy() {
		if err := x.step(); err != nil {
			return err
		}
	}
	if err := x.poll(); err != nil {
		return err
	}
	x.filling = nil
	if err := x.identify(&t.next); err != nil {
		x.stopped, x.pending = err, t
		return errStop
	}
	if t.due() == 0 {
		x.settle(t)
		return x.ending()
	}
	x.launch(t)
	return x.ending()
}

// keepPace waits until the rates allow the transaction.
func (x *exactly) keepPace(t *transaction) error {
	if x.pace == nil || t.paced {
		return nil
	}
	t.paced = true
	if wait := x.pace.Reserve(time.Since(x.began), t.due(), t.size()); wait > 0 {
		return x.sleep(wait)
	}
	return nil
}

// finish writes the position at the end, if the key does not say that, or not
// that the replies were seen, and that the input is done; and with that
// Config.After, if no record is refused or unconfirmed.
func (x *exactly) finish() {
	done := x.rep.InputDone && x.stopped == nil && x.broken == nil
	if x.rewound || x.lost != nil || x.pending != nil || !done && !x.lag {
		return
	}
	t := &transaction{next: x.reached}
	t.next.Done = done
	if done && x.allWentIn() && x.unconfirmed.Records == 0 && len(x.cfg.After) > 0 {
		t.after = parser.AppendCommand(nil, x.cfg.After)
		t.next.AfterUnconfirmed = true // until its reply is seen
	}
	x.launch(t)
	x.drain()
}

// launch puts a transaction on its way.
func (x *exactly) launch(t *transaction) {
	t.next.token = x.held.token
	t.next.Errors = x.rep.EarlierErrors + x.rep.Errors
	t.next.Unconfirmed = x.unconfirmed
	if t.next.Confirmed = nil; t.due() > 0 {
		t.next.Confirmed = &Confirmed{x.reached.Mark, x.reached.Commands, x.reached.Input}
	}
	t.next.Mark.DB = x.foresee(t)
	if err := t.next.encode(); err != nil {
		x.stopped, x.pending = err, t
		return
	}
	x.write(t)
	now := time.Now()
	for _, b := range t.batches {
		b.sent = now
	}
	x.stall.restart()
	x.flying = t
	go func(l *link) { x.landed <- t.carry(l) }(x.link)
}

// foresee returns the database that will be selected behind the transaction, if
// no SELECT in it is refused.
func (x *exactly) foresee(t *transaction) int {
	db := x.db
	if t.changes && !t.discarded {
		for _, b := range t.batches {
			db = dbBehind(b, db)
		}
	}
	return db
}

// dbBehind returns the database that is selected behind a batch, where db was
// before it: of its SELECTs the last one counts that was not refused.
func dbBehind(b *Batch, db int) int {
	var failed map[int]bool
	for i, p := range b.places {
		if p.class != parser.State || p.flags&refused != 0 {
			continue
		}
		if failed == nil {
			failed = failedPlaces(b)
		}
		if n, ok := selectedDB(b.bytesOf(i)); ok && !failed[i] {
			db = n
		}
	}
	return db
}

// write makes the spans of a transaction. What the server has refused of it is
// left out.
func (x *exactly) write(t *transaction) {
	t.reset()
	if !t.block {
		t.add(begins, multiRequest)
	}
	if !t.block && x.db != x.cfg.DB {
		t.add(selects, selectRequest(x.db))
	}
	for i, b := range t.batches {
		from, to := 0, b.Len()
		if t.block && i == 0 {
			t.addPlaces(begins, b, 0, 1)
			if from++; x.db != x.cfg.DB {
				t.add(selects, selectRequest(x.db))
			}
		}
		if t.block && !t.discarded && i == len(t.batches)-1 {
			to--
		}
		t.addUnrefused(b, from, to)
	}
	if !t.discarded {
		x.writePosition(t)
	}
	t.add(watches, x.request("WATCH"))
	t.add(asks, x.request("GET"))
	t.enter()
}

// writePosition makes the spans from the last command to EXEC.
func (x *exactly) writePosition(t *transaction) {
	if t.changes || x.db != x.cfg.DB {
		t.add(selects, selectRequest(x.cfg.DB))
	}
	if t.after != nil {
		t.add(follows, t.after)
	}
	t.add(position, x.request("SET", t.next.raw))
	if t.block {
		b := t.last()
		t.addPlaces(executes, b, b.Len()-1, b.Len())
	} else {
		t.add(executes, execRequest)
	}
	t.end = t.length
}

// reset forgets the last attempt.
func (t *transaction) reset() {
	t.spans, t.failures = t.spans[:0], t.failures[:0]
	t.attempt = attempt{}
	for _, b := range t.batches {
		t.failures = append(t.failures, len(b.failures))
		for i := range b.places {
			b.places[i].flags &^= queued
		}
	}
}

// add adds a command of ours.
func (t *transaction) add(r role, resp []byte) {
	t.spans = append(t.spans, span{role: r, resp: resp})
	t.length += int64(len(resp))
}

// addPlaces adds commands of the input, of which one at least is owed a reply.
func (t *transaction) addPlaces(r role, b *Batch, from, to int) {
	start := uint32(0)
	if from > 0 {
		start = b.places[from-1].end
	}
	resp := b.resp[start:b.places[to-1].end]
	t.spans = append(t.spans, span{role: r, resp: resp, b: b, from: from, to: to})
	t.length += int64(len(resp))
}

// addUnrefused adds commands of the input, but for those that the server has
// refused.
func (t *transaction) addUnrefused(b *Batch, from, to int) {
	failed := failedPlaces(b)
	for i := from; i <= to; i++ {
		if i < to && !failed[i] {
			continue
		}
		if b.owedFrom(from, i) < i {
			t.addPlaces(carries, b, from, i)
		}
		from = i + 1
	}
}

func selectRequest(db int) []byte {
	return parser.AppendCommand(nil, [][]byte{[]byte("SELECT"), []byte(strconv.Itoa(db))})
}
