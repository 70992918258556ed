package formats

import (
	"io"

	"respipe/parser"
)

// origin is the place that a Source goes on from.
type origin struct {
	parser.Mark
	state state
	seeks bool // the file can be read from there
}

// GoOnFrom makes the Source go on from a Mark of an earlier one, over the same
// files and with the same options: the next record is number m.N, at the place
// of m, and all that follows is as if it had been read from the start. It is
// called before Prepare and Next. What Identity returned for m is compared with
// the files, unless it is empty.
//
// Files before that of m are not read. A regular file, neither packed nor
// decoded, is read from the place on; any other is read up to there and thrown
// away, by Prepare or the first Next. Where Replace must know all keys, the
// records before m are read again instead, as with Skip.
//
// The error is a *UsageError. If it can be told only from what a pipe holds,
// Prepare returns it, or Next around a *parser.Broken.
func (s *Source) GoOnFrom(m parser.Mark, id Identity) error {
	if m.N <= 0 { // of a Source before its first Next
		return nil
	}
	state, err := decodeState(m.State)
	if err != nil || m.File < 0 || m.Offset < 0 || m.Line < 1 {
		return usagef("%v", errState)
	}
	if err := s.Compare(id, m); err != nil {
		return err
	}
	s.given, s.from = id, &origin{Mark: m, state: state}
	if s.mapping.remembers() && m.N <= s.last {
		s.opt.Skip = max(s.opt.Skip, m.N-1)
		return nil
	}
	s.n, s.file = m.N-1, m.File
	s.feed.first = m.File
	if s.from.seeks = m.Offset > 0 && s.verbatim(m.File); s.from.seeks { // until then, no other file is touched
		s.feed.files = s.files[:m.File+1]
	}
	s.taken.Store(sizeOf(s.files[:m.File]))
	return nil
}

// remembers reports whether what becomes of a record depends on all those
// before it.
func (m *mapping) remembers() bool { return m != nil && m.keyed != nil && m.keyed.cleared != nil }

// jump goes to the place to go on from, in the file at hand, whose reader has
// just been made.
func (s *Source) jump() error {
	from := s.from
	if from.Offset > 0 {
		if s.columns != from.state.columns || s.in.offset > from.Offset {
			return s.unlike("its columns, or the ends of its lines, differ")
		}
		if err := s.pass(); err != nil {
			return err
		}
		s.guard.quoteLine = from.state.quote
		if s.keeper != nil {
			s.keeper.goOn(from.state.kept)
		}
	}
	if err := s.comparePipe(); err != nil {
		return err
	}
	s.known, s.encoded = from.state, from.State
	s.pos, s.behind, s.from = s.in.Pos(), true, nil
	return nil
}

// arrive is called behind each read as long as the place to go on from has not
// been reached: where the records before it are read again. It returns what the
// read returned, or why that cannot be the same input.
func (s *Source) arrive(err error) error {
	end := err == io.EOF && s.file+1 == len(s.files)
	switch {
	case end && s.n < s.from.N-1:
		return s.tooShort()
	case s.n < s.from.N && !end:
		return err
	}
	if err := s.comparePipe(); err != nil {
		return err
	}
	s.from = nil
	return err
}

// pass goes to the place to go on from.
func (s *Source) pass() error {
	from := s.from
	if from.seeks {
		close(s.feed.done)
		for range s.feed.ready { // it ends, as it reads a regular file
		}
		s.taken.Store(sizeOf(s.files[:from.File]) + from.Offset)
		s.feed = newFeed(s.files, s.opt.Stdin, s.feed.asked, &s.taken)
		s.feed.first, s.feed.offset = from.File, from.Offset
		s.in.restart(s.feed, from.Mark)
		go s.feed.run()
		return nil
	}
	switch err := s.in.discard(from.Offset - s.in.offset); {
	case err == io.EOF:
		return s.tooShort()
	case err != nil:
		return err
	case s.in.line != from.Line:
		return s.unlike("its lines differ")
	}
	return nil
}

// restart goes to a place in the file at hand, from where feed reads on.
func (in *Input) restart(feed *feed, m parser.Mark) {
	in.feed, in.err = feed, nil
	in.line, in.offset, in.low = m.Line, m.Offset, m.Offset
	in.buf, in.pos, in.chunk, in.own = nil, 0, nil, nil
}

// tooShort says that the input ends before the place to go on from.
func (s *Source) tooShort() error { return s.unlike("it ends before the place to go on from") }

// unlike says that the file at hand is not the one to go on in.
func (s *Source) unlike(why string) error {
	return s.broken(notTheFile("this", why))
}

// sizeOf returns the sum of the sizes of those files that are regular.
func sizeOf(files []string) (sum int64) {
	for _, file := range files {
		if size, err := check(file); err == nil && size > 0 {
			sum += size
		}
	}
	return sum
}

// broken says that reading ends here.
func (s *Source) broken(err error) error { return &parser.Broken{Pos: s.in.Pos(), Err: err} }
