package engine

import (
	"slices"

	"respipe/loader/batch"
)

// stream is a transaction that is sent in parts, each a batch of its own. The
// parts stay in the log until the EXEC is answered; those that were answered
// QUEUED are merged. Once the transaction takes half of the window, or holds up
// what comes next, their bytes are given back, and it cannot be resent from then
// on.
type stream struct {
	parts []*batch.Batch
	open  bool   // its EXEC has not come
	kept  bool   // no bytes were given back
	conn  ConnID // that the first part was sent to

	hashes []uint64 // of the keys in the bytes that were given back, up to mostHashes
	wide   bool     // a command in them may touch any key
}

// mostHashes is how many keys of a stream are told from others. One with more
// counts as one that may touch any key.
const mostHashes = 1 << 15

// streamOf returns the streamed transaction that a batch is a part of, nil if
// it is none.
func (c *connection) streamOf(b *batch.Batch) *stream {
	for _, s := range c.streams {
		if slices.Contains(s.parts, b) {
			return s
		}
	}
	return nil
}

// inTransaction reports whether a transaction is open on the connection: what is
// sent now would become a part of it.
func (c *connection) inTransaction() bool {
	for _, s := range c.streams {
		if s.parts[0].Sent && (s.open || !s.parts[len(s.parts)-1].Sent) {
			return true
		}
	}
	return false
}

// answered reports whether the end of the transaction is answered.
func (s *stream) answered() bool {
	last := s.parts[len(s.parts)-1]
	return !s.open && last.Sent && last.Answered == last.Len()
}

// sent returns how many parts were submitted.
func (s *stream) sent() (n int) {
	for n < len(s.parts) && s.parts[n].Sent {
		n++
	}
	return n
}

// charged returns how many bytes the window counts for the stream.
func (s *stream) charged() (bytes int) {
	for _, b := range s.parts {
		bytes += b.Charged
	}
	return bytes
}

// queued merges the parts of a stream whose commands are queued, and gives their
// bytes back if there are too many.
func (l *log) queued(c *connection, s *stream) {
	if s.answered() {
		return
	}
	for i := 0; i < len(s.parts) && s.parts[i].Sent && s.parts[i].Answered == s.parts[i].Len(); {
		b := s.parts[i]
		if b.RESP != nil && 2*s.charged() > l.e.cfg.WindowBytes {
			s.giveBack(l, b)
		}
		if i == 0 || !mergeable(s.parts[i-1], b) {
			i++
			continue
		}
		l.mergePart(c, s, i)
	}
}

// giveBack gives the bytes of a part back: the stream cannot be resent from then
// on.
func (s *stream) giveBack(l *log, b *batch.Batch) {
	s.keepHashes(b, &l.e.repair.gatherer.keys)
	l.e.window.giveBack(b)
	b.GiveBack()
	s.kept = false
}

// makeRoom gives back the bytes of all parts that are answered, as nothing else
// will make room for the next one. It reports whether there were any.
func (s *stream) makeRoom(l *log) (some bool) {
	for _, b := range s.parts {
		if b.Sent && b.Answered == b.Len() && b.RESP != nil {
			s.giveBack(l, b)
			some = true
		}
	}
	return some
}

// The most that a merged part has.
const (
	mostMerged      = 1 << 14 // commands
	mostMergedBytes = 1 << 18
)

// mergeable reports whether a part can be merged with the one before it.
func mergeable(before, b *batch.Batch) bool {
	return before.Len()+b.Len() <= mostMerged && len(before.RESP)+len(b.RESP) <= mostMergedBytes &&
		(before.RESP == nil) == (b.RESP == nil) &&
		before.Fits(b.Position(0)) && before.Fits(b.Position(b.Len()-1))
}

// mergePart merges part i of a stream with the one before it.
func (l *log) mergePart(c *connection, s *stream, i int) {
	to, b := s.parts[i-1], s.parts[i]
	to.Append(b)
	if to.RESP != nil {
		l.e.window.giveBack(b)
		l.e.window.charge(to)
	}
	s.parts = slices.Delete(s.parts, i, i+1)
	at := slices.Index(c.flight, b)
	c.flight = slices.Delete(c.flight, at, at+1)
	l.put(b)
}

// keepHashes keeps what a plan must know of the keys of a part.
func (s *stream) keepHashes(b *batch.Batch, keys *keyReader) {
	for i := range b.Entries {
		if s.wide {
			s.hashes = nil
			return
		}
		found := keys.read(b.Command(i))
		for _, key := range found {
			s.hashes = append(s.hashes, hashKey(key))
		}
		s.wide = len(s.hashes) > mostHashes || len(found) == 0 && touchesAll(keys.op(keys.args))
	}
}

// state returns what the replies say of the transaction.
func (s *stream) state() entryState {
	last := s.parts[len(s.parts)-1]
	switch {
	case s.open || !last.Sent || last.Answered < last.Len() && int64(last.Entries[last.Len()-1].End) > last.Written:
		if kind := s.failure(); kind != null && kind != permanent {
			return retry
		}
		return queued
	case last.Answered < last.Len():
		return inFlight
	case last.Entries[last.Len()-1].Status == batch.Retryable:
		return retry
	case last.Entries[last.Len()-1].Status == batch.Null:
		return notRun
	case last.Entries[last.Len()-1].Status != batch.Failed:
		return ran
	}
	if kind := s.failure(); kind != null && kind != permanent {
		return retry
	}
	return failed
}

// failure returns the kind of the error that the transaction will be aborted
// for: a permanent one if there is any, null if there is no error.
func (s *stream) failure() uint8 {
	kind := null
	for _, b := range s.parts {
		for _, f := range b.Failures {
			switch {
			case f.Element >= 0 || f.Kind == aborted:
			case !retryable(f.Kind):
				return permanent
			case kind == null || f.Kind < kind:
				kind = f.Kind
			}
		}
	}
	return kind
}

// completeStream reports a streamed transaction whose end is answered.
func (l *log) completeStream(c *connection, s *stream) {
	outcome := batch.Acknowledged
	switch s.state() {
	case failed, retry:
		outcome = batch.Refused
	case notRun:
		outcome = batch.NotRun
	}
	l.reportStream(c, s, outcome, NoCause)
}

// reportStream reports a streamed transaction and forgets it.
func (l *log) reportStream(c *connection, s *stream, outcome batch.Outcome, cause Cause) {
	done := Completion{Outcome: outcome, Cause: cause}
	for _, b := range s.parts {
		done.Parts = append(done.Parts, Part{b, 0, b.Len() - 1})
		done.Errors = append(done.Errors, b.Failures...)
	}
	replaced(&done)
	l.e.report(&done)
	for _, b := range s.parts {
		l.e.router.unparkPart(b)
		if b == l.e.barrier.entry {
			l.e.barrier.entry = nil
		}
		l.put(b)
	}
	c.dropStream(s)
}

// dropStream forgets a streamed transaction.
func (c *connection) dropStream(s *stream) {
	c.streams = slices.DeleteFunc(c.streams, func(other *stream) bool { return other == s })
}
