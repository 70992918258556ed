package formats

import (
	"context"
	"errors"
	"io"
	"math"
	"sync/atomic"

	"respipe/parser"
)

// Source reads commands from files, one after another, and refuses those that
// must not be sent. But for BytesRead it is used by one goroutine.
type Source struct {
	opt     Options
	files   []string
	formats []*Format // by file; nil where its first bytes tell
	mapping *mapping  // of records to commands; nil without templates
	size    int64

	feed    *feed
	in      *Input
	taken   atomic.Int64 // bytes read
	closed  bool
	running bool // the feed

	file     int // index of the file at hand
	begun    bool
	beginErr error // why it could not be begun
	commands Commands
	records  Records // one of the two is set
	keeper   keeper  // the same one, if it is
	format   *Format
	columns  uint64 // digest of them
	rec      parser.Record
	src      []byte // of the record at hand
	anew     []byte // the same, where it was written anew
	ops      parser.Ops
	guard    guard

	n      int64      // records so far
	last   int64      // number of the last one to be read
	start  place      // where reading it began, in the file at hand
	pos    parser.Pos // of the last one
	behind bool       // that is behind the last one
	err    error      // why reading ended

	from    *origin  // where to go on from, until that is reached
	given   Identity // that of from
	known   state    // of the last Mark
	encoded []byte
	heads   map[int][]byte // by file: the first bytes of what is not regular
	done    []FileIdentity // of the files before the last Mark
}

// Open makes a Source over files, as they stand on the command line: names,
// globs, and "-" for standard input, which is also meant where there are none.
// It reads nothing yet. The error is a *UsageError.
func Open(files []string, opt Options) (*Source, error) {
	if err := checkDialect(&opt); err != nil {
		return nil, err
	}
	asked, err := charsetNamed(opt.Encoding)
	if err != nil {
		return nil, err
	}
	inputs, size, err := resolve(files)
	if err != nil {
		return nil, err
	}
	m, err := newMapping(&opt)
	if err != nil {
		return nil, err
	}
	names, known := make([]string, len(inputs)), make([]*Format, len(inputs))
	for i, file := range inputs {
		names[i] = file.name
		if known[i], err = file.formatOf(&opt); err != nil {
			return nil, err
		}
	}
	s := newSource(names, known, m, opt, asked)
	s.size = size
	return s, nil
}

func newSource(files []string, known []*Format, m *mapping, opt Options, asked *charset) *Source {
	s := &Source{opt: opt, files: files, formats: known, mapping: m, last: math.MaxInt64}
	if opt.Limit >= 0 && opt.Limit < math.MaxInt64-opt.Skip {
		s.last = opt.Skip + opt.Limit
	}
	s.feed = newFeed(files, opt.Stdin, asked, &s.taken)
	s.in = &Input{feed: s.feed, wait: plainWait(context.Background())}
	s.in.begin(shown(files[0]))
	return s
}

// plainWait waits for the next chunk or the end of ctx.
func plainWait(ctx context.Context) parser.Wait {
	return func(ready <-chan []byte) (chunk []byte, ok bool, err error) {
		select {
		case chunk, ok = <-ready:
			return chunk, ok, nil
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

// Await lends the Source a way to wait for its input. Until then it waits
// plainly.
func (s *Source) Await(wait parser.Wait) { s.in.wait = wait }

// BytesRead returns how many bytes have been taken from the files, packed as
// they are. It may be called by any goroutine.
func (s *Source) BytesRead() int64 { return s.taken.Load() }

// Size returns the sum of the sizes of the files in bytes, -1 if not all of
// them are regular.
func (s *Source) Size() int64 { return s.size }

// Close ends the input goroutine, unless it sits in a read that does not
// return: then it is left behind.
func (s *Source) Close() {
	if !s.closed {
		s.closed = true
		close(s.feed.done)
	}
}

// begin makes the reader of the file at hand, once; its error is kept.
func (s *Source) begin() error {
	if s.begun {
		return s.beginErr
	}
	if !s.running {
		s.running = true
		go s.feed.run()
	}
	s.begun = true
	s.start = place{line: 1}
	s.beginErr = s.makeReader()
	if s.from != nil && s.n == s.from.N-1 && s.file == s.from.File {
		if s.beginErr == io.EOF && s.from.Offset > 0 {
			s.beginErr = s.tooShort()
		} else if s.beginErr == nil {
			s.beginErr = s.jump()
		}
	}
	return s.beginErr
}

// makeReader looks at the head of the file at hand and makes its reader.
func (s *Source) makeReader() error {
	file := s.files[s.file]
	s.in.begin(shown(file))
	if !isRegular(file) {
		s.in.head = make([]byte, 0, headBytes)
	}
	s.guard = guard{}
	s.commands, s.records, s.keeper, s.columns = nil, nil, nil, 0
	format, err := detect(s.in, s.formats[s.file], &s.opt)
	if err == io.EOF {
		s.opt.note(s.in.Pos(), "empty, no records")
	}
	if err != nil {
		return err
	}
	s.in.set, s.format = s.feed.found[s.file], format
	if format.Commands != nil {
		s.commands = format.Commands(s.in, &s.opt)
		return nil
	}
	var want Want
	if s.mapping != nil {
		want = s.mapping.want(format)
	}
	pos := s.in.Pos()
	s.records = format.Records(s.in, &s.opt, want)
	columns, err := s.records.Head()
	switch {
	case err != nil:
		return err
	case s.mapping == nil:
		err = needsKey(file, format, columns)
	default:
		err = s.mapping.check(format, columns)
	}
	if err != nil {
		return &parser.Broken{Pos: pos, Err: err}
	}
	s.columns = columnsDigest(columns, s.in.eol)
	s.keeper, _ = s.records.(keeper)
	return nil
}

// Next fills in the next command, and returns nil; a *parser.Error for a record
// that is refused; io.EOF at the end. Any other error ends the reading: a
// *parser.Broken, or what Wait returned. The last two come again with every
// call. The slices in c are valid until the next call.
func (s *Source) Next(c *parser.Command) error {
	if s.err != nil {
		return s.err
	}
	if s.mapping != nil && s.take(c) {
		if s.opt.KeepSource {
			c.Src = s.src
		}
		return nil
	}
	for s.n < s.last {
		err := s.read(c)
		if s.from != nil {
			err = s.arrive(err)
		}
		switch err.(type) {
		case nil, *parser.Error:
			if s.n > s.opt.Skip {
				if s.opt.KeepSource {
					s.keepSource(c, err)
				}
				return err
			}
		default:
			if err != errNoCommand && (err != io.EOF || !s.nextFile()) {
				return s.end(err)
			}
		}
	}
	return s.end(io.EOF)
}

// read reads the next record of the file at hand and fills in its first
// command, unless the record is left out.
func (s *Source) read(c *parser.Command) error {
	if err := s.begin(); err != nil {
		return err
	}
	s.start = s.in.place
	if s.records != nil {
		return s.readRecord(c)
	}
	if err := s.commands.Next(c); err != nil {
		return s.refused(err)
	}
	s.count(c.Pos)
	if s.n <= s.opt.Skip {
		return nil
	}
	if err := s.in.check(c.Pos); err != nil {
		return &parser.Error{Pos: c.Pos, Err: err}
	}
	c.File, c.N, c.Index, c.Last = s.file, s.n, 0, true
	c.Op = s.ops.Find(c.Args)
	if err := s.guard.check(c.Op, c.Args); err != nil {
		return &parser.Error{Pos: c.Pos, Err: err}
	}
	return nil
}

// errNoCommand says that a record makes no command, as --missing skip lets it.
var errNoCommand = errors.New("no command")

// readRecord is read for a format with columns.
func (s *Source) readRecord(c *parser.Command) error {
	if err := s.records.Read(&s.rec); err != nil {
		return s.refused(err)
	}
	s.count(s.rec.Pos)
	if s.n <= s.opt.Skip {
		s.mapping.passOver(&s.rec, s.format, s.n)
		return nil
	}
	err := s.in.check(s.pos)
	if err == nil {
		err = s.expand()
	}
	if err != nil {
		s.mapping.drop()
		return &parser.Error{Pos: s.pos, Err: err}
	}
	if !s.take(c) {
		return errNoCommand
	}
	return nil
}

// expand makes all commands of the record at hand. Where one of them is
// refused, they all are.
func (s *Source) expand() error {
	if err := s.mapping.expand(&s.rec, s.format, s.n); err != nil {
		return err
	}
	before := s.guard
	for i := range s.mapping.ends {
		if err := s.guard.check(s.mapping.command(i)); err != nil {
			s.guard = before
			return err
		}
	}
	return nil
}

// take fills in the next command of the record at hand; false if there are no
// more.
func (s *Source) take(c *parser.Command) bool {
	if !s.mapping.take(c) {
		return false
	}
	c.Pos, c.File, c.N = s.pos, s.file, s.n
	return true
}

// refused takes note of a record that its reader has refused. Other errors it
// passes on.
func (s *Source) refused(err error) error {
	if bad, ok := err.(*parser.Error); ok {
		s.count(bad.Pos)
		s.guard.suspect(bad.Err, bad.Pos.Line)
	}
	return err
}

// count takes note of a record that has been read at pos.
func (s *Source) count(pos parser.Pos) {
	s.n++
	s.pos, s.behind = pos, false
}

// nextFile goes to the next file; false if there is none.
func (s *Source) nextFile() bool {
	if s.file+1 == len(s.files) {
		return false
	}
	s.keepHead()
	s.file++
	s.begun = false
	return true
}

// end ends the reading.
func (s *Source) end(err error) error {
	s.err = err
	s.pos, s.behind = s.in.Pos(), true
	if err != io.EOF || s.beginErr != nil {
		s.pos.Offset, s.pos.Line = s.start.offset, s.start.line
	}
	return err
}
