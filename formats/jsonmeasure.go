package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// lineCheck is how many bytes behind an object are looked at, to see whether
// its line holds anything but values.
const lineCheck = 64 << 10

// jsonFault says why the value at hand is not right.
type jsonFault struct {
	err error
	at  int // relative to the start of the value
}

func (f *jsonFault) Error() string { return f.err.Error() }

// newFault returns what is wrong with a value by what jsontext says about it,
// or about what stands base bytes behind its start.
func newFault(err error, base int) *jsonFault {
	fault := &jsonFault{err: err, at: base}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		fault.err = reasonOf(syntax)
		fault.at += int(syntax.ByteOffset)
	}
	return fault
}

// reasonOf is what jsontext says, without the texts of the value.
func reasonOf(err *jsontext.SyntacticError) error {
	text := err.Err.Error()
	rest, found := strings.CutPrefix(text, "invalid character ")
	switch char, _ := strconv.QuotedPrefix(rest); {
	case err.Err == jsontext.ErrDuplicateName:
		return fmt.Errorf("the member %.40q is there twice", err.JSONPointer.LastToken())
	case errors.Is(err.Err, io.ErrUnexpectedEOF):
		return errUnfinished
	case strings.HasPrefix(text, "invalid surrogate pair"):
		return errors.New("half a surrogate pair in a string")
	case strings.HasPrefix(text, "invalid escape sequence"):
		return errors.New("invalid escape in a string")
	case found && !isASCII(char): // it may have been cut
		return errors.New("invalid character" + rest[len(char):])
	}
	return err.Err
}

var errUnfinished = errors.New("the JSON is cut off")

// isASCII reports whether a character, in quotes and perhaps escaped, is ASCII.
func isASCII(quoted string) bool {
	text, err := strconv.Unquote(quoted)
	return err == nil && text[0] < utf8.RuneSelf
}

// byGrammar returns a decoder that takes all that is right by grammar, so that
// the end of a value is found even if the value is to be refused.
func byGrammar(r io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// peeker reads an Input and leaves it unread.
type peeker struct {
	in  *Input
	max int   // bytes to be read
	at  int   // bytes read
	err error // of Fill, other than the end of the file, or errTooLong
}

func (p *peeker) Read(dst []byte) (int, error) {
	for {
		b := p.in.Bytes()
		if len(b) > p.max {
			b = b[:p.max]
		}
		if n := copy(dst, b[p.at:]); n > 0 {
			p.at += n
			return n, nil
		}
		p.err = errTooLong
		if p.at < p.max {
			p.err = p.in.Fill()
		}
		if p.err == io.EOF {
			p.err = nil
			return 0, io.EOF
		}
		if p.err != nil {
			return 0, p.err
		}
	}
}

// measure returns the size of the value at hand, which is then whole in the
// buffer, and right by grammar. The error is a *jsonFault, errTooLong, or one
// of Fill.
func (r *jsonReader) measure() (int, error) {
	p := &peeker{in: r.in, max: max(r.max, r.max+1)} // one more, to see that it is too long
	d := byGrammar(p)
	err := d.SkipValue()
	size := int(d.InputOffset())
	switch {
	case p.err != nil:
		return 0, p.err
	case err != nil:
		return 0, newFault(err, 0)
	case size > r.max:
		return 0, errTooLong
	}
	return size, nil
}

// checkLine looks whether the line that the value at hand, of so many bytes,
// begins and ends on goes on with values only, so that it can be refused as a
// whole. A line that is much too long for that is not looked at. Its errors are
// those of measure.
func (r *jsonReader) checkLine(size int) error {
	start := r.in.Pos().Offset
	if start+int64(size) <= r.checked || bytes.IndexByte(r.in.Bytes()[:size], '\n') >= 0 {
		return nil
	}
	rest, whole, err := r.restOfLine(size)
	if err != nil {
		return err
	}
	r.checked = start + int64(size+len(rest))
	if !whole {
		r.looked = r.checked
		return nil
	}
	d := byGrammar(bytes.NewReader(rest))
	for err == nil {
		err = d.SkipValue()
	}
	goesOn := errors.Is(err, io.ErrUnexpectedEOF) && bytes.HasSuffix(rest, lf)
	if err == io.EOF || goesOn {
		return nil
	}
	return newFault(err, size)
}

// restOfLine returns what stands behind so many bytes, up to and with the end
// of the line, or that of the file; whole is false if it is too much. The error
// is one of Fill.
func (r *jsonReader) restOfLine(size int) (rest []byte, whole bool, err error) {
	for seen := 0; ; seen = len(rest) {
		rest = r.in.Bytes()[size:]
		if len(rest) > lineCheck {
			rest = rest[:lineCheck]
		}
		if end := bytes.IndexByte(rest[seen:], '\n'); end >= 0 {
			return rest[:seen+end+1], true, nil
		}
		if len(rest) == lineCheck {
			return rest, false, nil
		}
		if err := r.in.Fill(); err == io.EOF {
			return rest, true, nil
		} else if err != nil {
			return nil, false, err
		}
	}
}
