package formats

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

const (
	// deepest is how deep values of a record may be nested.
	deepest = 1000
	// fewNames is how many names of one object are compared each with each; more
	// of them are sorted.
	fewNames = 32
)

// jsonScan reads an object that lies whole in a buffer. It takes only what is
// right to the last byte; what is wrong with any other, jsontext tells.
type jsonScan struct {
	buf     []byte
	members []jsonMember
	names   [][]byte // of all objects that are open, with their quotes
	escaped bool     // there is an escape in the last string
	doubt   bool     // there is one in a name, so whether it is there twice is not known
}

// jsonMember is a member of the object, as source text.
type jsonMember struct {
	name  []byte // with its quotes
	value []byte
	plain bool // the name has no escapes
}

// object scans the object that b begins with and returns its size; -1 if there
// is none. The members are views into b. With doubt, a name may be there twice.
func (s *jsonScan) object(b []byte) int {
	s.buf, s.members, s.names, s.doubt = b, s.members[:0], s.names[:0], false
	if !s.is(0, '{') {
		return -1
	}
	return s.inObject(0, 0)
}

// is reports whether byte i is c.
func (s *jsonScan) is(i int, c byte) bool { return i < len(s.buf) && s.buf[i] == c }

// space returns the index of the first byte from i on that is not blank.
func (s *jsonScan) space(i int) int {
	for i < len(s.buf) && isBlank(s.buf[i]) {
		i++
	}
	return i
}

// inObject returns the index behind the object at i, -1 if it is none. So do
// the methods below for what they are called after.
func (s *jsonScan) inObject(i, depth int) int {
	outer := len(s.names)
	i = s.space(i + 1)
	if s.is(i, '}') {
		return i + 1
	}
	for {
		name := i
		if i = s.name(i, outer); i < 0 {
			return -1
		}
		plain, nameEnd := !s.escaped, i
		if i = s.space(i); !s.is(i, ':') {
			return -1
		}
		value := s.space(i + 1)
		if i = s.value(value, depth+1); i < 0 {
			return -1
		}
		if depth == 0 {
			s.members = append(s.members, jsonMember{s.buf[name:nameEnd:nameEnd], s.buf[value:i:i], plain})
		}
		switch i = s.space(i); {
		case s.is(i, ','):
			i = s.space(i + 1)
		case s.is(i, '}') && s.areUnlike(outer):
			s.names = s.names[:outer]
			return i + 1
		default:
			return -1
		}
	}
}

// name scans the name of a member of the object whose names begin at outer.
func (s *jsonScan) name(i, outer int) int {
	if !s.is(i, '"') {
		return -1
	}
	end := s.text(i)
	if end < 0 {
		return -1
	}
	name := s.buf[i:end]
	s.doubt = s.doubt || s.escaped
	if known := s.names[outer:]; len(known) < fewNames {
		for _, other := range known {
			if string(other) == string(name) {
				return -1
			}
		}
	}
	s.names = append(s.names, name)
	return end
}

// areUnlike reports whether the names from outer on, if they are many, are all
// different. It sorts them.
func (s *jsonScan) areUnlike(outer int) bool {
	names := s.names[outer:]
	if len(names) <= fewNames {
		return true
	}
	slices.SortFunc(names, bytes.Compare)
	for i := range names[1:] {
		if string(names[i]) == string(names[i+1]) {
			return false
		}
	}
	return true
}

func (s *jsonScan) value(i, depth int) int {
	if i >= len(s.buf) || depth > deepest {
		return -1
	}
	switch s.buf[i] {
	case '"':
		return s.text(i)
	case '{':
		return s.inObject(i, depth)
	case '[':
		return s.array(i, depth)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	}
	return s.number(i)
}

func (s *jsonScan) array(i, depth int) int {
	i = s.space(i + 1)
	if s.is(i, ']') {
		return i + 1
	}
	for {
		if i = s.value(i, depth+1); i < 0 {
			return -1
		}
		switch i = s.space(i); {
		case s.is(i, ','):
			i = s.space(i + 1)
		case s.is(i, ']'):
			return i + 1
		default:
			return -1
		}
	}
}

func (s *jsonScan) word(i int, word string) int {
	if end := i + len(word); end <= len(s.buf) && string(s.buf[i:end]) == word {
		return end
	}
	return -1
}

func (s *jsonScan) number(i int) int {
	if s.is(i, '-') {
		i++
	}
	if s.is(i, '0') {
		i++
	} else if i = s.digits(i); i < 0 {
		return -1
	}
	if s.is(i, '.') {
		if i = s.digits(i + 1); i < 0 {
			return -1
		}
	}
	if s.is(i, 'e') || s.is(i, 'E') {
		if i++; s.is(i, '+') || s.is(i, '-') {
			i++
		}
		i = s.digits(i)
	}
	return i
}

// digits scans one digit or more.
func (s *jsonScan) digits(i int) int {
	from := i
	for i < len(s.buf) && isDigit(s.buf[i]) {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// text scans a string.
func (s *jsonScan) text(i int) int {
	s.escaped = false
	from, ascii := i+1, true
	for i = from; i < len(s.buf); {
		switch c := s.buf[i]; {
		case c == '"':
			if !ascii && !utf8.Valid(s.buf[from:i]) {
				return -1
			}
			return i + 1
		case c == '\\':
			n := escapeSize(s.buf[i:])
			if n < 0 {
				return -1
			}
			s.escaped = true
			i += n
		case c < ' ':
			return -1
		default:
			ascii = ascii && c < utf8.RuneSelf
			i++
		}
	}
	return -1
}

// escapeSize returns the size of the escape, or the pair of them, that b begins
// with; -1 if it is none.
func escapeSize(b []byte) int {
	if len(b) < 2 {
		return -1
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	}
	switch unit := unicodeEscape(b); {
	case unit < 0 || 0xDC00 <= unit && unit < 0xE000:
		return -1
	case unit < 0xD800 || 0xE000 <= unit:
		return 6
	}
	if low := unicodeEscape(b[6:]); low < 0xDC00 || 0xE000 <= low {
		return -1
	}
	return 12
}

// unicodeEscape returns the number of \uXXXX, -1 if b does not begin with it.
func unicodeEscape(b []byte) (unit int) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	for _, c := range b[2:6] {
		switch {
		case isDigit(c):
			unit = unit<<4 | int(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			unit = unit<<4 | int(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return unit
}

// isBlank reports whether c may stand between the tokens of JSON.
func isBlank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t'
}
