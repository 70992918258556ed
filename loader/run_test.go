package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"respipe/parser"

	"github.com/alicebob/miniredis/v2"
)

// like is a server whose replies depend on the command's name alone; MULTI
// blocks are answered by hand.
func like(args []string) []byte {
	switch args[0] {
	case "ERR":
		return []byte("-ERR no such thing\r\n")
	case "GET":
		return []byte("$5\r\n" + "a\r\nb-" + "\r\n")
	case "LRANGE":
		return []byte("*3\r\n$1\r\na\r\n-ERR odd\r\n*2\r\n:1\r\n*-1\r\n")
	case "INCR":
		return []byte(":17\r\n")
	}
	return []byte("+OK\r\n")
}

func TestRunCounts(t *testing.T) {
	for _, test := range []struct {
		name             string
		input            string
		errors, replies  int64
		acknowledged     int64
		refused, records int64
		shown            []string
		err              string
	}{
		{name: "nothing but remarks", input: "---", records: 0},
		{name: "one", input: "SET a 1", replies: 1, acknowledged: 1, records: 1},
		{name: "all kinds of replies", input: "SET a 1\nGET a\nINCR b\nLRANGE l 0 -1\nSET c 1", replies: 5, acknowledged: 5, records: 5},
		{name: "an error", input: "SET a 1\nERR a\nSET b 1", errors: 1, replies: 3, acknowledged: 2, refused: 1, records: 3,
			shown: []string{"a.txt:2 ERR no such thing"}},
		{name: "a refused record", input: "SET a 1\n!bad quote\nSET b 1\nERR", errors: 2, replies: 3, acknowledged: 2, refused: 2, records: 4,
			shown: []string{"a.txt:2 bad quote", "a.txt:4 ERR no such thing"}},
		{name: "refused records only", input: "!x\n!y", errors: 2, refused: 2, records: 2, shown: []string{"a.txt:1 x", "a.txt:2 y"}},
		{name: "broken input", input: "SET a 1\n?", errors: 1, replies: 1, acknowledged: 1, records: 2, err: "a.txt:2: broken (byte 2)"},
	} {
		for _, window := range []int{0, 1, 2, 7, 1000} {
			t.Run(fmt.Sprint(test.name, " window ", window), func(t *testing.T) {
				var seen shown
				cfg := config(serve(t, like))
				cfg.Window, cfg.OnSettled = window, seen.settled
				rep, err := Run(context.Background(), script(test.input), cfg)
				if got := fmt.Sprint(err); err != nil && got != test.err || err == nil && test.err != "" {
					t.Fatalf("error %v, want %q", err, test.err)
				}
				got := [...]int64{rep.Errors, rep.Replies, rep.Acknowledged, rep.Refused, rep.Records, rep.Unknown, rep.NotSent}
				want := [...]int64{test.errors, test.replies, test.acknowledged, test.refused, test.records, 0, 0}
				if got != want {
					t.Errorf("errors, replies, acknowledged, refused, records, unknown, not sent: %v, want %v", got, want)
				}
				if !slices.Equal(seen.errors, test.shown) {
					t.Errorf("shown %q, want %q", seen.errors, test.shown)
				}
				if !slices.IsSorted(seen.order) {
					t.Errorf("settled out of order: %v", seen.order)
				}
			})
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, test := range []struct {
		name            string
		input           string
		errors, replies int64
		shown, warned   []string
		keys            string // NAME=VALUE after the load
		db              int
	}{
		{name: "a block", input: "MULTI\nSET a 1\nINCR n\nEXEC\nSET b 1", replies: 5, keys: "a=1 b=1 n=1"},
		{name: "an element fails", input: "SET s x\nMULTI\nINCR n\nLPUSH s y\nINCR n\nLPUSH s z\nEXEC\nINCR n", errors: 2, replies: 8, keys: "n=3",
			shown: []string{"a.txt:4 " + wrongType, "a.txt:6 " + wrongType}},
		{name: "the last element fails", input: "SET s x\nMULTI\nLPUSH s y\nEXEC", errors: 1, replies: 4, shown: []string{"a.txt:3 " + wrongType}},
		{name: "a record is refused", input: "MULTI\nSET a 1\n!no\nSET b 1\nEXEC\nSET c 1", errors: 2, replies: 4, keys: "a= b= c=1",
			shown: []string{"a.txt:3 no", "a.txt:5 EXEC not sent: line 3 of its transaction was refused, so none of it ran"}},
		{name: "open at the end", input: "SET a 1\nMULTI\nSET a 2", errors: 1, replies: 3, keys: "a=1",
			shown: []string{"a.txt:2 MULTI without EXEC: its transaction was discarded at the end of the file"}},
		{name: "open at the end of a file", input: "MULTI\nSET a 2\n---\nSET b 1\nEXEC", errors: 2, replies: 4, keys: "a= b=1",
			shown: []string{"a.txt:1 MULTI without EXEC: its transaction was discarded at the end of the file", "b.txt:2 ERR EXEC without MULTI"}},
		{name: "open and broken", input: "MULTI\nSET a 2\n?", errors: 2, replies: 2, keys: "a=",
			shown: []string{"a.txt:1 MULTI without EXEC: its transaction was discarded at the end of the file"}},
		{name: "two blocks in one batch", input: "MULTI\nSET a 1\nEXEC\nSET s x\nMULTI\nINCR n\nINCR s\nEXEC\nMULTI\nDISCARD\nINCR n", errors: 1, replies: 11,
			keys: "a=1 n=2", shown: []string{"a.txt:7 ERR value is not an integer or out of range"}},
		{name: "nested", input: "MULTI\nMULTI\nSET a 1\nDISCARD\nSET b 1", errors: 1, replies: 5, keys: "a= b=1",
			shown: []string{"a.txt:2 ERR MULTI calls can not be nested"}},
		{name: "SELECT", input: "SELECT 3\nSET a 1", replies: 2, db: 3},
		{name: "SELECT fails", input: "SELECT 2\nSELECT x\nSET a 1", errors: 2, replies: 2, db: 2, shown: []string{
			"a.txt:2 ERR value is not an integer or out of range", "a.txt:3 database x was not selected: the SELECT before it was refused"}},
		{name: "SELECT in a block", input: "MULTI\nSELECT 3\nSELECT 4\nSET a 1\nEXEC\nSET b 1", replies: 6, db: 4},
		{name: "SELECT in a block that is discarded", input: "SELECT 1\nMULTI\nSELECT 3\nDISCARD\nSET b 1", replies: 5, db: 1},
	} {
		for _, window := range []int{0, 1, 2, 3, 1000} {
			t.Run(fmt.Sprint(test.name, " window ", window), func(t *testing.T) {
				m := miniredis.NewMiniRedis()
				var seen shown
				cfg := config(dialer(m))
				cfg.Window, cfg.OnSettled = window, seen.settled
				if window == 3 {
					cfg.WindowBytes = 200 // the block is let go all the time
				}
				src := script(test.input)
				rep, err := Run(context.Background(), src, cfg)
				if _, broken := errors.AsType[*parser.Broken](err); err != nil && !broken {
					t.Fatal(err)
				}
				if rep.Errors != test.errors || rep.Replies != test.replies {
					t.Errorf("errors: %d, replies: %d, want %d and %d", rep.Errors, rep.Replies, test.errors, test.replies)
				}
				slices.Sort(seen.errors) // a refused record alone does not wait for its block
				if !slices.Equal(seen.errors, test.shown) {
					t.Errorf("shown %q, want %q", seen.errors, test.shown)
				}
				if rep.Unknown != 0 || rep.NotSent != 0 {
					t.Errorf("unknown %d, not sent %d", rep.Unknown, rep.NotSent)
				}
				if test.db != 0 && rep.Position.DB != test.db {
					t.Errorf("database %d at the end, want %d", rep.Position.DB, test.db)
				}
				for _, pair := range strings.Fields(test.keys) {
					key, want, _ := strings.Cut(pair, "=")
					if got, _ := m.DB(0).Get(key); got != want {
						t.Errorf("%s is %q, want %q", key, got, want)
					}
				}
			})
		}
	}
}

const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
