package formats

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonItems goes through what an array or an object holds: values, or names and
// values in turn. They are views into the text it was given, with no room
// behind them.
type jsonItems struct {
	text    []byte
	source  bytes.Buffer // text; jsontext reads in this kind of reader, and copies of any other
	decoder jsontext.Decoder
	err     error // what is wrong behind the last item, or with the text at all
}

// enter goes to the first item of the array or object that text begins with.
func (it *jsonItems) enter(text []byte) {
	it.text, it.source = text, *bytes.NewBuffer(text)
	it.decoder.Reset(&it.source)
	_, it.err = it.decoder.ReadToken()
}

// next returns the next item, nil behind the last one. With err it is nil, too.
func (it *jsonItems) next() []byte {
	if it.err != nil {
		return nil
	}
	switch it.decoder.PeekKind() {
	case jsontext.KindEndObject, jsontext.KindEndArray:
		_, it.err = it.decoder.ReadToken()
		return nil
	}
	value, err := it.decoder.ReadValue() // valid until the next call only
	if it.err = err; err != nil {
		return nil
	}
	end := it.size()
	return it.text[end-len(value) : end : end]
}

// size returns the size of what has been read: behind the last item, that of the
// array or object.
func (it *jsonItems) size() int { return int(it.decoder.InputOffset()) }

// What follows is for source text that is right.

// appendCompact appends source text without the blanks between its tokens, which
// stay as they are. That no name is there twice has been seen before.
func appendCompact(dst, text []byte) []byte {
	dst, _ = jsontext.AppendFormat(dst, text, jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true))
	return dst
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
