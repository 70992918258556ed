package formats

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"respipe/parser"
)

// sample is what the contract needs to know about a format.
type sample struct {
	opt    Options
	head   string
	record func(value string) string
	bad    string // a record that is refused, and only that
	text   func(value string) string
}

// samples are by name of the format. Those with columns ask for them in
// another order than they stand in the file.
var samples = map[string]sample{
	"commands": {
		record: func(v string) string { return "SET k '" + v + "'\n" },
		bad:    "SET k 'v\n",
		text:   func(v string) string { return "SET|k|" + v },
	},
	"resp": {
		record: func(v string) string { return fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s\r\n", len(v), v) },
		bad:    "SET k 'v\n",
		text:   func(v string) string { return "SET|k|" + v },
	},
	"aof": {
		head:   "#TS:1\r\n",
		record: func(v string) string { return fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s\r\n", len(v), v) },
		bad:    "*1\r\n$7\r\nMONITOR\r\n",
		text:   func(v string) string { return "SET|k|" + v },
	},
	"tsv": {
		opt:    Options{Cmds: []string{"SET {k} {v}", "SADD all {k}:{v}"}},
		head:   "v\tx\tk\n",
		record: func(v string) string { return v + "\t\\t\tk\n" },
		bad:    "v\tk\n",
		text:   func(v string) string { return "SET|k|" + v + " SADD|all|k:" + v },
	},
	"csv": {
		opt:    Options{Cmds: []string{"SET {k} {v}", "SADD all {k}:{v}"}},
		head:   "v,x,k\n",
		record: func(v string) string { return "\"" + v + "\",,k\n" },
		bad:    "\"v\"x,,k\n",
		text:   func(v string) string { return "SET|k|" + v + " SADD|all|k:" + v },
	},
	"json": {
		opt:    Options{Cmds: []string{"SET {k} {v}", "SADD all {k}:{v}"}},
		record: func(v string) string { return "{\"v\": \"" + v + "\", \"x\": [null], \"k\": \"k\"}\n" },
		bad:    "{\"v\": \"v\", \"k\": \"k\"},\n",
		text:   func(v string) string { return "SET|k|" + v + " SADD|all|k:" + v },
	},
	"lines": {
		opt:    Options{Cmds: []string{"SET {@line} {text}"}, MaxRecord: 1 << 20},
		record: func(v string) string { return v + "\n" },
		bad:    strings.Repeat("x", 1<<20+1) + "\n",
	},
}

// each runs a test for every format there is.
func each(t *testing.T, test func(t *testing.T, s sample)) {
	for _, f := range formats {
		s, ok := samples[f.Name]
		if !ok {
			t.Fatalf("format %s has no sample", f.Name)
		}
		s.opt.Format, s.opt.Limit = f.Name, -1
		t.Run(f.Name, func(t *testing.T) { test(t, s) })
	}
}

// records joins the outcomes of each record.
func records(all []outcome) (joined []outcome) {
	for _, o := range all {
		if n := len(joined); n > 0 && joined[n-1].n == o.n {
			joined[n-1].text += " " + o.text
		} else {
			joined = append(joined, o)
		}
	}
	return joined
}

// chunks is a reader that returns at most size bytes at once.
type chunks struct {
	r    io.Reader
	size int
}

func (c *chunks) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.size)]) }

func TestContractPlaces(t *testing.T) {
	each(t, func(t *testing.T, s sample) {
		in, line := s.head, 1+strings.Count(s.head, "\n")
		var want []parser.Pos
		for i := range 20 {
			want = append(want, parser.Pos{File: stdinName, Line: line, Offset: int64(len(in))})
			record := s.record(fmt.Sprint("value-", i))
			if i%5 == 3 {
				record = s.bad
			}
			in += record
			line += strings.Count(record, "\n")
		}
		got := records(collect(open(t, strings.NewReader(in), s.opt)))
		if len(got) != len(want) {
			t.Fatalf("got %d records, want %d", len(got), len(want))
		}
		for i, g := range got {
			if g.pos != want[i] || g.n != int64(i+1) {
				t.Errorf("record %d stands at %+v as number %d, want %+v", i+1, g.pos, g.n, want[i])
			}
			if refused := strings.HasPrefix(g.text, "refused: "); refused != (i%5 == 3) {
				t.Errorf("record %d is %.80q", i+1, g.text)
			} else if text := fmt.Sprint("value-", i); !refused && s.text != nil && g.text != s.text(text) {
				t.Errorf("record %d is %q, want %q", i+1, g.text, s.text(text))
			}
		}
	})
}

func TestContractSplits(t *testing.T) {
	each(t, func(t *testing.T, s sample) {
		in := s.head + s.record("one") + s.record("two two") + s.record("") + s.record(strings.Repeat("three ", 20))
		want := collect(open(t, strings.NewReader(in), s.opt))
		for size := 1; size < len(in); size++ {
			got := collect(open(t, &chunks{strings.NewReader(in), size}, s.opt))
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("in pieces of %d bytes: got %+v, want %+v", size, got, want)
			}
		}
	})
}

// TestContractEdges moves long records over the edges of chunks and room.
func TestContractEdges(t *testing.T) {
	each(t, func(t *testing.T, s sample) {
		for _, size := range []int{room - 50, room, chunkSize - 50, chunkSize, chunkSize + room, 3*chunkSize + 7} {
			for shift := range 4 {
				var want []string
				in := s.head
				for _, n := range []int{20 * shift, size, 5, size, 7} {
					v := strings.Repeat("v", n)
					in += s.record(v)
					if s.text != nil {
						want = append(want, s.text(v))
					}
				}
				got := records(collect(open(t, strings.NewReader(in), s.opt)))
				for i := range want {
					if i >= len(got) || got[i].text != want[i] {
						t.Fatalf("size %d, shift %d: record %d is not as written", size, shift, i+1)
					}
				}
			}
		}
	})
}

func TestContractReadError(t *testing.T) {
	each(t, func(t *testing.T, s sample) {
		in := s.head + s.record("v") + s.record("w")
		r := io.MultiReader(strings.NewReader(in[:len(in)-1]), iotest.ErrReader(io.ErrClosedPipe))
		got := records(collect(open(t, r, s.opt)))
		if len(got) != 2 || got[1].text != "broken: "+io.ErrClosedPipe.Error() {
			t.Fatalf("got %+v", got)
		}
		if at := int64(len(s.head + s.record("v"))); got[1].pos.Offset != at {
			t.Errorf("it broke at byte %d, want %d", got[1].pos.Offset, at)
		}
	})
}

func TestContractAllocations(t *testing.T) {
	each(t, func(t *testing.T, s sample) {
		r := io.MultiReader(strings.NewReader(s.head), newRepeat(s.record("value")))
		src := open(t, r, s.opt)
		var c parser.Command
		next := func() {
			if err := src.Next(&c); err != nil {
				t.Fatal(err)
			}
		}
		for range 100_000 { // until all buffers have been made
			next()
		}
		if n := testing.AllocsPerRun(100_000, next); n > 0 {
			t.Errorf("%v allocations a record", n)
		}
	})
}
