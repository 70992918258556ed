package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// TestReplies holds that each line has one reply, also of those that go to
// several connections, and that a long one is cut.
func TestReplies(t *testing.T) {
	server := redistest.Start(t)
	input := "SET a 1\nINCR a\nGET a\nGET none\nSELECT 1\nMSET a 1 b 2 c 3 d 4\nDEL a b c d x\nMULTI\nSET a 1\nFLUSHDB\nEXEC\n" +
		"!bad\nLPUSH l a b c d e f\nLRANGE l 0 -1\nFROB\nPING\nMULTI\nSET a 2\n!bad\nEXEC\nMULTI\nINCR a\nDISCARD"
	want := []string{"+OK", ":2", "$1|2", "$-1", "+OK", "+OK", ":4", "+OK", "+QUEUED", "+QUEUED", "*2|+OK|+OK",
		"", ":6", "*6|$1|f|$1|e|$1|", "-ERR unknown command", "+PONG", "+OK", "+QUEUED", "", "", "+OK", "+QUEUED", "+OK"}
	for _, connections := range []int{1, 3} {
		for _, window := range []int{1, 4, 0} {
			server.CLI("FLUSHALL")
			cfg := resuming(server.Addr)
			cfg.Connections, cfg.Window, cfg.KeepReplies = connections, window, 24
			got := make([]string, len(want))
			cfg.OnSettled = func(b Completed) error {
				for i := range b.Len() {
					if reply := b.Reply(i); reply != nil {
						got[b.N(i)-1] += strings.TrimSuffix(strings.ReplaceAll(string(reply), "\r\n", "|"), "|")
					}
				}
				return nil
			}
			if _, err := Run(context.Background(), script(input), cfg); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if !strings.HasPrefix(got[i], strings.TrimSuffix(want[i], "|")) || want[i] == "" && got[i] != "" || len(got[i]) > 24 {
					t.Errorf("%d connections, window %d, line %d: %q, want %q", connections, window, i+1, got[i], want[i])
				}
			}
		}
	}
}

// TestRepliesOfLongBlock holds that what is let go of a block leaves its replies.
func TestRepliesOfLongBlock(t *testing.T) {
	server := redistest.Start(t)
	cfg := resuming(server.Addr)
	cfg.WindowBytes, cfg.KeepReplies, cfg.KeepSource = 16<<10, 100, true
	const commands = 3000
	var replies []string
	cfg.OnSettled = func(b Completed) error {
		for i := range b.Len() {
			replies = append(replies, string(b.Reply(i)))
		}
		return nil
	}
	rep, err := Run(context.Background(), script("SET a 1\nMULTI\n"+strings.Repeat("INCR n\n", commands)+"EXEC"), cfg)
	if err != nil || len(replies) != commands+3 || rep.Replies != commands+3 {
		t.Fatalf("%v, %d replies, %+v", err, len(replies), rep)
	}
	for i, reply := range replies {
		want := "+QUEUED\r\n"
		switch i {
		case 0, 1:
			want = "+OK\r\n"
		case commands + 2:
			want = "*3000\r\n:1\r\n"
		}
		if !strings.HasPrefix(reply, want) || len(reply) > 100 {
			t.Errorf("reply %d is %q", i, reply)
		}
	}
}

func TestTakeReply(t *testing.T) {
	for _, row := range []struct {
		adds bool
		in   []string
		want string
	}{
		{true, []string{":1\r\n", ":2\r\n", ":40\r\n"}, ":43\r\n"},
		{true, []string{":1\r\n"}, ":1\r\n"},
		{true, []string{"+OK\r\n", "+OK\r\n"}, "+OK\r\n"},
		{true, []string{":1\r\n", "-ERR no\r\n", ":2\r\n"}, "-ERR no\r\n"},
		{true, []string{"-ERR a\r\n", "-ERR b\r\n"}, "-ERR a\r\n"},
		{false, []string{":7\r\n", ":8\r\n"}, ":7\r\n"},
		{false, []string{"$3\r\nsha\r\n", "$3\r\nsha\r\n"}, "$3\r\nsha\r\n"},
		{true, []string{"", ":5\r\n"}, ":5\r\n"},
		{true, []string{":x\r\n", ":5\r\n"}, ":x\r\n"},
		{true, nil, ""},
	} {
		s := split{adds: row.adds}
		for _, reply := range row.in {
			s.takeReply([]byte(reply))
		}
		if string(s.reply) != row.want {
			t.Errorf("%q: %q, want %q", row.in, s.reply, row.want)
		}
	}
}

// TestRepliesHoldTheLoadUp: while nobody takes the replies no more of them are
// read than there is room for, and then all of them come.
func TestRepliesHoldTheLoadUp(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	reply := []byte("$60000\r\n" + strings.Repeat("x", 60000) + "\r\n")
	cfg := config(serve(t, func(args []string) []byte {
		asked.Add(1)
		return reply
	}))
	const commands = 3000
	cfg.KeepReplies, cfg.WindowBytes, cfg.Window = KeepAll, 1<<20, 0
	cfg.Timeout = 2 * time.Second // on a busy machine the server says nothing for 300 ms
	slow := true
	var order []int64
	cfg.OnSettled = func(b Completed) error {
		if slow {
			slow = false
			time.Sleep(3 * time.Second)     // longer than the timeout
			if n := asked.Load(); n > 700 { // what is at hand, a batch, and what the sockets hold
				t.Errorf("%d replies of 60 KB were read", n)
			}
		}
		for i := range b.Len() {
			if len(b.Reply(i)) == len(reply) {
				order = append(order, b.N(i))
			}
		}
		return nil
	}
	cfg.OnNote = func(text string) { t.Error(text) }
	rep, err := Run(context.Background(), script(strings.Repeat("GET k\n", commands)), cfg)
	if err != nil || rep.Replies != commands || len(order) != commands || !slices.IsSorted(order) {
		t.Errorf("%v, %d replies, %d whole", err, rep.Replies, len(order))
	}
}

// TestRepliesNobodyTakesAtTheEnd: a reader that waits for room does not keep the
// load from ending.
func TestRepliesNobodyTakesAtTheEnd(t *testing.T) {
	reply := []byte("$60000\r\n" + strings.Repeat("x", 60000) + "\r\n")
	cfg := config(serve(t, func(args []string) []byte { return reply }))
	cfg.KeepReplies, cfg.WindowBytes, cfg.Window = KeepAll, 1<<18, 0
	broken := fmt.Errorf("no room")
	cfg.OnSettled = func(b Completed) error {
		time.Sleep(50 * time.Millisecond)
		return broken
	}
	if _, err := Run(context.Background(), script(strings.Repeat("GET k\n", 1000)), cfg); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Error(err)
	}
}
