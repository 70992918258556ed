package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"respipe/parser"
)

var errOpenField = errors.New("a quote is left open")

// csvSpan is the place of a field, without its quotes.
type csvSpan struct {
	from, to int // relative to the start of the record
	quoted   bool
	changed  bool // quotes are doubled in it, or bytes escaped
}

// csvScan finds the fields of one record after another. All its places are
// relative to the start of the record, so that it can go on behind a Fill.
type csvScan struct {
	in     *Input
	delim  []byte
	escape byte      // makes the next byte plain; 0 for none
	max    int       // of a record, in bytes
	keep   int       // fields whose spans are kept; 0: all
	spans  []csvSpan // of the record at hand

	at     int // all before it is done
	fields int // all before at
	field  csvSpan
	loose  int // what stands before it is no part of a delimiter
	match  int // bytes of a delimiter behind a closing quote

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
	unquotedEscape // behind an escape character
	quoted
	quotedEscape
	quoteSeen // in quotes, behind one: it closes or doubles
	delimSeen // behind a closing quote and a piece of a delimiter
	crSeen    // behind a closing quote and a CR
	done
)

// record scans the record at hand, which may be an empty line. It does not skip
// it, unless it is bad: then the error is a *parser.Error and the input stands
// at the line behind the one where it began. Other errors are those of Fill.
func (s *csvScan) record() (row, error) {
	s.at, s.fields, s.spans = 0, 0, s.spans[:0]
	for state := fieldStart; state != done; {
		b := s.in.Bytes()
		if len(b)-1 > s.max { // its line end may be one more
			b = b[:s.max+1]
		}
		if s.at == len(b) {
			if s.at > s.max {
				return row{}, s.refuse(s.tooLong(state))
			}
			err := s.in.Fill()
			if err == io.EOF {
				return s.last(state)
			} else if err != nil {
				return row{}, err
			}
			continue
		}
		var err error
		if state, err = s.step(state, b); err != nil {
			return row{}, s.refuse(err)
		}
	}
	b := s.in.Bytes()[:s.at]
	return row{text: chomp(b[:s.at-1]), size: s.at, lines: s.in.lineEnds(b), fields: s.fields}, nil
}

// step goes on at b[s.at], which is there.
func (s *csvScan) step(state csvState, b []byte) (csvState, error) {
	switch state {
	case fieldStart:
		s.loose = s.at
		s.field = csvSpan{from: s.at}
		if b[s.at] != '"' {
			return unquoted, nil
		}
		s.at++
		s.field = csvSpan{from: s.at, quoted: true}
		return quoted, nil
	case unquoted:
		return s.inText(b), nil
	case unquotedEscape:
		return s.escaped(b[s.at], unquoted), nil
	case quotedEscape:
		return s.escaped(b[s.at], quoted), nil
	case quoted:
		return s.inQuotes(b)
	case quoteSeen:
		return s.behindQuote(b[s.at])
	case delimSeen:
		return s.inDelimiter(b[s.at])
	}
	if b[s.at] != '\n' {
		return state, s.textBehind()
	}
	s.at++
	return done, nil
}

// inText goes to the end of an unquoted field.
func (s *csvScan) inText(b []byte) csvState {
	eol, last, escape := s.in.eol, s.delim[len(s.delim)-1], s.escape
	for i := s.at; i < len(b); i++ {
		switch c := b[i]; {
		case c == last && (len(s.delim) == 1 || bytes.HasSuffix(b[s.loose:i+1], s.delim)):
			s.at = i + 1
			s.end(s.at - len(s.delim))
			return fieldStart
		case c == eol:
			s.end(s.field.from + len(chomp(b[s.field.from:i])))
			s.at = i + 1
			return done
		case c == escape && escape != 0:
			s.at = i + 1
			return unquotedEscape
		}
	}
	s.at = len(b)
	return unquoted
}

// escaped passes over c behind an escape character, if that makes it plain, and
// goes on with state. It leaves line ends: they end an unquoted field whatever
// stands before them, and are plain in quotes anyway.
func (s *csvScan) escaped(c byte, state csvState) csvState {
	s.field.changed = true
	if s.escapable(c) && c != '\r' && c != '\n' {
		s.at++
		s.loose = s.at
	}
	return state
}

// escapable reports whether an escape character makes c plain. Before any other
// byte it is one itself.
func (s *csvScan) escapable(c byte) bool {
	return c == '"' || c == s.escape || c == s.delim[0] || c == '\r' || c == '\n'
}

// escapes reports whether there is an escape character in line.
func (s *csvScan) escapes(line []byte) bool {
	return s.escape != 0 && bytes.IndexByte(line, s.escape) >= 0
}

// inQuotes goes behind the next quote or escape character.
func (s *csvScan) inQuotes(b []byte) (csvState, error) {
	rest := b[s.at:]
	i := 0
	if s.escape == 0 {
		i = bytes.IndexByte(rest, '"')
	} else {
		i = slices.IndexFunc(rest, func(c byte) bool { return c == '"' || c == s.escape })
	}
	if i >= 0 {
		rest = rest[:i]
	}
	if left := s.breach - s.in.offset - int64(s.at); left > 0 {
		if j := bytes.IndexByte(rest, s.in.eol); 0 <= j && int64(j) < left {
			return quoted, s.cause
		}
	}
	if i < 0 {
		s.at = len(b)
		return quoted, nil
	}
	s.at += i + 1
	if b[s.at-1] == '"' {
		return quoteSeen, nil
	}
	return quotedEscape, nil
}

// behindQuote looks whether a quote closes the field. c stands behind it.
func (s *csvScan) behindQuote(c byte) (csvState, error) {
	switch c {
	case '"':
		s.at++
		s.field.changed = true
		return quoted, nil
	case s.delim[0]:
		s.end(s.at - 1)
		s.match = 0
		return s.inDelimiter(c)
	case s.in.eol, '\r':
		s.end(s.at - 1)
		s.at++
		if c == s.in.eol {
			return done, nil
		}
		return crSeen, nil
	}
	return quoteSeen, s.textBehind()
}

// inDelimiter compares the next byte of a delimiter behind a closing quote.
func (s *csvScan) inDelimiter(c byte) (csvState, error) {
	if c != s.delim[s.match] {
		return delimSeen, s.textBehind()
	}
	s.at++
	if s.match++; s.match < len(s.delim) {
		return delimSeen, nil
	}
	return fieldStart, nil
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
func (s *csvScan) last(state csvState) (row, error) {
	b := s.in.Bytes()
	if len(b) == 0 {
		return row{}, io.EOF
	}
	text := chomp(b)
	switch state {
	case quoted, quotedEscape:
		return row{}, s.refuse(s.open("to the end of the file"))
	case delimSeen:
		return row{}, s.refuse(s.textBehind())
	case fieldStart:
		s.field = csvSpan{from: len(b)}
		s.end(len(text))
	case unquoted, unquotedEscape:
		s.end(len(text))
	case quoteSeen:
		s.end(len(text) - 1)
	}
	return row{text: text, size: len(b), lines: s.in.lineEnds(b), fields: s.fields}, nil
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
	if state == quoted || state == quotedEscape {
		return s.open("for " + errTooLong.Error())
	}
	return errTooLong
}

// line is the line of a place.
func (s *csvScan) line(at int) int {
	return s.in.line + s.in.lineEnds(s.in.Bytes()[:at])
}

// refuse goes to the line behind the one where the record began.
func (s *csvScan) refuse(err error) error {
	pos := s.in.Pos()
	if end := pos.Offset + int64(s.at); end > s.breach {
		s.breach, s.cause = end, err
	}
	if _, err := s.in.Line(s.max); err != nil && err != errTooLong {
		return err
	}
	return &parser.Error{Pos: pos, Err: err}
}
