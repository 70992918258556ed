package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"respipe/parser"
)

const (
	keptSize = 1 << 20  // bytes; a longer buffer for a long record is let go
	hugeSize = 64 << 20 // bytes; what a longer one has grown out of is given back at once
)

// errTooLong says that a line is longer than it may be. Behind the error the
// input stands at the next line.
var errTooLong = errors.New("longer than --max-record allows")

// Input is the bytes of one file after another, as a reader of records sees
// them. It keeps what is not read yet in one piece: a record that is cut by the
// end of a chunk is put together by Fill. Where text is decoded, it is UTF-8, with
// the byte invalid in it for what is none. It is used by one goroutine.
type Input struct {
	feed *feed
	wait parser.Wait

	name  string // of the file at hand
	place        // of the first unread byte

	buf   []byte // the bytes at hand; the unread ones begin at pos
	pos   int
	low   int64  // offset of the first byte in buf that is of the file
	chunk []byte // the chunk that buf is a view into; nil if buf is a buffer of its own
	own   []byte // such a buffer, kept for the next long record
	head  []byte // the first bytes of the file, as many as it has room for

	eol byte     // ends a line: LF, and CR in some tables
	set *charset // of the file, where its text is decoded; else nil

	err error // io.EOF at the end of the file; any other is there to stay
}

// place is a place in a file, as in parser.Pos.
type place struct {
	line   int
	offset int64
}

// begin goes to the next file.
func (in *Input) begin(name string) {
	in.name, in.line, in.offset, in.low = name, 1, 0, 0
	in.eol, in.set, in.head = '\n', nil, nil
	if in.err == io.EOF {
		in.err = nil
	}
}

// Bytes returns what is at hand and not read yet, which may be nothing. It is
// valid until the next Fill.
func (in *Input) Bytes() []byte { return in.buf[in.pos:] }

// Pos is the place of the first unread byte.
func (in *Input) Pos() parser.Pos {
	return parser.Pos{File: in.name, Line: in.line, Offset: in.offset}
}

// Skip marks the first n bytes at hand as read. They hold lines line ends.
func (in *Input) Skip(n, lines int) {
	in.pos += n
	in.offset += int64(n)
	in.line += lines
}

// Fill waits for more of the file, and puts it behind what is at hand. What
// Bytes returned before is invalid then. At the end of the file the error is
// io.EOF; any other comes again with every call: that of Wait as it is, that of
// the file as a *parser.Broken at the first unread byte.
func (in *Input) Fill() error {
	if in.err != nil {
		return in.err
	}
	chunk, ok, err := in.wait(in.feed.ready)
	switch {
	case err != nil:
		in.err = err
	case !ok && in.feed.err != nil:
		in.err = &parser.Broken{Pos: in.Pos(), Err: in.feed.err}
	case !ok || len(chunk) == 0:
		in.err = io.EOF
	default:
		in.join(chunk)
	}
	return in.err
}

// join puts the data of a chunk behind the unread bytes: in the room before
// the data where they fit, else in a buffer of their own.
func (in *Input) join(chunk []byte) {
	if n := cap(in.head) - len(in.head); n > 0 {
		in.head = append(in.head, chunk[room:min(room+n, len(chunk))]...)
	}
	in.low = in.offset
	rest := in.buf[in.pos:]
	if len(rest) <= room {
		in.pos = room - len(rest)
		copy(chunk[in.pos:], rest)
		in.release()
		in.buf, in.chunk = chunk, chunk
		return
	}
	own := in.buf
	switch {
	case in.chunk != nil:
		own = append(in.own[:0], rest...)
		in.release()
	case in.pos > 0:
		own = own[:copy(own, rest)]
	}
	grows := len(own)+len(chunk)-room > cap(own)
	in.buf, in.pos = append(own, chunk[room:]...), 0
	if grows && cap(in.buf) > hugeSize {
		debug.FreeOSMemory() // or every size that the buffer had stays resident
	}
	in.feed.free <- chunk
}

// release gives the chunk at hand back, or keeps the buffer for the next long
// record.
func (in *Input) release() {
	switch {
	case in.chunk != nil:
		in.feed.free <- in.chunk
	case cap(in.buf) <= keptSize:
		in.own = in.buf
	default:
		in.own = nil
	}
	in.chunk = nil
}

// Line reads the next line and returns it without its line end, LF or CRLF. It
// is valid until the next Fill. A line of more than limit bytes is passed over
// and errTooLong. Other errors are those of Fill.
func (in *Input) Line(limit int) ([]byte, error) {
	b := in.Bytes()
	if i := bytes.IndexByte(b, in.eol); 0 <= i && i <= limit {
		in.Skip(i+1, 1)
		return chomp(b[:i]), nil
	}
	return in.longLine(limit)
}

// longLine is Line for a line that is cut off, or too long.
func (in *Input) longLine(limit int) ([]byte, error) {
	for seen := 0; ; {
		b := in.Bytes()
		i := bytes.IndexByte(b[seen:], in.eol)
		if i < 0 {
			seen = len(b)
		} else {
			seen += i
		}
		if seen > limit {
			return nil, in.passLine()
		}
		if i >= 0 {
			in.Skip(seen+1, 1)
			return chomp(b[:seen]), nil
		}
		if err := in.Fill(); err == io.EOF && seen > 0 {
			in.Skip(seen, 0)
			return chomp(b), nil
		} else if err != nil {
			return nil, err
		}
	}
}

// passLine skips the rest of the line, in bounded memory. It returns
// errTooLong, or an error of Fill that is not the end of the file.
func (in *Input) passLine() error {
	if err := in.skipLine(); err != nil {
		return err
	}
	return errTooLong
}

// skipLine skips all up to and with the next line end, or to the end of the
// file.
func (in *Input) skipLine() error {
	for {
		b := in.Bytes()
		if i := bytes.IndexByte(b, in.eol); i >= 0 {
			in.Skip(i+1, 1)
			return nil
		}
		in.Skip(len(b), 0)
		if err := in.Fill(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// discard skips n bytes, in bounded memory. Its errors are those of Fill.
func (in *Input) discard(n int64) error {
	for {
		b := in.Bytes()
		b = b[:min(int64(len(b)), n)]
		in.Skip(len(b), in.lineEnds(b))
		n -= int64(len(b))
		if n == 0 {
			return nil
		}
		if err := in.Fill(); err != nil {
			return err
		}
	}
}

// discardAll skips the rest of the file, in bounded memory. Its errors are those
// of Fill.
func (in *Input) discardAll() error {
	for {
		b := in.Bytes()
		in.Skip(len(b), in.lineEnds(b))
		if err := in.Fill(); err != nil {
			return err
		}
	}
}

var lf, cr = []byte{'\n'}, []byte{'\r'}

// lineEnds counts the line ends in b.
func (in *Input) lineEnds(b []byte) int {
	if in.eol == '\r' {
		return bytes.Count(b, cr)
	}
	return bytes.Count(b, lf)
}

// check looks whether the record that was read at pos is valid in the encoding
// of the file.
func (in *Input) check(pos parser.Pos) error {
	if in.set == nil {
		return nil
	}
	return in.checkText(in.since(pos))
}

// since returns what has been read since pos; nil if it is not at hand any
// more.
func (in *Input) since(pos parser.Pos) []byte {
	if pos.Offset < in.low {
		return nil
	}
	return in.buf[in.pos-int(in.offset-pos.Offset) : in.pos]
}

// checkText looks whether text is valid in the encoding of the file.
func (in *Input) checkText(text []byte) error {
	if in.set == nil || bytes.IndexByte(text, invalid) < 0 {
		return nil
	}
	return fmt.Errorf("not valid %s", in.set.name)
}

// chomp returns line without the CR it may end in.
func chomp(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}
