package engine

import (
	"slices"

	"respipe/loader/batch"
	"respipe/parser"
)

// entryState is what is known of an entry under repair.
type entryState uint8

const (
	queued   entryState = iota // not sent, or not written in full: it has not run
	inFlight                   // sent in full and not answered: it may have run
	ran                        // acknowledged
	retry                      // answered with a retryable error: it has not run
	failed                     // answered with an error for good
	notRun                     // a transaction whose EXEC was answered nil
)

// pending is an entry under repair: a command or a whole transaction.
type pending struct {
	number  batch.Number
	batch   *batch.Batch
	first   int32 // its entries in the batch
	last    int32
	key     int32 // its keys are plan.ids[key:keyEnd]
	keyEnd  int32
	place   int32 // of the connection that it was on
	slot    int16 // hash slot of its keys; -1 without one
	state   entryState
	kind    uint8 // of the retryable error
	class   parser.Retry
	may     bool    // an earlier attempt ran or may have run
	wide    bool    // it may touch any key
	watched bool    // a WATCH guards it: it cannot be resent
	fixed   bool    // its bytes were given back: it cannot be resent
	can     bool    // it may run again
	passed  bool    // a later entry on its keys ran or may have run
	send    bool    // it is to be resent
	stream  *stream // of a transaction whose bytes were given back
}

// replaced reports whether a DISCARD has replaced the EXEC of the entry.
func (p *pending) replaced() bool {
	b, last := p.batch, int(p.last)
	if s := p.stream; s != nil {
		b = s.parts[len(s.parts)-1]
		last = b.Len() - 1
	}
	return b.Entries[last].Flags&batch.Replaced != 0
}

// mayRun reports whether the entry ran or may have run, in any attempt.
func (p *pending) mayRun() bool {
	return p.may || p.state == ran || p.state == inFlight || p.state == failed
}

// plan decides for all entries that are not complete, by number and over all
// connections, which of them are resent. Example, all on the key k:
//
//	1 SET k    TRYAGAIN   resent
//	2 APPEND k ran        would have to run twice: so 1 must not be resent, it is refused
//	3 SET k    in flight on a lost connection: resent
//
// It takes two passes. Backwards: may an entry run again? A non-idempotent one
// not once it ran or may have run, and neither it nor one that derives once a
// later entry on its keys has run; no entry may if a later one on its keys has
// run and must not run again, for it would drag that one along. Forwards: must
// it? It was not answered for good, and may; or it ran and shares a key with an
// earlier one that is resent.
type plan struct {
	entries []pending
	ids     []int32 // numbers of the keys of all entries
	table   keyTable
	marks   []mark // by number of the key
	any     mark   // all marks of keys
	wide    mark   // of the entries that may touch any key
}

// mark is what the passes note of a key.
type mark uint8

const (
	later   mark = 1 << iota // an entry behind this one ran or may have run
	blocked                  // and one that did must not run again
	must                     // an entry before this one is resent
)

// sort puts the entries in the order of the input.
func (p *plan) sort() {
	byNumber := func(a, b pending) int {
		switch {
		case a.number < b.number:
			return -1
		case a.number > b.number:
			return 1
		}
		return 0
	}
	if !slices.IsSortedFunc(p.entries, byNumber) {
		slices.SortStableFunc(p.entries, byNumber)
	}
}

// shared returns the marks of everything that an entry shares a key with.
func (p *plan) shared(en *pending) mark {
	m := p.wide
	if en.wide {
		return m | p.any
	}
	for _, id := range p.ids[en.key:en.keyEnd] {
		m |= p.marks[id]
	}
	return m
}

// mark marks the keys of an entry.
func (p *plan) mark(en *pending, m mark) {
	if en.wide {
		p.wide |= m
	}
	for _, id := range p.ids[en.key:en.keyEnd] {
		p.marks[id] |= m
	}
	p.any |= m
}

// begin forgets all marks.
func (p *plan) begin() {
	p.marks = slices.Grow(p.marks[:0], p.table.n)[:p.table.n]
	clear(p.marks)
	p.any, p.wide = 0, 0
}

// mayRunAgain is the pass backwards. With twice, entries in flight on a lost
// connection may run twice.
func (p *plan) mayRunAgain(twice bool) {
	p.begin()
	for i := len(p.entries) - 1; i >= 0; i-- {
		en := &p.entries[i]
		m := p.shared(en)
		en.passed = m&later != 0
		en.can = en.state != failed && en.state != notRun && !en.fixed && !en.watched && m&blocked == 0
		switch {
		case en.class == parser.NonIdempotent && (en.state == ran || en.state == inFlight && !twice):
			en.can = false
		case en.class != parser.Overwrites && en.passed:
			en.can = false
		}
		if en.mayRun() {
			p.mark(en, later)
			if !en.can {
				p.mark(en, blocked)
			}
		}
	}
}

// mustRunAgain is the pass forwards.
func (p *plan) mustRunAgain() {
	p.begin()
	for i := range p.entries {
		en := &p.entries[i]
		switch en.state {
		case queued, inFlight, retry:
			en.send = en.can
		case ran:
			en.send = p.shared(en)&must != 0
		default:
			en.send = false
		}
		if en.send {
			p.mark(en, must)
		}
	}
}

// resendNothing decides that no entry is resent.
func (p *plan) resendNothing() {
	for i := range p.entries {
		p.entries[i].send = false
	}
}

// outcome returns what became of an entry that is not resent.
func (en *pending) outcome() batch.Outcome {
	if en.watched && en.state == queued {
		return batch.Refused
	}
	switch en.state {
	case ran:
		return batch.Acknowledged
	case inFlight:
		return batch.Unknown
	case retry, failed:
		return batch.Refused
	case notRun:
		return batch.NotRun
	}
	return batch.NotSent
}

// needsPause reports whether a retryable error wants some time to pass.
func (p *plan) needsPause() bool {
	for i := range p.entries {
		if en := &p.entries[i]; en.state == retry && (en.kind == busy || en.kind == tryAgain) {
			return true
		}
	}
	return false
}

// cause says why an entry is not resent.
func (en *pending) cause() Cause {
	if en.watched && (en.state == queued || en.state == retry) {
		return WatchLost
	}
	switch en.state {
	case retry:
		return LaterHasRun
	case inFlight:
		return ConnectionLost
	}
	return NoCause
}
