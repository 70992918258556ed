package formats

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"respipe/parser"
)

// outcome is what one Next of a Source brought.
type outcome struct {
	text string // args joined by |, or "refused: …", "broken: …", "error: …"
	pos  parser.Pos
	n    int64
	raw  string
	last bool
}

// collect reads a Source to its end and scribbles over all that is read, so
// that nobody can rely on it later.
func collect(s *Source) []outcome {
	var all []outcome
	for {
		var c parser.Command
		err := s.Next(&c)
		o := outcome{pos: c.Pos, n: c.N, raw: string(c.Raw), last: c.Last}
		var bad *parser.Error
		var broken *parser.Broken
		switch {
		case err == nil:
			o.text = string(bytes.Join(c.Args, []byte("|")))
		case err == io.EOF:
			return all
		case errors.As(err, &bad):
			o = outcome{text: "refused: " + bad.Err.Error(), pos: bad.Pos, n: s.Mark().N, last: true}
		case errors.As(err, &broken):
			return append(all, outcome{text: "broken: " + broken.Err.Error(), pos: broken.Pos, n: s.Mark().N, last: true})
		default:
			return append(all, outcome{text: "error: " + err.Error()})
		}
		all = append(all, o)
		if s.mapping == nil || o.last {
			scribble(s.in.buf[:s.in.pos])
		}
	}
}

func scribble(b []byte) {
	for i := range b {
		b[i] = '~'
	}
}

// open opens a Source over one standard input.
func open(t testing.TB, r io.Reader, opt Options) *Source {
	t.Helper()
	opt.Stdin = r
	s, err := Open(nil, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// all is an Options without a limit.
func all(opt Options) Options {
	opt.Limit = -1
	return opt
}

const mark = "¶" // stands in an input before each record that is to come out

// unmark takes the marks out of an input and returns the places where they
// stood.
func unmark(marked string) (input string, places []parser.Pos) {
	for {
		before, rest, ok := strings.Cut(marked, mark)
		input += before
		if !ok {
			return input, places
		}
		places = append(places, parser.Pos{
			File:   stdinName,
			Line:   1 + strings.Count(input, "\n"),
			Offset: int64(len(input)),
		})
		marked = rest
	}
}

// readTest is a row of a table: what comes out of an input, and where.
type readTest struct {
	name string
	opt  Options
	in   string // with marks
	want []string

	wrap func(string) string // what makes the file of in; nil: it is the file
}

// run checks the row with the input in one piece and byte by byte.
func (tt *readTest) run(t *testing.T) {
	t.Run(tt.name, func(t *testing.T) {
		input, places := unmark(tt.in)
		if tt.wrap != nil {
			input = tt.wrap(input)
		}
		for _, r := range []io.Reader{
			strings.NewReader(input),
			iotest.OneByteReader(strings.NewReader(input)),
			iotest.DataErrReader(strings.NewReader(input)),
		} {
			got := collect(open(t, r, all(tt.opt)))
			if len(got) != len(tt.want) || len(got) != len(places) {
				t.Fatalf("%T: got %d outcomes, want %d at %d places: %+v", r, len(got), len(tt.want), len(places), got)
			}
			for i, g := range got {
				if g.text != tt.want[i] {
					t.Errorf("%T: outcome %d is\n\t%q, want\n\t%q", r, i, g.text, tt.want[i])
				}
				if g.pos != places[i] {
					t.Errorf("%T: outcome %d stands at %+v, want %+v", r, i, g.pos, places[i])
				}
				if g.n != int64(i+1) {
					t.Errorf("%T: outcome %d has number %d", r, i, g.n)
				}
			}
		}
	})
}
