package engine

import "respipe/loader/batch"

// store keeps entries that have left the batches in which they were sent and
// wait to be resent.
type store struct {
	log     *log
	batches []*batch.Batch
}

// take moves the entries of a plan out of their batches, and gives back what
// the store has held before.
func (s *store) take(p *plan) {
	before := s.batches
	s.batches = nil
	for i := range p.entries {
		s.move(&p.entries[i])
	}
	for _, b := range s.batches {
		s.log.e.window.charge(b)
	}
	for _, b := range before {
		s.log.put(b)
	}
}

// move moves one entry.
func (s *store) move(en *pending) {
	from, position := en.batch, en.batch.Position(int(en.first))
	n := len(s.batches)
	if n == 0 || !s.batches[n-1].Fits(position) || !s.batches[n-1].Fits(from.Position(int(en.last))) {
		s.batches = append(s.batches, s.log.get())
		n++
	}
	to := s.batches[n-1]
	first := to.Len()
	for i := int(en.first); i <= int(en.last); i++ {
		to.Copy(from, i)
		if s.log.e.cfg.KeepReplies {
			to.AddReply(from.Reply(i)) // of one that ran and is to run again: it may be the last one
		}
	}
	for _, f := range failuresOf(from, int(en.first), int(en.last)) {
		f.Entry += first - int(en.first)
		to.Failures = append(to.Failures, f)
	}
	remove(en)
	en.batch, en.first, en.last = to, int32(first), int32(to.Len()-1)
}

// remove marks the entries of a batch as counted elsewhere.
func remove(en *pending) {
	en.batch.Mixed = true
	for i := en.first; i <= en.last; i++ {
		en.batch.Entries[i].Status = batch.Removed
	}
}
