package parser

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The replies of RESP2 are read here in two ways. ReplyScanner is for the
// stream of a load: it takes bytes as they come, keeps none of a value, and
// tells where each reply ends and what errors stood in it. ParseReply makes a
// whole value of a small reply. Source: the Redis serialization protocol
// specification.

// ErrNotRESP is wrapped by the errors for bytes that are no RESP2 reply.
var ErrNotRESP = errors.New("not a Redis reply")

const (
	maxReplyText = 4 << 10                               // kept of a status or error reply; the rest is passed over
	maxReplyLine = maxReplyText + len("-") + len("\r\n") // kept of a line that comes in pieces
	maxDepth     = 64                                    // arrays in arrays
)

// Event is what ReplyScanner.Scan has come upon.
type Event uint8

const (
	More    Event = iota // the bytes are used up inside a reply, or there were none
	Done                 // a reply is complete
	Element              // an error among the elements of the reply, which goes on
)

// ReplyScanner finds the replies in a stream of bytes. The zero value is ready.
type ReplyScanner struct {
	// Kind is the first byte of the reply: '+', '-', ':', '$' or '*'.
	Kind byte
	// Nil says that the reply is a null, "$-1" or "*-1".
	Nil bool
	// Text is the text of the reply's '+', ':' or '-' line, or of the last error
	// among its elements, up to 4 KiB of it, valid until the next call. It is
	// empty while the reply has brought neither.
	Text []byte
	// Index is the 0-based index of the element whose error is in Text.
	Index int

	line  []byte // what has come of a line that is not complete
	last  byte   // the last byte that was seen of that line
	skip  int    // bytes of a bulk string, with its line end, still to pass over
	left  []int  // elements to come of each array that is open
	total int    // elements of the outermost array
	done  bool   // the reply ended with the element told of last
}

// Scan reads on in b. It returns how many bytes it used and what it found;
// after Element it must be called again with what is left, even if that is
// nothing, after More with bytes that came later. An error wraps ErrNotRESP
// and is final.
func (s *ReplyScanner) Scan(b []byte) (n int, ev Event, err error) {
	if s.done {
		s.done = false
		return 0, Done, nil
	}
	for n < len(b) {
		if s.skip > 0 {
			k := min(s.skip, len(b)-n)
			if s.skip-k < len(crlf) && !s.endsBulk(b[n:n+k]) {
				return n, More, notRESP(b[n : n+k])
			}
			n += k
			s.skip -= k
			if s.skip == 0 && s.ended() {
				return n, Done, nil
			}
			continue
		}
		line, k, whole, err := s.cutLine(b[n:])
		n += k
		if err != nil || !whole {
			return n, More, err
		}
		ev, err := s.take(line)
		if err != nil || ev != More {
			return n, ev, err
		}
	}
	return n, More, nil
}

// Inside reports whether a reply has begun and not ended.
func (s *ReplyScanner) Inside() bool { return s.skip > 0 || len(s.left) > 0 || len(s.line) > 0 }

// endsBulk reports whether part, the next bytes of a bulk string, has the line
// end where it is due. Part may hold one byte of it.
func (s *ReplyScanner) endsBulk(part []byte) bool {
	for i := max(s.skip-len(crlf), 0); i < len(part); i++ {
		if part[i] != crlf[i-s.skip+len(crlf)] {
			return false
		}
	}
	return true
}

// cutLine takes a line off b, together with what an earlier call kept of it.
func (s *ReplyScanner) cutLine(b []byte) (line []byte, n int, whole bool, err error) {
	end := bytes.IndexByte(b, '\n')
	if end >= 0 && len(s.line) == 0 {
		return b[:end+1], end + 1, true, nil
	}
	n = len(b)
	if end >= 0 {
		n = end + 1
	}
	if len(s.line) == 0 && len(b) > 0 && !isReplyKind(b[0]) {
		return nil, 0, false, notRESP(b) // before more of it is waited for
	}
	s.line = append(s.line, b[:min(n, maxReplyLine-len(s.line))]...)
	if end < 0 {
		s.last = b[n-1]
		return nil, n, false, nil
	}
	if len(s.line) == maxReplyLine { // its own end may have been cut off
		if end > 0 {
			s.last = b[end-1]
		}
		if s.last != '\r' {
			return nil, 0, false, notRESP(s.line)
		}
		copy(s.line[maxReplyLine-len(crlf):], crlf)
	}
	line, s.line = s.line, s.line[:0]
	return line, n, true, nil
}

// take interprets one line with its line end.
func (s *ReplyScanner) take(line []byte) (Event, error) {
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return More, notRESP(line)
	}
	kind, text := line[0], line[1:len(line)-2]
	first := len(s.left) == 0
	if first {
		s.Kind, s.Nil, s.Text = kind, false, nil
	}
	switch kind {
	case '+', ':':
		if kind == ':' && !isIntegerReply(text) {
			return More, notRESP(line)
		}
		if first {
			s.Text = text[:min(len(text), maxReplyText)]
		}
	case '-':
		s.Text = text[:min(len(text), maxReplyText)]
		if len(s.left) == 1 {
			s.Index = s.total - s.left[0]
			s.done = s.ended()
			return Element, nil
		}
	case '$', '*':
		size, ok := parseInt(text)
		if !ok || size < -1 || kind == '*' && len(s.left) == maxDepth {
			return More, notRESP(line)
		}
		if size < 0 {
			s.Nil = s.Nil || first
			break
		}
		if kind == '$' {
			s.skip = size + len(crlf)
			return More, nil
		}
		if first {
			s.total = size
		}
		if size > 0 {
			s.left = append(s.left, size)
			return More, nil
		}
	default:
		return More, notRESP(line)
	}
	if s.ended() {
		return Done, nil
	}
	return More, nil
}

// ended counts one value as complete and reports whether the reply is.
func (s *ReplyScanner) ended() bool {
	for len(s.left) > 0 {
		top := len(s.left) - 1
		if s.left[top]--; s.left[top] > 0 {
			return false
		}
		s.left = s.left[:top]
	}
	return true
}

// SkipPlain passes over the replies "+OK", ":N" and "$-1" at the start of b, at
// most limit of them, and returns how many bytes and replies that were. These
// are most of what a load is answered.
func SkipPlain(b []byte, limit int) (n, replies int) {
	for ; replies < limit; replies++ {
		rest := b[n:]
		switch {
		case len(rest) >= 5 && (string(rest[:5]) == "+OK\r\n" || string(rest[:5]) == "$-1\r\n"):
			n += 5
		case len(rest) >= 4 && rest[0] == ':' && rest[2] == '\r' && rest[3] == '\n' && rest[1]-'0' <= 9:
			n += 4
		case len(rest) >= 4 && rest[0] == ':':
			size := plainInt(rest)
			if size == 0 {
				return n, replies
			}
			n += size
		default:
			return n, replies
		}
	}
	return n, replies
}

// plainInt returns the length of the reply ":N" at the start of b with its line
// end; 0 if it is not whole, or if N has so many digits that it may be out of
// range.
func plainInt(b []byte) int {
	const most = len("123456789012345678")
	end := 1
	for end < len(b) && b[end]-'0' <= 9 {
		end++
	}
	if end == 1 || end > 1+most || len(b) < end+2 || b[end] != '\r' || b[end+1] != '\n' {
		return 0
	}
	return end + 2
}

// Value is a whole reply.
type Value struct {
	Kind  byte    // '+', '-', ':', '$' or '*'
	Nil   bool    // a null
	Text  []byte  // of all kinds but '*'
	Elems []Value // of kind '*'
}

// Err returns the error that the reply is, or nil.
func (v Value) Err() error {
	if v.Kind != '-' {
		return nil
	}
	return errors.New(string(v.Text))
}

// ParseReply reads one reply at the start of b and returns what follows it.
// Texts are views into b. It returns io.ErrUnexpectedEOF when b ends inside the
// reply, and an error that wraps ErrNotRESP when it is none.
func ParseReply(b []byte) (Value, []byte, error) { return parseReply(b, maxDepth) }

func parseReply(b []byte, depth int) (v Value, rest []byte, err error) {
	if len(b) > 0 && !isReplyKind(b[0]) {
		return v, nil, notRESP(b)
	}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return v, nil, io.ErrUnexpectedEOF
	}
	line, rest := b[:end+1], b[end+1:]
	if len(line) < 3 || line[end-1] != '\r' {
		return v, nil, notRESP(line)
	}
	v.Kind, v.Text = line[0], line[1:end-1]
	switch v.Kind {
	case '+', '-':
		return v, rest, nil
	case ':':
		if !isIntegerReply(v.Text) {
			return v, nil, notRESP(line)
		}
		return v, rest, nil
	}
	size, ok := parseInt(v.Text)
	v.Text = nil
	switch {
	case !ok || size < -1 || v.Kind == '*' && depth == 0:
		return v, nil, notRESP(line)
	case size < 0:
		v.Nil = true
		return v, rest, nil
	case v.Kind == '$':
		if behind := rest[min(size, len(rest)):]; !bytes.HasPrefix(crlf, behind[:min(len(crlf), len(behind))]) {
			return v, nil, notRESP(rest)
		} else if len(behind) < len(crlf) {
			return v, nil, io.ErrUnexpectedEOF
		}
		v.Text = rest[:size:size]
		return v, rest[size+len(crlf):], nil
	}
	for range size {
		var elem Value
		if elem, rest, err = parseReply(rest, depth-1); err != nil {
			return v, nil, err
		}
		v.Elems = append(v.Elems, elem)
	}
	return v, rest, nil
}

// isIntegerReply reports whether text is an integer of 64 bits.
func isIntegerReply(text []byte) bool {
	const fits, longest = 18, len("-9223372036854775808")
	if len(text) > longest || !isInteger(text) {
		return false
	}
	if len(text) <= fits {
		return true
	}
	_, err := strconv.ParseInt(string(text), 10, 64)
	return err == nil
}

func isReplyKind(c byte) bool { return c == '+' || c == '-' || c == ':' || c == '$' || c == '*' }

func notRESP(b []byte) error {
	if line, _, found := bytes.Cut(b, crlf); found {
		b = line
	}
	return fmt.Errorf("%w: %.40q", ErrNotRESP, b)
}
