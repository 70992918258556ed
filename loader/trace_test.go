package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"respipe/parser"
)

// several is a Source of records of three counters each.
type several struct {
	records int64
	n       int64
	index   int
	ops     parser.Ops
}

const counters = 3

func (s *several) Await(parser.Wait) {}
func (s *several) Mark() parser.Mark {
	if s.n > s.records {
		return parser.Mark{N: s.records + 1, Line: int(s.records) + 1}
	}
	return parser.Mark{N: s.n, Line: int(s.n), Offset: s.n}
}

func (s *several) Next(c *parser.Command) error {
	if s.index == 0 {
		s.n++
	}
	if s.n > s.records {
		return io.EOF
	}
	args := [][]byte{[]byte("INCR"), fmt.Appendf(nil, "%c:%d", 'a'+s.index, s.n)}
	*c = parser.Command{
		Pos: parser.Pos{File: "x", Line: int(s.n), Offset: s.n}, N: s.n, Index: s.index, Last: s.index == counters-1,
		Args: args, Op: s.ops.Find(args), Src: fmt.Appendf(nil, "record %d", s.n),
	}
	s.index = (s.index + 1) % counters
	return nil
}

// TestSeveralCommands holds that a record is stopped before or behind, and that
// each of its commands tells of it.
func TestSeveralCommands(t *testing.T) {
	enough := errors.New("enough")
	for _, connections := range []int{1, 3} {
		for _, window := range []int{1, 2, 7, 100, 0} {
			for _, stop := range []int{1, 2, 5, 30, 1 << 30} {
				m := miniredis.NewMiniRedis()
				cfg := config(dialer(m))
				cfg.Window, cfg.Connections, cfg.KeepSource = window, connections, true
				commands := 0
				seen := map[string]int{}
				cfg.OnSettled = func(b Completed) error {
					for i := range b.Len() {
						index, last := b.Index(i)
						if want := fmt.Sprintf("record %d", b.N(i)); b.Outcome(i) == Ran && string(b.Src(i)) != want || last != (index == counters-1) {
							t.Errorf("%q, command %d, last %v; want %s", b.Src(i), index, last, want)
						}
						if b.Outcome(i) == Ran {
							seen[fmt.Sprintf("%c:%d", 'a'+index, b.N(i))]++
							commands++
						}
					}
					if commands >= stop {
						return enough
					}
					return nil
				}
				const records = 60
				rep, err := Run(context.Background(), &several{records: records}, cfg)
				if stop > records*counters && err != nil || err != nil && !errors.Is(err, enough) {
					t.Fatalf("%v", err)
				}
				for n := int64(1); n <= records; n++ {
					ran := n < rep.Position.N
					for i := range counters {
						key := fmt.Sprintf("%c:%d", 'a'+i, n)
						if got := m.DB(0).Exists(key); got != ran || (seen[key] == 1) != ran {
							t.Errorf("%d connections, window %d, stopped after %d: %s exists: %v, told %d times, and the load goes on from %d", connections, window, stop, key, got, seen[key], rep.Position.N)
						}
					}
				}
			}
		}
	}
}

// TestTextIsKeptOnce holds that the commands of a record share their text.
func TestTextIsKeptOnce(t *testing.T) {
	list := freeList{traced: true}
	b := list.get(100, 10)
	b.reset(parser.Mark{N: 1}, "x")
	src := &several{records: 20}
	var c parser.Command
	for src.Next(&c) == nil {
		b.append(&c, 0)
	}
	if want := 9*len("record 1") + 11*len("record 10"); len(b.texts) != want || b.Len() != 20*counters {
		t.Errorf("%d bytes of text, want %d", len(b.texts), want)
	}
	before := b.cost()
	b.append(&parser.Command{N: 21, Raw: []byte("*1\r\n$4\r\nPING\r\n"), Src: []byte("*1\r\n$4\r\nPING\r"), Op: parser.Unknown}, 0)
	if grown := b.cost() - before; grown != int64(len("*1\r\n$4\r\nPING\r\n"))+placeBytes+traceBytes || b.Src(b.Len()-1) != nil {
		t.Errorf("%d more bytes for RESP, which is its own source text", grown)
	}
	b.places[0].flags |= moved
	if b.Outcome(0) != Elsewhere || b.Outcome(1) != NotSent {
		t.Errorf("outcomes %d, %d", b.Outcome(0), b.Outcome(1))
	}
}

// TestOutcomes tells what became of each line, in a load that ends well and in
// one that breaks.
func TestOutcomes(t *testing.T) {
	for _, row := range []struct{ input, want string }{
		{"SET a 1\nLPUSH a x\n!bad\nSELECT 1", "ran failed failed ran"},
		{"MULTI\nSET a 1\nEXEC", "ran ran ran"},
		{"MULTI\nSET a 1\nLPUSH a x\nEXEC", "ran ran failed ran"},
		{"MULTI\nSET a 1\nGET\nEXEC\nSET b 1", "notrun notrun failed failed ran"},
		{"MULTI\nSET a 1\n!bad\nEXEC", "notrun notrun failed failed"},
		{"MULTI\nSET a 1\nDISCARD", "ran ran ran"},
		{"MULTI\nSET a 1\nGET\nDISCARD", "notrun notrun failed notrun"},
		{"MULTI\n!bad\nDISCARD\nSET a 1", "notrun failed notrun ran"},
		{"MULTI\nSET a 1\n---\nSET b 1", "notrun notrun ran"},
		{"WATCH a\nSET a 1\nMULTI\nSET b 1\nEXEC", "ran ran notrun notrun notrun"},
		{"EXEC\nSET a 1", "failed ran"},
	} {
		m := miniredis.NewMiniRedis()
		for _, window := range []int{1, 3, 0} {
			m.FlushAll()
			cfg := config(dialer(m))
			cfg.Window, cfg.KeepSource = window, true
			told := map[int64]string{}
			cfg.OnSettled = func(b Completed) error {
				for i := range b.Len() {
					if o := b.Outcome(i); o != Elsewhere {
						told[b.N(i)] += map[Outcome]string{Ran: "ran", Failed: "failed", NotRun: "notrun", Unknown: "unknown", NotSent: "notsent"}[o]
						if b.Class(i) == parser.Discard && b.N(i) == b.Block(i) {
							told[b.N(i)] = strings.TrimSuffix(told[b.N(i)], "failed") // the error of a block without an end, at its MULTI
						}
					}
				}
				return nil
			}
			rep, err := Run(context.Background(), script(row.input), cfg)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for n := range rep.Records {
				got = append(got, told[n+1])
			}
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("%q, window %d: %s, want %s", row.input, window, text, row.want)
			}
		}
	}
}
