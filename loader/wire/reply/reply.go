// Package reply turns the bytes that a server sends on a connection into what
// the engine is told: how many of the commands in flight are answered, and which
// replies are errors. It does no I/O and knows no command: a reply belongs to
// the command that has waited longest.
package reply

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"respipe/parser"
)

// ErrUnexpected is wrapped by the error for bytes that no command in flight is
// owed: which reply belongs to which command is not known any more.
var ErrUnexpected = errors.New("a reply that no command is owed")

// Error is an error reply, or a null array, which is how a transaction answers
// that did not run.
type Error struct {
	Index   int    // of the reply, among those of the same Read
	Element int    // of an array reply; -1: the reply itself is the error
	Text    []byte // without the '-' and the line end, up to 4 KiB; nil for a null array
}

// KeepAll as Reader.Keep keeps replies whole.
const KeepAll = math.MaxInt

// Reader reads the replies of one connection. The zero value is ready.
type Reader struct {
	// Keep is how many bytes of each reply Kept gets, line ends included; 0 for
	// none.
	Keep int

	// Errors, Kept and Ends are what the last Read has found, and are valid until
	// the next one. Kept holds the replies one behind the other, reply i ending at
	// Ends[i]. The beginning of a reply that is not complete stays in Kept.
	Errors []Error
	Kept   []byte
	Ends   []int

	scan    parser.ReplyScanner
	element []Error // of the reply that is not complete
	texts   []byte  // of Errors; those of element are their own
}

// Inside reports whether a reply has begun and not ended.
func (r *Reader) Inside() bool { return r.scan.Inside() }

// Read takes b, all that one read of the socket has brought, and returns how many
// replies are complete with it. Due is how many are owed. The error wraps
// parser.ErrNotRESP or ErrUnexpected and is final; the replies before it count.
func (r *Reader) Read(b []byte, due int) (replies int, err error) {
	r.forget()
	for len(b) > 0 {
		if replies == due {
			return replies, unexpected(b)
		}
		if r.Keep == 0 && !r.scan.Inside() {
			n, plain := skipPlain(b, due-replies)
			b, replies = b[n:], replies+plain
			if plain > 0 {
				continue
			}
		}
		n, done, err := r.one(b, replies)
		b = b[n:]
		if err != nil {
			return replies, err
		}
		if done {
			replies++
		}
	}
	return replies, nil
}

// forget drops what the last Read has found.
func (r *Reader) forget() {
	r.Errors, r.texts = r.Errors[:0], r.texts[:0]
	if n := len(r.Ends); n > 0 {
		r.Kept = append(r.Kept[:0], r.Kept[r.Ends[n-1]:]...)
		r.Ends = r.Ends[:0]
	}
}

// one reads on in a reply, which is number index of this Read.
func (r *Reader) one(b []byte, index int) (n int, done bool, err error) {
	for {
		k, event, err := r.scan.Scan(b[n:])
		if err != nil {
			return n, false, err
		}
		r.keep(b[n : n+k])
		n += k
		switch event {
		case parser.More:
			return n, false, nil
		case parser.Element:
			r.element = append(r.element, Error{Element: r.scan.Index, Text: bytes.Clone(r.scan.Text)})
		case parser.Done:
			r.complete(index)
			return n, true, nil
		}
	}
}

// complete notes that a reply is complete.
func (r *Reader) complete(index int) {
	switch {
	case r.scan.Kind == '-':
		r.Errors = append(r.Errors, Error{index, -1, r.copyText(r.scan.Text)})
	case r.scan.Kind == '*' && r.scan.Nil:
		r.Errors = append(r.Errors, Error{index, -1, nil})
	}
	for _, e := range r.element {
		e.Index = index
		r.Errors = append(r.Errors, e)
	}
	r.element = r.element[:0]
	if r.Keep > 0 {
		r.Ends = append(r.Ends, len(r.Kept))
	}
}

// copyText copies the text of an error, unless it says what the last one said: a
// flood of one error costs no memory for its words.
func (r *Reader) copyText(text []byte) []byte {
	if n := len(r.Errors); n > 0 && r.Errors[n-1].Text != nil && bytes.Equal(r.Errors[n-1].Text, text) {
		return r.Errors[n-1].Text
	}
	if cap(r.texts)-len(r.texts) < len(text) {
		r.texts = make([]byte, 0, max(2*cap(r.texts), len(text), 1<<10)) // the old one belongs to the errors before
	}
	from := len(r.texts)
	r.texts = append(r.texts, text...)
	return r.texts[from:len(r.texts):len(r.texts)]
}

// keep keeps bytes of the reply that is being read.
func (r *Reader) keep(b []byte) {
	if r.Keep == 0 {
		return
	}
	from := 0
	if n := len(r.Ends); n > 0 {
		from = r.Ends[n-1]
	}
	room := r.Keep - (len(r.Kept) - from)
	r.Kept = append(r.Kept, b[:min(len(b), max(room, 0))]...)
}

var queued = []byte("+QUEUED\r\n")

// skipPlain passes over replies that are no errors and hold none, at most limit
// of them: those that parser.SkipPlain knows, and the answers inside of a
// transaction.
func skipPlain(b []byte, limit int) (n, replies int) {
	for replies < limit {
		k, plain := parser.SkipPlain(b[n:], limit-replies)
		n, replies = n+k, replies+plain
		before := replies
		for replies < limit && bytes.HasPrefix(b[n:], queued) {
			n, replies = n+len(queued), replies+1
		}
		if plain == 0 && replies == before {
			break
		}
	}
	return n, replies
}

func unexpected(b []byte) error {
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	return fmt.Errorf("%w: %.200q", ErrUnexpected, line)
}
