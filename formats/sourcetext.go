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

// Format returns the name of the format of the file at hand, "" before the
// first record.
func (s *Source) Format() string {
	if s.format == nil {
		return ""
	}
	return s.format.Name
}

// keepSource fills in the source text of the record at hand, which err may have
// refused. RESP with bare LF line ends is written anew.
func (s *Source) keepSource(c *parser.Command, err error) {
	s.src = s.in.source(s.pos, s.opt.maxRecord())
	if s.commands != nil && c.Raw == nil && isRequest(s.src) {
		s.anew = parser.AppendCommand(s.anew[:0], c.Args)
		s.src = bytes.TrimSuffix(s.anew, lf)
	}
	c.Src = s.src
	if bad, ok := err.(*parser.Error); ok {
		bad.Src = s.src
	}
}

// isRequest reports whether text is a request in RESP, and no line.
func isRequest(text []byte) bool {
	return len(text) > 1 && text[0] == '*' && (isDigit(text[1]) || text[1] == '-')
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
