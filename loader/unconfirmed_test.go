package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"respipe/internal/redistest"
	"respipe/parser"
)

func rangeOf(first, last, records int64, file string) UnconfirmedRange {
	return UnconfirmedRange{RecordPos{first, file, int(first)}, RecordPos{last, file, int(last)}, records}
}

func TestUnconfirmedAdd(t *testing.T) {
	for _, test := range []struct {
		name string
		add  []UnconfirmedRange
		want string
	}{
		{"one", []UnconfirmedRange{rangeOf(1, 10, 10, "a")}, "10: 1-10:10"},
		{"apart", []UnconfirmedRange{rangeOf(1, 10, 10, "a"), rangeOf(21, 30, 9, "a")}, "19: 1-10:10 21-30:9"},
		{"touching", []UnconfirmedRange{rangeOf(1, 10, 10, "a"), rangeOf(11, 30, 20, "b")}, "30: 1-30:30"},
		{"one record in two transactions", []UnconfirmedRange{rangeOf(1, 10, 10, "a"), rangeOf(10, 12, 3, "a"), rangeOf(12, 12, 1, "a")}, "12: 1-12:12"},
	} {
		var u Unconfirmed
		for _, r := range test.add {
			u.add(r)
		}
		got := fmt.Sprint(u.Records, ":")
		for _, r := range u.Ranges {
			got += fmt.Sprintf(" %d-%d:%d", r.First.N, r.Last.N, r.Records)
		}
		if got != test.want || !u.valid() {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestUnconfirmedIsBounded adds more ranges than a position may hold: the count
// stays exact, every record lies in a range, and older copies do not change.
func TestUnconfirmedIsBounded(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("x", 4000)} {
		var u, before Unconfirmed
		for i := range int64(1000) {
			if u.add(rangeOf(10*i+1, 10*i+5, 5, name)); i == 2 {
				before = u
			}
		}
		in := func(n int64) bool {
			return slices.ContainsFunc(u.Ranges, func(r UnconfirmedRange) bool { return r.First.N <= n && n <= r.Last.N })
		}
		for i := range int64(1000) {
			if !in(10*i+1) || !in(10*i+5) {
				t.Errorf("record %d is in no range", 10*i+1)
			}
		}
		p := Position{token: "T", Unconfirmed: u}
		if err := p.encode(); err != nil || u.Records != 5000 || !u.valid() || len(p.raw) > 200<<10 {
			t.Errorf("%d records, %d ranges, %d bytes, %v", u.Records, len(u.Ranges), len(p.raw), err)
		}
		if before.Records != 15 || len(before.Ranges) != 3 || before.Ranges[2].Last.N != 25 {
			t.Errorf("the copy is %+v now", before)
		}
	}
}

// TestExactlyOnceEndIsConfirmed: however a load ends that has seen all replies,
// its position says so.
func TestExactlyOnceEndIsConfirmed(t *testing.T) {
	server := redistest.Start(t)
	input := strings.Repeat("INCR n\n", 25)
	for _, test := range []struct {
		name string
		cfg  func(*Config, context.CancelFunc, *lines)
		done bool
	}{
		{"whole", func(*Config, context.CancelFunc, *lines) {}, true},
		{"with a command behind it", func(c *Config, _ context.CancelFunc, _ *lines) { c.After = [][]byte{[]byte("INCR"), []byte("ready")} }, true},
		{"too many errors", func(c *Config, _ context.CancelFunc, s *lines) { s.text[14] = "FROB"; c.MaxErrors = 0 }, false},
		{"interrupted", func(_ *Config, cancel context.CancelFunc, s *lines) {
			s.before = func(n int64) {
				if n == 15 {
					cancel()
				}
			}
		}, false},
		{"broken input", func(_ *Config, _ context.CancelFunc, s *lines) { s.text[14] = "?" }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			server.CLI("FLUSHALL")
			cfg := once(server.Addr, input)
			cfg.Window = 10
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			src := script(input)
			test.cfg(&cfg, cancel, src)
			rep, err := Run(ctx, src, cfg)
			if (err == nil) != test.done || rep.Unconfirmed.Records > 0 || rep.AfterUnconfirmed {
				t.Errorf("%v, %+v", err, rep)
			}
			p, err := ReadPosition(context.Background(), cfg, "load")
			if err != nil || p.Confirmed != nil || p.Unconfirmed.Records > 0 || p.AfterUnconfirmed || p.Done != test.done || p.Mark.N == 0 {
				t.Errorf("%v, %+v", err, p)
			}
		})
	}
}

// TestExactlyOnceOldPosition goes on from a position of a version that knew
// nothing of unconfirmed records.
func TestExactlyOnceOldPosition(t *testing.T) {
	server := redistest.Start(t)
	server.CLI("SET", "respipe:load", `{"n":2,"commands":1,"file":0,"offset":2,"line":2,"db":0,"records":2,"errors":0,"done":false,"token":"T.1","input":{"file":"a.txt"}}`)
	rep, err := runOnce(t, "INCR n\nINCR n\nINCR n", once(server.Addr, "INCR n\nINCR n\nINCR n"))
	if err != nil || rep.Unconfirmed.Records != 0 || rep.Acknowledged != 1 || server.CLI("GET", "n") != "1" {
		t.Errorf("%v, %+v", err, rep)
	}
}

// TestExactlyOnceOtherInputMeanwhile: between ReadPosition and the claim another
// run has loaded another input under the name, further than this one had come.
func TestExactlyOnceOtherInputMeanwhile(t *testing.T) {
	server := redistest.Start(t)
	for _, reads := range []bool{true, false} {
		for _, begun := range []bool{true, false} {
			server.CLI("FLUSHALL")
			input := strings.Repeat("INCR n\n", 5)
			cfg := once(server.Addr, input)
			if !reads {
				cfg.ExactlyOnce.Reopen = nil
			}
			if begun {
				if _, err := runOnce(t, "INCR n", cfg); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			if cfg.ExactlyOnce.From, err = ReadPosition(context.Background(), cfg, "load"); err != nil {
				t.Fatal(err)
			}
			cfg.ExactlyOnce.Grown = begun
			cfg.ExactlyOnce.SameInput = func(p *Position, _ bool) error {
				if string(p.Input) != `{"file":"a.txt"}` {
					return errString("another input")
				}
				return nil
			}
			server.CLI("DEL", "respipe:load")
			other := once(server.Addr, "")
			other.ExactlyOnce.Identity = func(parser.Mark) (json.RawMessage, error) { return json.RawMessage(`{"file":"b.txt"}`), nil }
			if _, err := runOnce(t, strings.Repeat("INCR other\n", 3), other); err != nil {
				t.Fatal(err)
			}
			was := server.CLI("GET", "respipe:load")
			rep, err := Run(context.Background(), script(input), cfg)
			if !errors.Is(err, ErrTakenOver) || !strings.Contains(err.Error(), "another input") || rep.Sent > 0 || server.CLI("GET", "respipe:load") != was {
				t.Errorf("begun %v, reads %v: %v, %+v", begun, reads, err, rep)
			}
		}
	}
}
