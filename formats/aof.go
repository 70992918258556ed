package formats

import (
	"bytes"
	"errors"
	"io"

	"respipe/parser"
)

// aofFormat is the append-only file of a server: requests in RESP, and lines of
// annotation that begin with #. Its last request may be cut off, as a crash
// leaves it: that is a note, as the server itself cuts it away.
var aofFormat = Format{
	Name: "aof",
	Exts: []string{".aof"},
	RESP: true,
	Commands: func(in *Input, opt *Options) Commands {
		return &aofReader{commandReader: newCommandReader(in, opt, true), last: true}
	},
}

// aofPartFormat is a part of an append-only file that another part follows: it
// must be whole.
var aofPartFormat = Format{
	Name: aofFormat.Name,
	RESP: true,
	Commands: func(in *Input, opt *Options) Commands {
		return &aofReader{commandReader: newCommandReader(in, opt, true)}
	},
}

var errNotAOF = errors.New("broken append-only file: neither a command nor an annotation begins here")

// aofReader reads an append-only file, or a part of it.
type aofReader struct {
	*commandReader
	last bool // no part follows
}

// Next reads the next command.
func (r *aofReader) Next(c *parser.Command) error {
	for {
		b := r.in.Bytes()
		if len(b) == 0 {
			if err := r.in.Fill(); err != nil {
				return err
			}
			continue
		}
		c.Pos, c.Raw = r.in.Pos(), nil
		switch b[0] {
		case '*':
			if err := r.read(c, b); err != nil || len(c.Args) > 0 {
				return err
			}
		case '#':
			if err := r.in.skipLine(); err != nil {
				return err
			}
		default:
			return &parser.Broken{Pos: c.Pos, Err: errNotAOF}
		}
	}
}

// read reads the request that begins at b.
func (r *aofReader) read(c *parser.Command, b []byte) error {
	if n := r.whole(b); n > 0 {
		c.Args, c.Raw = r.args, b[:n:n]
		r.in.Skip(n, bytes.Count(c.Raw, lf))
		return nil
	}
	err := r.request(c)
	if r.last && errors.Is(err, errCutOff) {
		r.opt.note(c.Pos, "the last command is cut off, as a crash leaves it; it is left out")
		return io.EOF
	}
	return err
}
