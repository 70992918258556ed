package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"respipe/internal/redistest"
	"respipe/parser"
)

// committed waits until the position is behind record n.
func committed(t *testing.T, cfg Config, n int64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if p, err := ReadPosition(context.Background(), cfg, "load"); err != nil {
			t.Fatal(err)
		} else if p.reach().n >= n {
			return
		}
	}
	t.Fatalf("the position is not behind record %d", n)
}

func TestExactlyOnceStops(t *testing.T) {
	server := redistest.Start(t, "--maxmemory-policy", "noeviction")
	input := "INCR n\nINCR n\nINCR n\nINCR n"
	for _, test := range []struct {
		name        string
		input       string
		at          int64  // record before which it happens
		happens     string // commands for redis-cli, joined by a semicolon
		why         string
		refused     bool
		n           string
		acked, left int64
		mend        string
	}{
		{"OOM", input, 3, "CONFIG SET maxmemory 1", "OOM", true, "2", 2, 2, "CONFIG SET maxmemory 0"},
		{"READONLY", input, 3, "REPLICAOF 127.0.0.1 1", "READONLY", true, "2", 2, 2, "REPLICAOF NO ONE"},
		{"rights", input, 3, "ACL SETUSER default -set", "NOPERM", true, "2", 2, 2, "ACL SETUSER default +@all"},
		{"another run", input, 3, "SET respipe:load {\"token\":\"other\"}", "another run has taken over", false, "2", 2, 2, "DEL respipe:load"},
		{"gone", input, 3, "DEL respipe:load", "the position is gone", false, "2", 2, 2, ""},
		{"emptied", input, 3, "FLUSHALL", "the position is gone", false, "", 2, 2, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			server.CLI("FLUSHALL")
			cfg := once(server.Addr, test.input)
			cfg.Window = 2
			var s shown
			cfg.OnSettled = s.settled
			src := script(test.input)
			src.before = func(n int64) {
				if n != test.at {
					return
				}
				committed(t, cfg, 2)
				for line := range strings.SplitSeq(test.happens, ";") {
					server.CLI(strings.Fields(line)...)
				}
			}
			rep, err := Run(context.Background(), src, cfg)
			bad, ok := errors.AsType[*PositionError](err)
			if !ok || bad.Refused != test.refused || !strings.Contains(err.Error(), test.why) || !strings.Contains(err.Error(), "respipe:load") {
				t.Errorf("%v", err)
			}
			if rep.Acknowledged != test.acked || rep.NotSent != test.left || rep.Unknown != 0 || rep.Errors != 0 || rep.Position.N != 3 {
				t.Errorf("%+v", rep)
			}
			if test.mend != "" {
				server.CLI(strings.Fields(test.mend)...)
			}
			if got := server.CLI("GET", "n"); got != test.n {
				t.Errorf("n is %s", got)
			}
			if test.refused { // the same again, when that is mended, does the rest
				if rep, err := runOnce(t, test.input, once(server.Addr, test.input)); err != nil || rep.Acknowledged != test.left || server.CLI("GET", "n") != "4" {
					t.Errorf("%v, %+v", err, rep)
				}
			}
		})
	}
}

// TestExactlyOnceTwoRuns has a second run begin while the first one is in the
// middle: it takes over, and every command takes effect once. One that does not
// know how far the first one is, and cannot read its input again, does not.
func TestExactlyOnceTwoRuns(t *testing.T) {
	server := redistest.Start(t)
	input := strings.Repeat("INCR n\n", 3000)
	for _, knows := range []bool{true, false} {
		server.CLI("FLUSHALL")
		first, second := once(server.Addr, input), once(server.Addr, input)
		first.Window, second.Window = 10, 10
		second.ExactlyOnce.Reopen = nil
		ended := make(chan error)
		go func() {
			slow := script(input)
			slow.before = func(n int64) {
				if n%50 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			_, err := Run(context.Background(), slow, first)
			ended <- err
		}()
		committed(t, first, 500)
		if knows {
			rep, err := runOnce(t, input, second)
			if old := <-ended; !errors.Is(old, ErrTakenOver) || err != nil || rep.EarlierRecords < 500 || rep.EarlierRecords+rep.Records != 3000 {
				t.Errorf("the first run: %v, the second: %v, %+v", old, err, rep)
			}
		} else {
			_, err := Run(context.Background(), script(input), second)
			if old := <-ended; old != nil || !errors.Is(err, ErrTakenOver) {
				t.Errorf("the first run: %v, the second: %v", old, err)
			}
		}
		if got := server.CLI("GET", "n"); got != "3000" {
			t.Errorf("n is %s", got)
		}
	}
}

func TestExactlyOnceNeverBegins(t *testing.T) {
	server := redistest.Start(t)
	server.CLI("HSET", "respipe:hash", "a", "1")
	server.CLI("SET", "respipe:text", "books")
	server.CLI("SET", "respipe:number", "{}")
	server.CLI("ACL", "SETUSER", "reader", "on", ">p", "~*", "+@all", "-set")
	server.CLI("ACL", "SETUSER", "alone", "on", ">p", "~*", "+@all", "-multi")
	for _, test := range []struct{ name, user, load, why string }{
		{"another type", "", "hash", "respipe:hash cannot be kept: WRONGTYPE"},
		{"text", "", "text", "what lies there is no position"},
		{"no position", "", "number", "what lies there is no position"},
		{"no SET", "reader", "load", "respipe:load cannot be kept: NOPERM"},
		{"no MULTI", "alone", "load", "respipe:load cannot be kept: NOPERM"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := once(server.Addr, "")
			cfg.ExactlyOnce.Name = test.load
			if cfg.User = test.user; cfg.User != "" {
				cfg.Pass = "p"
			}
			rep, err := Run(context.Background(), script("INCR n"), cfg)
			if bad, ok := errors.AsType[*PositionError](err); !ok || !bad.Refused || !strings.Contains(err.Error(), test.why) || rep.Bytes != 0 {
				t.Errorf("%v, %+v", err, rep)
			}
			if got := server.CLI("EXISTS", "n", "respipe:load"); got != "0" {
				t.Error("n or the position is there")
			}
		})
	}
}

// TestExactlyOnceWithoutTransactions: what answers as if it knew MULTI, and does
// not, is found out at the first command.
func TestExactlyOnceWithoutTransactions(t *testing.T) {
	value := ""
	dial := serve(t, func(args []string) []byte {
		switch args[0] {
		case "SET":
			value = args[2]
		case "GET":
			if value == "" {
				return []byte("$-1\r\n")
			}
			return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(value), value)
		case "EXEC":
			return []byte("*1\r\n+OK\r\n")
		}
		return []byte("+OK\r\n")
	})
	cfg := config(dial)
	cfg.ExactlyOnce = &ExactlyOnce{Name: "load"}
	rep, err := Run(context.Background(), script("SET a 1\nSET b 2"), cfg)
	if _, ok := errors.AsType[*LostError](err); !ok || !strings.Contains(err.Error(), "not queued behind MULTI") || rep.Unknown != 2 {
		t.Errorf("%v, %+v", err, rep)
	}
}

func TestExactlyOnceAfter(t *testing.T) {
	server := redistest.Start(t)
	for _, test := range []struct {
		after, input string
		expect       int64
		err, ready   string
		done         bool
	}{
		{"INCR ready", "INCR n\nSELECT 3\nINCR n", 3, "", "1", true},
		{"INCR ready", "INCR n\nFROB", 0, "", "", true},
		{"INCR ready", "INCR n", 2, "", "", true},
		{"LPUSH n x", "INCR n", 0, "WRONGTYPE", "", false},
		{"FROB", "INCR n", 0, "ERR unknown command 'FROB'", "", false},
	} {
		server.CLI("FLUSHALL")
		cfg := once(server.Addr, test.input)
		cfg.Expect = test.expect
		for word := range strings.FieldsSeq(test.after) {
			cfg.After = append(cfg.After, []byte(word))
		}
		for range 2 { // the second time it is done, or tries once more
			_, err := runOnce(t, test.input, cfg)
			_, failed := errors.AsType[*AfterError](err)
			if failed != (test.err != "") || failed && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v", test.after, err)
			}
		}
		p, err := ReadPosition(context.Background(), cfg, "load")
		if err != nil || p.Done != test.done || server.CLI("GET", "ready") != test.ready || server.CLI("GET", "n") != "1" {
			t.Errorf("%s: %v, %+v, ready %q, n %q", test.after, err, p, server.CLI("GET", "ready"), server.CLI("GET", "n"))
		}
	}
}

// TestExactlyOnceSendsAtOnce: what comes slowly is sent as it comes.
func TestExactlyOnceSendsAtOnce(t *testing.T) {
	server := redistest.Start(t)
	cfg := once(server.Addr, "")
	src := &trickle{lines: script("INCR n\nINCR n\nMULTI\nINCR n\nEXEC"), ready: make(chan []byte)}
	go func() {
		for _, n := range []int64{1, 2, 2, 2, 5} { // a block goes when it ends
			src.ready <- nil
			committed(t, cfg, n)
		}
		close(src.ready)
	}()
	if rep, err := Run(context.Background(), src, cfg); err != nil || rep.Replies != 5 {
		t.Errorf("%v, %+v", err, rep)
	}
}

// trickle is a source whose records come one by one.
type trickle struct {
	*lines
	ready chan []byte
}

func (s *trickle) Next(c *parser.Command) error {
	if _, ok, err := s.wait(s.ready); err != nil || !ok {
		if err == nil {
			err = io.EOF
		}
		return err
	}
	return s.lines.Next(c)
}

func TestExactlyOnceEndsEarly(t *testing.T) {
	server := redistest.Start(t)
	input := strings.Repeat("INCR n\nFROB\n", 100)
	for _, test := range []struct {
		name  string
		cfg   func(*Config)
		stop  bool // the context is cancelled
		err   string
		least int64 // errors
	}{
		{"too many errors", func(c *Config) { c.MaxErrors = 3 }, false, "too many errors", 4},
		{"interrupted", func(c *Config) {}, true, "context canceled", 5},
		{"the hook", func(c *Config) { c.OnSettled = func(Completed) error { return errString("full") } }, false, "full", 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			server.CLI("FLUSHALL")
			cfg := once(server.Addr, input)
			cfg.Window = 10
			test.cfg(&cfg)
			ctx, cancel := context.WithCancel(context.Background())
			src := script(input)
			src.before = func(n int64) {
				if n == 41 && test.stop {
					committed(t, cfg, 20)
					cancel()
				}
			}
			rep, err := Run(ctx, src, cfg)
			cancel()
			if err == nil || !strings.Contains(err.Error(), test.err) || rep.Errors < test.least || rep.Records == 200 ||
				rep.Acknowledged+rep.Refused+rep.NotSent != rep.Records {
				t.Errorf("%v, %+v", err, rep)
			}
			p, err := ReadPosition(context.Background(), cfg, "load")
			if err != nil || p.reach().n != rep.Acknowledged+rep.Refused || rep.Position.N != p.reach().n+1 {
				t.Errorf("position %+v, %v, report %+v", p, err, rep)
			}
			if _, err := runOnce(t, input, once(server.Addr, input)); err != nil || server.CLI("GET", "n") != "100" {
				t.Errorf("%v, n %s", err, server.CLI("GET", "n"))
			}
		})
	}
}

func TestExactlyOnceKeepsPace(t *testing.T) {
	server := redistest.Start(t)
	cfg := once(server.Addr, "")
	cfg.Rate = 2000
	began := time.Now()
	rep, err := Run(context.Background(), script(strings.Repeat("INCR n\n", 500)), cfg)
	if took := time.Since(began); err != nil || rep.Replies != 500 || took < 200*time.Millisecond {
		t.Errorf("%v, %d replies in %v", err, rep.Replies, took)
	}
}

func TestForget(t *testing.T) {
	server := redistest.Start(t)
	cfg := once(server.Addr, "INCR n")
	for _, want := range []bool{false, true, false} {
		existed, err := Forget(context.Background(), cfg, "load")
		if err != nil || existed != want {
			t.Errorf("%v, %v, want %v", existed, err, want)
		}
		if !existed {
			runOnce(t, "INCR n", cfg)
		}
		server.CLI("SET", "other", "1")
	}
	if got := server.CLI("GET", "n"); got != "2" {
		t.Errorf("n is %s", got)
	}
	cfg.Dial = func(context.Context, string) (net.Conn, error) { return nil, errString("no way") }
	if _, err := Forget(context.Background(), cfg, "load"); err == nil {
		t.Error("no error")
	}
}

func TestExactlyOnceNoAllocationPerCommand(t *testing.T) {
	server := redistest.Start(t)
	load := func(n int64) uint64 {
		server.CLI("FLUSHALL")
		cfg := once(server.Addr, "")
		cfg.Window = 20_000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rep, err := Run(context.Background(), repeated(n, "SET", "key:123456", "value-of-some-length"), cfg)
		runtime.ReadMemStats(&after)
		if err != nil || rep.Acknowledged != n {
			t.Fatal(err, rep)
		}
		return after.Mallocs - before.Mallocs
	}
	const more = 200_000
	if small, large := load(1000), load(1000+more); large > small+more/100 {
		t.Errorf("%d more commands take %d more allocations", more, large-small)
	}
}
