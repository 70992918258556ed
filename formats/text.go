package formats

import (
	"bytes"
	"io"

	"respipe/parser"
)

// commandsFormat is commands as one types them in redis-cli, one a line. RESP
// may stand among them.
var commandsFormat = Format{
	Name: "commands",
	Exts: []string{".txt", ".redis", ".cmd"},
	Commands: func(in *Input, opt *Options) Commands {
		return newCommandReader(in, opt, false)
	},
}

// commandReader reads command lines and RESP requests, mixed as the server
// itself takes them. Blank lines, lines whose first visible character is #, and
// empty requests are skipped.
type commandReader struct {
	in     *Input
	opt    *Options
	max    int  // of a record, in bytes
	resp   bool // whatever begins with * is a request
	warned bool // of bare LF line ends

	args    [][]byte
	scratch []byte
	spans   []span // of the arguments of a careful request
}

func newCommandReader(in *Input, opt *Options, resp bool) *commandReader {
	return &commandReader{in: in, opt: opt, max: opt.maxRecord(), resp: resp}
}

// Next reads the next command.
func (r *commandReader) Next(c *parser.Command) error {
	for {
		b := r.in.Bytes()
		if len(b) > 0 && b[0] == '*' {
			if n := r.whole(b); n > 0 {
				c.Pos, c.Args, c.Raw = r.in.Pos(), r.args, b[:n:n]
				r.in.Skip(n, bytes.Count(c.Raw, lf))
				return nil
			}
		}
		is, err := r.isRequest()
		if err != nil {
			return err
		}
		c.Pos, c.Raw = r.in.Pos(), nil
		if is {
			err = r.request(c)
		} else {
			err = r.line(c)
		}
		if err != nil || len(c.Args) > 0 {
			return err
		}
	}
}

// isRequest reports whether a RESP request stands next, and no line of text.
func (r *commandReader) isRequest() (bool, error) {
	for {
		b := r.in.Bytes()
		if len(b) > 0 && b[0] != '*' {
			return false, nil
		}
		if len(b) > 1 || len(b) > 0 && r.resp {
			return r.resp || isDigit(b[1]) || b[1] == '-', nil
		}
		if err := r.in.Fill(); err == io.EOF && len(b) > 0 {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
}

// line reads a line of text. It leaves no arguments if there is no command on
// it.
func (r *commandReader) line(c *parser.Command) error {
	line, err := r.in.Line(r.max)
	c.Args = r.args[:0]
	if err == nil && !isRemark(line) {
		c.Args, r.scratch, err = parser.SplitArgs(c.Args, r.scratch, line)
		r.args = c.Args
	}
	if err == errTooLong || err == parser.ErrOpenQuote || err == parser.ErrAfterQuote {
		return &parser.Error{Pos: c.Pos, Err: err}
	}
	return err
}

// isRemark reports whether the first visible character is #.
func isRemark(line []byte) bool {
	for _, c := range line {
		if c > ' ' {
			return c == '#'
		}
	}
	return false
}
