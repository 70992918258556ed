package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"respipe/parser"
)

// seek goes to the next value. The error is io.EOF, a *parser.Broken where an
// array does not go on as it must, or one of Fill.
func (r *jsonReader) seek() error {
	if r.passing {
		if err := r.passLines(); err != nil {
			return err
		}
	}
	for {
		c, err := r.skipBlanks()
		switch {
		case err == io.EOF && r.inArray:
			return r.broken(errUnfinished)
		case err != nil:
			return err
		case r.due:
			r.due = false
			return nil
		case r.inArray && c == ']':
			r.in.Skip(1, 0)
			r.inArray, r.mayOpen = false, true
			continue
		case r.inArray:
			return r.seekElement(c)
		case c != '[' || !r.mayOpen:
			return nil
		}
		if opens, err := r.opensArray(); err != nil || !opens {
			return err
		}
		r.opened = r.in.line
		r.in.Skip(1, 0)
		r.inArray, r.first = true, true
	}
}

// seekElement goes to the next element of the array, past the comma before it
// if c is one.
func (r *jsonReader) seekElement(c byte) error {
	if r.first {
		return nil
	}
	if c != ',' {
		return r.broken(errors.New("a comma or the end of the array is due"))
	}
	r.in.Skip(1, 0)
	if _, err := r.skipBlanks(); err == io.EOF {
		return r.broken(errUnfinished)
	} else {
		return err
	}
}

// skipBlanks goes to the next byte that is not blank, and returns it. Its
// errors are those of Fill.
func (r *jsonReader) skipBlanks() (byte, error) {
	for {
		b := r.in.Bytes()
		n, lines := 0, 0
		for n < len(b) && isBlank(b[n]) {
			if b[n] == '\n' {
				lines++
			}
			n++
		}
		r.in.Skip(n, lines)
		if n < len(b) {
			return b[n], nil
		}
		if err := r.in.Fill(); err != nil {
			return 0, err
		}
	}
}

// isBlank reports whether c may stand between the tokens of JSON.
func isBlank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

// opensArray reports whether the array at hand holds objects, or nothing, as
// one does that is a file. Any other is a value as it stands. Its errors are
// those of Fill.
func (r *jsonReader) opensArray() (bool, error) {
	for n := 1; ; {
		b := r.in.Bytes()
		for n < len(b) && isBlank(b[n]) {
			n++
		}
		if n < len(b) {
			return b[n] == '{' || b[n] == ']', nil
		}
		if n > r.max {
			return false, nil
		}
		if err := r.in.Fill(); err == io.EOF {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
}

// passLines goes to the next line that begins with {, as what follows a refused
// line may be the rest of it. Its errors are those of Fill.
func (r *jsonReader) passLines() error {
	pos, passed := r.in.Pos(), 0
	for len(r.in.Bytes()) == 0 || r.in.Bytes()[0] != '{' {
		if len(r.in.Bytes()) == 0 {
			if err := r.in.Fill(); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			continue
		}
		line, err := r.in.Line(lineCheck)
		if err != nil && err != errTooLong {
			return err
		}
		if err == errTooLong || len(bytes.TrimSpace(line)) > 0 {
			passed++
		}
	}
	r.passing = false
	if passed > 0 {
		r.opt.note(pos, fmt.Sprintf("lines passed over behind a bad one, as they do not begin with {: %d", passed))
	}
	return nil
}

// passValue skips an object or array that is too long to be looked at, in
// bounded memory, for which jsontext would keep each string whole. Its errors are
// those of Fill.
func (r *jsonReader) passValue() error {
	depth, inText, escaped := 0, false, false
	for {
		b := r.in.Bytes()
		for i, c := range b {
			switch {
			case escaped:
				escaped = false
			case inText:
				escaped, inText = c == '\\', c != '"'
			case c == '"':
				inText = true
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
			}
			if depth == 0 && !inText {
				r.in.Skip(i+1, bytes.Count(b[:i+1], lf))
				return nil
			}
		}
		r.in.Skip(len(b), bytes.Count(b, lf))
		if err := r.in.Fill(); err != nil {
			return err
		}
	}
}

// broken says that reading cannot go on from here.
func (r *jsonReader) broken(err error) error {
	return &parser.Broken{Pos: r.in.Pos(), Err: err}
}
