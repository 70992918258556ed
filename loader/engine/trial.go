package engine

import (
	"slices"

	"respipe/loader/batch"
	"respipe/parser"
)

// ownStep is what a barrier with a command of our own is for.
type ownStep uint8

const (
	trying    ownStep = iota // a SELECT of the open transaction is tried
	returning                // the trial is over: back to the current database
	aligning                 // every connection gets what a transaction has changed
)

// mostTrials is how often a database is tried that some connections select and
// others refuse.
const mostTrials = 3

// trial tries a SELECT that the input has inside of a transaction, before the
// transaction is sent: if EXEC refused it, the commands behind it would run in
// another database than the input says. Every connection must select the
// database, and then the current one again; nothing is sent in between.
//
// Its commands are copies of a barrier's entry that are our own: they are
// reported to nobody.
type trial struct {
	step     ownStep
	entry    *batch.Batch // the SELECT of the input; nil outside of a trial
	attempts int
	accepted bool
}

// try begins the trial of a SELECT of the open transaction.
func (s *session) try(c *parser.Command) {
	entry := s.e.log.get()
	appendCommand(entry, c, 0)
	s.e.window.charge(entry)
	s.trial = trial{entry: entry}
	s.own(trying, entry.Position(0), entry.Command(0))
}

// own begins a barrier with a command of our own.
func (s *session) own(step ownStep, p batch.Position, resp []byte) {
	s.trial.step = step
	b := s.e.log.get()
	b.RESP = append(b.RESP, resp...)
	b.Add(p, 0, batch.Own)
	b.Mixed = true
	s.e.barrier.begin(b, everyConnection, noSlot, nil, nil)
}

// answered takes the end of a barrier with a command of our own, which some
// connections may have refused.
func (s *session) answered(refusing []*connection) {
	t, b := &s.trial, &s.e.barrier
	p := b.entry.Position(0)
	switch {
	case t.step == trying && len(refusing) > 0 && len(refusing) < s.e.pool.present() && t.attempts < mostTrials:
		t.attempts++ // others may take their place
		b.results = slices.DeleteFunc(b.results, func(r copyResult) bool { return r.failed })
		for _, c := range refusing {
			s.e.pool.abandon(c, Refusing)
		}
	case t.step == trying:
		t.accepted = len(refusing) == 0
		b.close()
		s.own(returning, p, s.selectCurrent())
	default:
		b.close()
		for _, c := range refusing {
			s.doomed = append(s.doomed, c.id)
		}
		if t.step == returning {
			s.conclude()
		}
		if !s.alignNext(p) {
			s.abandon()
		}
	}
}

// alignNext begins to send the next command of a transaction that every
// connection must get. It reports whether there is one.
func (s *session) alignNext(p batch.Position) bool {
	if len(s.align) == 0 {
		return false
	}
	resp := s.align[0]
	s.align = s.align[1:]
	s.own(aligning, p, resp)
	return true
}

// conclude ends a trial: the SELECT becomes a command of the transaction, or it
// is refused, and so the transaction.
func (s *session) conclude() {
	entry, tx := s.trial.entry, &s.e.router.tx
	s.trial.entry = nil
	s.learn(databaseOf(appendArgs(nil, entry.Command(0))), s.trial.accepted)
	if s.trial.accepted {
		tx.appendTried(entry)
	} else {
		tx.refused = true
		s.e.report(&Completion{Parts: []Part{{entry, 0, 0}}, Outcome: batch.Refused, Cause: DatabaseRefused})
	}
	s.e.log.put(entry)
}

// abandon returns to the state before the barrier. Connections that have refused
// what the others have must not be used: the handshakes of the next ones restore
// the session.
func (s *session) abandon() {
	doomed := s.doomed
	s.doomed = nil
	s.e.state = usual(s.e)
	for _, id := range doomed {
		if c := s.e.pool.find(id); c != nil && c.phase == ready {
			s.e.pool.abandon(c, Refusing)
		}
	}
	if s.e.flows() {
		s.e.progress()
	}
}

// present returns how many connections the load has.
func (p *pool) present() (n int) {
	for _, c := range p.conns {
		if !c.node.away {
			n++
		}
	}
	return n
}
