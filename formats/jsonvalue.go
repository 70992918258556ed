package formats

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// What follows is for source text that is right.

// appendCompact appends source text without the blanks between its tokens.
func appendCompact(dst, text []byte) []byte {
	for len(text) > 0 {
		size := 1
		if text[0] == '"' {
			size = stringSize(text)
		}
		if !isBlank(text[0]) {
			dst = append(dst, text[:size]...)
		}
		text = text[size:]
	}
	return dst
}

// stringSize returns the size of the string that text begins with.
func stringSize(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
}

// unquote returns the text of a string, behind scratch if it has escapes.
func unquote(scratch, text []byte) (outScratch, value []byte) {
	if bytes.IndexByte(text, '\\') < 0 {
		end := len(text) - 1
		return scratch, text[1:end:end]
	}
	from := len(scratch)
	scratch, _ = jsontext.AppendUnquote(scratch, text)
	return scratch, scratch[from:len(scratch):len(scratch)]
}

// jsonItems goes through what an array or an object holds: values, or names and
// values in turn.
type jsonItems struct {
	text []byte // what is left of it, from inside of its brackets on
}

// items returns the items of a value; of one that is no array and no object,
// none.
func items(value []byte) jsonItems {
	if value[0] != '{' && value[0] != '[' {
		return jsonItems{}
	}
	return jsonItems{value[1 : len(value)-1]}
}

// next returns the next item, nil behind the last one.
func (it *jsonItems) next() []byte {
	from := 0
	for from < len(it.text) && !startsValue(it.text[from]) {
		from++
	}
	if from == len(it.text) {
		return nil
	}
	end := from + valueSize(it.text[from:])
	item := it.text[from:end:end]
	it.text = it.text[end:]
	return item
}

// startsValue reports whether c stands neither before nor between values.
func startsValue(c byte) bool { return c != ',' && c != ':' && !isBlank(c) }

// valueSize returns the size of the value that text begins with.
func valueSize(text []byte) int {
	size := 0
	for depth := 0; size < len(text); {
		switch c := text[size]; {
		case c == '"':
			size += stringSize(text[size:])
		case c == '{' || c == '[':
			depth++
			size++
		case c == '}' || c == ']':
			depth--
			size++
		case depth > 0:
			size++
			continue
		default:
			for size < len(text) && startsValue(text[size]) {
				size++
			}
		}
		if depth == 0 {
			return size
		}
	}
	return size
}
