package parser

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// AppendReplyJSON appends to dst what a reply says, as one JSON value on one
// line that is safe to show on a terminal. reply is a reply in RESP2 or RESP3,
// or the beginning of one that was cut; bytes behind it are passed over.
//
//	status, bulk, verbatim       a string, as AppendJSONText writes it
//	integer, double, big number  a number, digit by digit; a string where JSON has no such number
//	error                        {"error":"ERR ..."}
//	array, set, push             an array
//	map                          an array of arrays of two, as its keys may be of any type
//	boolean                      true or false
//	null                         null, whatever its type
//
// Of a reply that was cut there is what stands before that place, in
// {"cut":...}: without a number that may go on, and without the character that
// was cut. The same becomes of a reply that is broken, or nested deeper than
// ReplyScanner takes it.
func AppendReplyJSON(dst, reply []byte) []byte {
	start := len(dst)
	w := replyWriter{dst: dst, rest: reply}
	if w.value(maxDepth) {
		return w.dst
	}
	if len(w.dst) == start {
		w.dst = append(w.dst, "null"...)
	}
	w.dst = slices.Insert(w.dst, start, []byte(`{"cut":`)...)
	return append(w.dst, '}')
}

// replyWriter writes one reply as JSON.
type replyWriter struct {
	dst  []byte
	rest []byte // of the reply
}

// value writes the next value. It returns false where it is not whole; what
// there is of it has been written then, which may be nothing.
func (w *replyWriter) value(depth int) (whole bool) {
	line, rest, whole := bytes.Cut(w.rest, crlf)
	if w.rest = rest; len(line) == 0 {
		return false
	}
	kind, text := line[0], line[1:]
	if kind == '+' || kind == '-' {
		if !whole {
			text = trimCut(bytes.TrimSuffix(text, crlf[:1]))
		}
		w.text(kind, text)
		return whole
	}
	if !whole {
		return false
	}
	switch kind {
	case ':', ',', '(':
		w.number(text)
	case '#':
		return w.boolean(text)
	case '_':
		w.null()
	case '$', '=', '!':
		return w.bulk(kind, text)
	case '*', '~', '>', '%':
		return w.aggregate(kind, text, depth)
	default:
		return false
	}
	return true
}

// text writes a string, or what an error says.
func (w *replyWriter) text(kind byte, text []byte) {
	if kind != '-' && kind != '!' {
		w.dst = AppendJSONText(w.dst, text)
		return
	}
	w.dst = append(w.dst, `{"error":`...)
	w.dst = AppendJSONText(w.dst, text)
	w.dst = append(w.dst, '}')
}

func (w *replyWriter) null() { w.dst = append(w.dst, "null"...) }

func (w *replyWriter) number(text []byte) {
	if isJSONNumber(text) {
		w.dst = append(w.dst, text...)
	} else {
		w.dst = AppendJSONText(w.dst, text) // inf, nan
	}
}

// isJSONNumber reports whether text is a number of JSON: the one value there
// that begins with a minus or a digit. Blanks may stand behind it.
func isJSONNumber(text []byte) bool {
	isDigit := func(c byte) bool { return '0' <= c && c <= '9' }
	return len(text) > 0 && (text[0] == '-' || isDigit(text[0])) && isDigit(text[len(text)-1]) && json.Valid(text)
}

func (w *replyWriter) boolean(text []byte) (whole bool) {
	switch string(text) {
	case "t":
		w.dst = append(w.dst, "true"...)
	case "f":
		w.dst = append(w.dst, "false"...)
	default:
		return false
	}
	return true
}

// bulk writes what tells its length before it comes.
func (w *replyWriter) bulk(kind byte, length []byte) (whole bool) {
	size, ok := parseInt(length)
	switch {
	case !ok || size < -1:
		return false
	case size < 0:
		w.null()
		return true
	}
	text := w.rest[:min(size, len(w.rest))]
	if whole = len(text) == size && bytes.HasPrefix(w.rest[size:], crlf); whole {
		w.rest = w.rest[size+len(crlf):]
	}
	if len(text) < size {
		text = trimCut(text)
	}
	if kind == '=' {
		text = text[min(len("txt:"), len(text)):]
	}
	w.text(kind, text)
	return whole
}

// aggregate writes what has elements.
func (w *replyWriter) aggregate(kind byte, count []byte, depth int) (whole bool) {
	n, ok := parseInt(count)
	switch {
	case !ok || n < -1 || depth == 0:
		return false
	case n < 0:
		w.null()
		return true
	}
	element := func() bool { return w.value(depth - 1) }
	if kind == '%' {
		return w.elements(n, func() bool { return w.elements(2, element) })
	}
	return w.elements(n, element)
}

// elements writes n elements, each by one call, up to the first that is not
// whole.
func (w *replyWriter) elements(n int, element func() (whole bool)) (whole bool) {
	w.dst = append(w.dst, '[')
	whole = true
	for i := 0; i < n && whole; i++ {
		before := len(w.dst)
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		begin := len(w.dst)
		if whole = element(); len(w.dst) == begin {
			w.dst = w.dst[:before] // nothing of it has come
		}
	}
	w.dst = append(w.dst, ']')
	return whole
}

// trimCut returns text without the beginning of a character at its end.
func trimCut(text []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
