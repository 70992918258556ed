package formats

import (
	"bytes"

	"respipe/parser"
)

// Text says how the source text of a file, see Options.KeepSource, is written
// down so that it can be read again under the same options.
type Text struct {
	RESP    bool   // as RESP, as the file is
	Decoded bool   // as UTF-8 behind a byte order mark, as the file has another encoding
	Head    []byte // what stands before the first record, with its line end: the header. It is not reused
}

// prefaced is a reader of files in which something stands before the first
// record.
type prefaced interface {
	// preamble returns that, each line with an LF behind it.
	preamble() []byte
}

// Text returns how the source text of the file at hand, that of the last Next,
// is written down.
func (s *Source) Text() Text {
	text := Text{RESP: s.format != nil && s.format.RESP, Decoded: s.in.set != nil}
	if r, ok := s.records.(prefaced); ok {
		text.Head = r.preamble()
	}
	return text
}

// keepSource fills in the source text of the record at hand, which err may have
// refused.
func (s *Source) keepSource(c *parser.Command, err error) {
	s.src = s.in.source(s.pos, s.opt.maxRecord())
	c.Src = s.src
	if bad, ok := err.(*parser.Error); ok {
		bad.Src = s.src
	}
}

// source returns what has been read since pos, but for the last line end. It is
// nil if that is not at hand any more, or longer than max.
func (in *Input) source(pos parser.Pos, max int) []byte {
	text := bytes.TrimSuffix(in.since(pos), []byte{in.eol})
	if len(text) > max {
		return nil
	}
	return text[:len(text):len(text)]
}
