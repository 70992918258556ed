package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// cutConn ends the connection once it has written so many bytes behind the
// greeting.
type cutConn struct {
	net.Conn
	left int
}

func (c *cutConn) Write(b []byte) (int, error) {
	for _, name := range append(greetings, "CLIENT") {
		if bytes.Contains(b, []byte(name)) {
			return c.Conn.Write(b)
		}
	}
	if len(b) <= c.left {
		c.left -= len(b)
		return c.Conn.Write(b)
	}
	n, _ := c.Conn.Write(b[:c.left])
	c.left = 0
	c.Conn.Close()
	return n, errors.New("cut")
}

// TestLostAnywhere cuts a load at every byte, with blocks and without, and
// holds the report to what the server has seen.
func TestLostAnywhere(t *testing.T) {
	input := "SET a 1\nINCR n\n!refused\nMULTI\nINCR n\nSET b 2\nEXEC\nWATCH a\nGET a\nMULTI\nINCR n\n!refused\nINCR n\nEXEC\nMULTI\nINCR n\nDISCARD\nINCR n\nINCR n"
	all := int64(len(strings.Split(input, "\n")))
	for _, window := range []int{1, 2, 5, 0} {
		for cut := 0; ; cut++ {
			m := miniredis.NewMiniRedis()
			cfg := config(func(context.Context) (net.Conn, error) {
				nc, err := m.Dial()
				return &cutConn{nc, cut}, err
			})
			cfg.Window = window
			rep, err := Run(context.Background(), script(input), cfg)
			if err == nil { // each connection was lost with nothing in flight, or none was
				if n, want := counter(m), increments(input, all+1); n != want {
					t.Errorf("window %d, cut at byte %d: n is %d, want %d", window, cut, n, want)
				}
				if cut > 800 {
					break
				}
				continue
			}
			if _, ok := errors.AsType[*LostError](err); !ok {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			name := fmt.Sprintf("window %d, cut at byte %d", window, cut)
			sum := rep.Acknowledged + rep.Refused + rep.Unknown + rep.NotSent
			if sum > all || rep.Records > all || sum < rep.Records {
				t.Errorf("%s: %d acknowledged, %d refused, %d unknown and %d not sent of %d records read, %d in all",
					name, rep.Acknowledged, rep.Refused, rep.Unknown, rep.NotSent, rep.Records, all)
			}
			checkGoOn(t, name, m, rep, input)
		}
	}
}

// TestLostInTransaction loses a connection between MULTI and EXEC: nothing of the
// transaction ran, so nothing is unknown, and yet not all was answered.
func TestLostInTransaction(t *testing.T) {
	asked := 0
	cfg := config(serve(t, func(args []string) []byte {
		switch asked++; asked {
		case 1:
			return []byte("+OK\r\n")
		case 2:
			return []byte("+QUEUED\r\n")
		}
		return nil
	}))
	rep, err := Run(context.Background(), script("MULTI\nSET a 1\nSET b 1\nSET c 1"), cfg)
	if err == nil || rep.Unknown != 0 || rep.NotSent != 4 || rep.Unanswered != 2 || rep.Replies != 2 {
		t.Errorf("%v, %+v", err, rep)
	}
}

// checkGoOn compares the counter n of the server with what the report says:
// all before the position ran once; what is not unknown from there on did not.
func checkGoOn(t *testing.T, name string, m *miniredis.Miniredis, rep *Report, input string) {
	t.Helper()
	if n := rep.Position.N; n < 1 || n > rep.Records+1 {
		t.Errorf("%s: go on from record %d of %d", name, n, rep.Records)
		return
	}
	before := increments(input, rep.Position.N)
	got := counter(m)
	if got < before || got > before+int(rep.Unknown) {
		t.Errorf("%s: n is %d, but record %d is where to go on, before which it is %d, and %d commands are unknown",
			name, got, rep.Position.N, before, rep.Unknown)
	}
}

// increments is what n is when the records before number n have run.
func increments(input string, n int64) int {
	full := script(input)
	m := miniredis.NewMiniRedis()
	full.text = full.text[:n-1]
	if rep, err := Run(context.Background(), full, config(dialer(m))); err != nil || rep.NotSent > 0 {
		panic(fmt.Sprint(err, rep))
	}
	return counter(m)
}

// counter returns the counter n of a server.
func counter(m *miniredis.Miniredis) (n int) {
	if text, err := m.DB(0).Get("n"); err == nil {
		fmt.Sscan(text, &n)
	}
	return n
}

func TestLastWords(t *testing.T) {
	for _, test := range []struct {
		name   string
		reply  string // to the second command, before the connection is closed
		err    string
		errors int64
	}{
		{"nothing", "", "the server closed the connection", 0},
		{"an error", "-ERR I must go\r\n", "the server closed the connection", 1},
		{"half a reply", "$10\r\nabc", "the server closed the connection in the middle of a reply", 0},
		{"half a line", "-ERR I mu", "the server closed the connection in the middle of a reply", 0},
		{"garbage", "HTTP/1.1 400 Bad Request\r\n", `not a Redis reply: "HTTP/1.1 400 Bad Request"`, 0},
		{"garbage without a line end", "\x15\x03\x01", `not a Redis reply: "\x15\x03\x01"`, 0},
		{"a bad length", "$-7\r\n", `not a Redis reply: "$-7"`, 0},
		{"a bulk string without its line end", "$3\r\nabcde", `not a Redis reply: "abcde"`, 0},
		{"an integer that is none", ":12x\r\n", `not a Redis reply: ":12x"`, 0},
		{"more than was asked for", "+OK\r\n+OK\r\n+OK\r\n-ERR too much\r\n", `a reply that no command is owed: "-ERR too much"`, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := 0
			var seen shown
			cfg := config(serve(t, func(args []string) []byte {
				if asked++; asked == 1 {
					return []byte("+OK\r\n")
				}
				if asked == 2 && test.reply != "" {
					return []byte(test.reply)
				}
				return nil
			}))
			cfg.OnSettled = seen.settled
			src := script("SET a 1\nSET a 2\nSET a 3\nSET a 4")
			rep, err := Run(context.Background(), src, cfg)
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if rep.Errors != test.errors {
				t.Errorf("%d errors, want %d", rep.Errors, test.errors)
			}
			if rep.Acknowledged+rep.Refused+rep.Unknown+rep.NotSent != 4 {
				t.Errorf("report %+v", rep)
			}
		})
	}
}

func TestStall(t *testing.T) {
	silent := make(chan struct{})
	defer close(silent)
	asked := 0
	cfg := config(serve(t, func(args []string) []byte {
		if asked++; asked == 2 {
			<-silent
		}
		return []byte("+OK\r\n")
	}))
	cfg.Timeout = 100 * time.Millisecond
	src := script("SET a 1\nSET a 2\nSET a 3")
	src.before = func(n int64) {
		if n == 2 {
			time.Sleep(3 * cfg.Timeout) // a slow producer is no stall
		}
	}
	cfg.Window = 1
	rep, err := Run(context.Background(), src, cfg)
	if _, ok := errors.AsType[*StallError](err); !ok {
		t.Errorf("error %v, want a stall", err)
	}
	if rep.Acknowledged != 1 || rep.Unknown != 1 || rep.NotSent != 1 || rep.Unanswered != 1 || rep.Position.N != 2 {
		t.Errorf("report %+v", rep)
	}
	if rep.FirstLost.Line != 2 || rep.LastLost.Line != 2 {
		t.Errorf("unknown from %v to %v", rep.FirstLost, rep.LastLost)
	}
}

func TestInterrupt(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	var answered atomic.Int64
	cfg := config(serve(t, func(args []string) []byte { answered.Add(1); return []byte("+OK\r\n") }))
	src := script(strings.Repeat("SET a 1\n", 5000))
	src.before = func(n int64) {
		if n == 3000 {
			cancel(enough)
		}
	}
	rep, err := Run(ctx, src, cfg)
	if !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
	if rep.Acknowledged != answered.Load() || rep.Unknown != 0 || rep.Position.N != rep.Acknowledged+1 {
		t.Errorf("the server answered %d, report %+v", answered.Load(), rep)
	}
	if rep.Records >= 5000 {
		t.Errorf("all was read")
	}
}

func TestInterruptInBlock(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	m := miniredis.NewMiniRedis()
	cfg := config(dialer(m))
	cfg.Window = 2
	src := script("INCR n\nWATCH n\nGET n\nMULTI\nINCR n\nINCR n\nINCR n\nEXEC")
	src.before = func(n int64) {
		if n == 7 {
			cancel(errors.New("enough"))
		}
	}
	rep, _ := Run(ctx, src, cfg)
	if !rep.OpenBlock || rep.Position.N != 2 || rep.NotSent < 3 || rep.Unknown != 0 {
		t.Errorf("report %+v, want to go on from the WATCH", rep)
	}
	if n, _ := m.DB(0).Get("n"); n != "1" {
		t.Errorf("n is %s", n)
	}
}

func TestMaxErrors(t *testing.T) {
	for _, test := range []struct {
		input         string
		max, min, end int64 // errors allowed; records read at least and at most
	}{
		{strings.Repeat("SET a 1\n", 10) + strings.Repeat("SET a 1\n!bad\n", 5000), 0, 12, 12},
		{strings.Repeat("SET a 1\n!bad\n", 5000), 9, 20, 20},
		{"ERR\n" + strings.Repeat("SET a 1\n", 20000), 0, 1, 19999},
		{"ERR\nERR\n", 1, 2, 2},
	} {
		cfg := config(serve(t, like))
		cfg.MaxErrors = test.max
		rep, err := Run(context.Background(), script(test.input), cfg)
		if !errors.Is(err, ErrTooManyErrors) {
			t.Errorf("%.20q: error %v", test.input, err)
		}
		if rep.Records < test.min || rep.Records > test.end {
			t.Errorf("%.20q: read %d records, want %d to %d", test.input, rep.Records, test.min, test.end)
		}
		if rep.Unknown != 0 {
			t.Errorf("%.20q: what was in flight was not waited for: %+v", test.input, rep)
		}
	}
}
