package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"respipe/parser"
)

// respFormat is commands as they go to the server: arrays of bulk strings.
// Lines of text may stand among them.
var respFormat = Format{
	Name: "resp",
	Exts: []string{".resp"},
	RESP: true,
	Commands: func(in *Input, opt *Options) Commands {
		return newCommandReader(in, opt, true)
	},
}

// What is wrong with a request.
var (
	errCutOff  = errors.New("cut off")
	errWritten = errors.New(`the line end is written out as the four characters \r\n`)
	errNumber  = errors.New("not a number")
	errNull    = errors.New("null, which no command may hold")
	errMissing = errors.New("missing, a request begins in its place")
	errNoBulk  = errors.New("does not begin with $")
	errLength  = errors.New("no line end behind it, so its length is wrong")
)

const (
	listed    = 4096 // arguments that are made room for because a request announces them
	maxDigits = 9    // of a count or length
)

// whole reads a request into r.args that lies whole in b, with CRLF line ends
// and nothing out of the ordinary, and returns its length. It returns 0 for any
// other, which request will look at.
func (r *commandReader) whole(b []byte) int {
	count, i := number(b, 1)
	if count == 0 || count > listed {
		return 0
	}
	args := r.args[:0]
	for ; count > 0; count-- {
		if i >= len(b) || b[i] != '$' {
			return 0
		}
		size, at := number(b, i+1)
		if at == 0 || size > len(b)-at-2 {
			return 0
		}
		end := at + size
		if b[end] != '\r' || b[end+1] != '\n' {
			return 0
		}
		args = append(args, b[at:end:end])
		i = end + 2
	}
	r.args = args
	if i > r.max {
		return 0
	}
	return i
}

// number reads the number and CRLF at b[i:] and returns what is behind them; 0
// if the server would not take it for a number.
func number(b []byte, i int) (n, next int) {
	if i+3 <= len(b) && isDigit(b[i]) && b[i+1] == '\r' && b[i+2] == '\n' {
		return int(b[i] - '0'), i + 3
	}
	start := i
	for i < len(b) && isDigit(b[i]) {
		n = n*10 + int(b[i]-'0')
		i++
	}
	digits := i - start
	if i+2 > len(b) || b[i] != '\r' || b[i+1] != '\n' || digits == 0 || digits > maxDigits || digits > 1 && b[start] == '0' {
		return 0, 0
	}
	return n, i + 2
}

// span is a place relative to the start of a record, which Fill may move.
type span struct{ from, to int }

// request checks the request at hand byte by byte, and reads on where its
// bytes end. One that is over the limit is passed over by its lengths. It
// leaves no arguments if the request has none.
func (r *commandReader) request(c *parser.Command) error {
	q := cursor{in: r.in, at: 1}
	count, err := q.number()
	if err != nil {
		return q.broken(c.Pos, "its count of arguments", err)
	}
	r.spans = r.spans[:0]
	over := false
	for i := 1; i <= count; i++ {
		var size int
		if size, err = q.bulk(); err == nil {
			if over = over || size > r.max-q.at; over {
				err = q.discard(size)
			} else {
				r.spans = append(r.spans, span{q.at, q.at + size})
				err = q.payload(size)
			}
		}
		if err != nil {
			return q.broken(c.Pos, fmt.Sprintf("argument %d of %d", i, count), err)
		}
	}
	if over {
		r.in.Skip(q.at, bytes.Count(r.in.Bytes()[:q.at], lf))
		return &parser.Error{Pos: c.Pos, Err: errTooLong}
	}
	r.take(c, &q)
	return nil
}

// take hands out the request that the cursor has checked.
func (r *commandReader) take(c *parser.Command, q *cursor) {
	b := r.in.Bytes()[:q.at:q.at]
	c.Args = r.args[:0]
	for _, s := range r.spans {
		c.Args = append(c.Args, b[s.from:s.to:s.to])
	}
	r.args = c.Args
	if !q.bare {
		c.Raw = b
	} else if !r.warned {
		r.opt.note(c.Pos, "bare LF line ends in RESP, written anew with CRLF")
		r.warned = true
	}
	r.in.Skip(q.at, bytes.Count(b, lf))
}

// cursor goes over one request step by step. Each step begins at the place
// where the last one ended; where bytes are missing it waits for them.
type cursor struct {
	in   *Input
	at   int  // relative to the first unread byte; all before it is checked
	last int  // size of the last line end
	bare bool // a line ended in LF alone
}

// need waits for n bytes behind the checked ones.
func (q *cursor) need(n int) error {
	for len(q.in.Bytes())-q.at < n {
		if err := q.in.Fill(); err == io.EOF {
			return errCutOff
		} else if err != nil {
			return err
		}
	}
	return nil
}

// peek waits for the next byte.
func (q *cursor) peek() (byte, error) {
	if err := q.need(1); err != nil {
		return 0, err
	}
	return q.in.Bytes()[q.at], nil
}

// number checks a number and its line end. A null, -1, is 0.
func (q *cursor) number() (int, error) {
	null, err := q.literal("-1")
	if err != nil {
		return 0, err
	}
	if null {
		return 0, q.lineEnd(errNumber)
	}
	n, digits := 0, 0
	for {
		c, err := q.peek()
		if err != nil {
			return 0, err
		}
		if !isDigit(c) {
			break
		}
		if digits == maxDigits || digits == 1 && n == 0 {
			return 0, errNumber
		}
		n = n*10 + int(c-'0')
		digits++
		q.at++
	}
	if written, err := q.literal(`\r\n`); err != nil {
		return 0, err
	} else if written && digits > 0 {
		return 0, errWritten
	}
	if digits == 0 {
		return 0, errNumber
	}
	return n, q.lineEnd(errNumber)
}

// literal checks whether text stands next, and goes behind it then.
func (q *cursor) literal(text string) (bool, error) {
	for i := range len(text) {
		if err := q.need(i + 1); err != nil {
			return false, err
		}
		if q.in.Bytes()[q.at+i] != text[i] {
			return false, nil
		}
	}
	q.at += len(text)
	return true, nil
}

// lineEnd checks for CRLF or LF. The error is otherwise, if it is neither.
func (q *cursor) lineEnd(otherwise error) error {
	c, err := q.peek()
	if err != nil {
		return err
	}
	if c == '\n' {
		q.at++
		q.last, q.bare = 1, true
		return nil
	}
	if crlf, err := q.literal("\r\n"); err != nil {
		return err
	} else if !crlf {
		return otherwise
	}
	q.last = 2
	return nil
}

// bulk checks the head of an argument and returns the length of its payload.
func (q *cursor) bulk() (size int, err error) {
	c, err := q.peek()
	switch {
	case err != nil:
		return 0, err
	case c == '*':
		return 0, errMissing
	case c != '$':
		return 0, errNoBulk
	}
	q.at++
	c, err = q.peek()
	if err == nil && c == '-' {
		err = errNull
	}
	if err != nil {
		return 0, err
	}
	return q.number()
}

// payload checks that size bytes and a line end are there.
func (q *cursor) payload(size int) error {
	if err := q.need(size); err != nil {
		return err
	}
	q.at += size
	return q.payloadEnd()
}

// discard is payload for bytes that are not wanted; it lets go of all up to
// them, too.
func (q *cursor) discard(size int) error {
	err := q.in.discard(int64(q.at + size))
	q.at = 0
	if err == io.EOF {
		return errCutOff
	} else if err != nil {
		return err
	}
	return q.payloadEnd()
}

// payloadEnd checks the line end of a payload. It must be of the kind that its
// length has: else a length that is wrong by one would swallow or leave a CR.
func (q *cursor) payloadEnd() error {
	last := q.last
	err := q.lineEnd(errLength)
	if err == nil && q.last != last {
		q.at -= q.last
		return errLength
	}
	return err
}

// broken names what is wrong, and where; an error of the input it passes on.
func (q *cursor) broken(start parser.Pos, what string, err error) error {
	switch err {
	case errCutOff:
		q.at = len(q.in.Bytes())
	case errWritten, errNumber, errNull, errMissing, errNoBulk, errLength:
	default:
		return err
	}
	pos := q.in.Pos()
	line := pos.Line + bytes.Count(q.in.Bytes()[:q.at], lf)
	return &parser.Broken{Pos: start, Err: fmt.Errorf("broken RESP: %s: %w, at line %d, byte %d",
		what, err, line, pos.Offset+int64(q.at))}
}
