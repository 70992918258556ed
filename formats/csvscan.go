package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"respipe/parser"
)

var errOpenField = errors.New("a quote is left open")

// csvRecord is a record that stands whole in the buffer.
type csvRecord struct {
	text   []byte // without its line end
	size   int    // with it
	lines  int    // LF bytes in all of it
	fields int
}

// csvSpan is the place of a field, without its quotes.
type csvSpan struct {
	from, to int // relative to the start of the record
	quoted   bool
	doubled  bool // there are doubled quotes in it
}

// csvScan finds the fields of one record after another. All its places are
// relative to the start of the record, so that it can go on behind a Fill.
type csvScan struct {
	in    *Input
	delim byte
	max   int       // of a record, in bytes
	keep  int       // fields whose spans are kept; 0: all
	spans []csvSpan // of the record at hand

	at     int // all before it is done
	fields int // all before at
	field  csvSpan

	// A record whose quotes break is refused, and its lines are read again, one
	// by one. A line before the place of the breach that ends inside of quotes
	// would break there again: it has fallen in step with the record that broke,
	// as that one had a quote open at each line end. So one look at such a line
	// is enough, and a large file with a breach at its end is not read over and
	// over.
	breach int64 // offset of the last one; 0 if there was none
	cause  error
}

// csvState is what the byte at hand can be.
type csvState uint8

const (
	fieldStart csvState = iota
	unquoted
	quoted
	quoteSeen // in quotes, behind one: it closes or doubles
	crSeen    // behind a closing quote and a CR
	done
)

// record scans the record at hand, which may be an empty line. It does not skip
// it, unless it is bad: then the error is a *parser.Error and the input stands
// at the line behind the one where it began. Other errors are those of Fill.
func (s *csvScan) record() (csvRecord, error) {
	s.at, s.fields, s.spans = 0, 0, s.spans[:0]
	for state := fieldStart; state != done; {
		b := s.in.Bytes()
		if len(b)-1 > s.max { // its line end may be one more
			b = b[:s.max+1]
		}
		if s.at == len(b) {
			if s.at > s.max {
				return csvRecord{}, s.refuse(s.tooLong(state))
			}
			err := s.in.Fill()
			if err == io.EOF {
				return s.last(state)
			} else if err != nil {
				return csvRecord{}, err
			}
			continue
		}
		var err error
		if state, err = s.step(state, b); err != nil {
			return csvRecord{}, s.refuse(err)
		}
	}
	b := s.in.Bytes()[:s.at]
	return csvRecord{text: chomp(b[:s.at-1]), size: s.at, lines: bytes.Count(b, lf), fields: s.fields}, nil
}

// step goes on at b[s.at], which is there.
func (s *csvScan) step(state csvState, b []byte) (csvState, error) {
	switch state {
	case fieldStart:
		s.field = csvSpan{from: s.at}
		if b[s.at] != '"' {
			return unquoted, nil
		}
		s.at++
		s.field = csvSpan{from: s.at, quoted: true}
		return quoted, nil
	case unquoted:
		return s.inText(b), nil
	case quoted:
		return s.inQuotes(b)
	case quoteSeen:
		return s.behindQuote(b)
	}
	if b[s.at] != '\n' {
		return state, s.textBehind()
	}
	s.at++
	return done, nil
}

// inText goes to the end of an unquoted field.
func (s *csvScan) inText(b []byte) csvState {
	for ; s.at < len(b); s.at++ {
		switch b[s.at] {
		case s.delim:
			s.end(s.at)
			s.at++
			return fieldStart
		case '\n':
			s.end(s.field.from + len(chomp(b[s.field.from:s.at])))
			s.at++
			return done
		}
	}
	return unquoted
}

// inQuotes goes behind the next quote.
func (s *csvScan) inQuotes(b []byte) (csvState, error) {
	rest := b[s.at:]
	i := bytes.IndexByte(rest, '"')
	if i >= 0 {
		rest = rest[:i]
	}
	if left := s.breach - s.in.offset - int64(s.at); left > 0 {
		if j := bytes.IndexByte(rest, '\n'); 0 <= j && int64(j) < left {
			return quoted, s.cause
		}
	}
	if i < 0 {
		s.at = len(b)
		return quoted, nil
	}
	s.at += i + 1
	return quoteSeen, nil
}

// behindQuote looks whether a quote closes the field.
func (s *csvScan) behindQuote(b []byte) (csvState, error) {
	c := b[s.at]
	if c == '"' {
		s.at++
		s.field.doubled = true
		return quoted, nil
	}
	if c != s.delim && c != '\r' && c != '\n' {
		return quoteSeen, s.textBehind()
	}
	s.end(s.at - 1)
	s.at++
	switch c {
	case s.delim:
		return fieldStart, nil
	case '\r':
		return crSeen, nil
	}
	return done, nil
}

// end notes the end of a field.
func (s *csvScan) end(to int) {
	s.field.to = to
	if s.keep == 0 || s.fields < s.keep {
		s.spans = append(s.spans, s.field)
	}
	s.fields++
}

// last ends the record at the end of the file.
func (s *csvScan) last(state csvState) (csvRecord, error) {
	b := s.in.Bytes()
	if len(b) == 0 {
		return csvRecord{}, io.EOF
	}
	text := chomp(b)
	switch state {
	case quoted:
		return csvRecord{}, s.refuse(s.open("to the end of the file"))
	case fieldStart:
		s.field = csvSpan{from: len(b)}
		s.end(len(text))
	case unquoted:
		s.end(len(text))
	case quoteSeen:
		s.end(len(text) - 1)
	}
	return csvRecord{text: text, size: len(b), lines: bytes.Count(b, lf), fields: s.fields}, nil
}

// textBehind says that something stands behind a closing quote.
func (s *csvScan) textBehind() error {
	return fmt.Errorf("text after a closing quote, in line %d", s.line(s.at))
}

// open says that a quote is not closed in good time.
func (s *csvScan) open(how string) error {
	return fmt.Errorf("%w %s, since line %d", errOpenField, how, s.line(s.field.from))
}

// tooLong says that the record is over the limit.
func (s *csvScan) tooLong(state csvState) error {
	if state == quoted {
		return s.open("for " + errTooLong.Error())
	}
	return errTooLong
}

// line is the line of a place.
func (s *csvScan) line(at int) int {
	return s.in.line + bytes.Count(s.in.Bytes()[:at], lf)
}

// refuse goes to the line behind the one where the record began.
func (s *csvScan) refuse(err error) error {
	pos := s.in.Pos()
	if end := pos.Offset + int64(s.at); end > s.breach {
		s.breach, s.cause = end, err
	}
	if err := s.in.skipLine(); err != nil {
		return err
	}
	return &parser.Error{Pos: pos, Err: err}
}
