package loader

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// resuming is a configuration that connects to addr again and again.
func resuming(addr string) Config {
	cfg := config(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	})
	cfg.OnDisconnect, cfg.RetryFor = Resume, 5*time.Second
	cfg.Timeout, cfg.ConnectTimeout = 2*time.Second, 2*time.Second
	return cfg
}

// noted collects what OnNote is told.
type noted []string

func (n *noted) note(text string) { *n = append(*n, text) }

func (n *noted) has(part string) bool {
	return slices.ContainsFunc(*n, func(text string) bool { return strings.Contains(text, part) })
}

// sets writes n lines that set each of 100 keys again and again.
func sets(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "SET k%d %d\n", i%100, i)
	}
	return text.String()
}

// checkSets holds that each key has what its last line gave it.
func checkSets(t *testing.T, s *redistest.Server, n int) {
	t.Helper()
	for i := n - 100; i < n; i++ {
		if got := s.CLI("GET", fmt.Sprint("k", i%100)); got != fmt.Sprint(i) {
			t.Errorf("k%d is %s, want %d", i%100, got, i)
		}
	}
}

// TestResumeEndsOldConnection has the connection broken by a proxy that goes
// on to feed the server with what it was sent: without CLIENT KILL that would
// run behind what is sent again, and leave stale values.
func TestResumeEndsOldConnection(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr, func(n int) redistest.Fault {
		if n == 0 {
			return redistest.Fault{CutReplies: 9000, GoOn: true, Piece: 500, Delay: 2 * time.Millisecond}
		}
		return redistest.Fault{}
	})
	cfg := resuming(proxy.Addr)
	cfg.Window = 0
	var notes noted
	cfg.OnNote = notes.note
	const n = 20_000
	rep, err := Run(context.Background(), script(sets(n)), cfg)
	if err != nil || rep.Errors != 0 || rep.Replies != n || rep.Acknowledged != n {
		t.Fatalf("%v, %+v", err, rep)
	}
	if !notes.has("connected again") {
		t.Errorf("notes %q", notes)
	}
	proxy.Drained()
	checkSets(t, server, n)
}

func TestResumeWithoutClientKill(t *testing.T) {
	server := redistest.Start(t)
	server.CLI("ACL", "SETUSER", "default", "-client|kill")
	proxy := redistest.NewProxy(t, server.Addr, func(n int) redistest.Fault {
		return redistest.Fault{CutReplies: map[int]int64{0: 9000}[n]}
	})
	cfg := resuming(proxy.Addr)
	var notes noted
	cfg.OnNote = notes.note
	rep, err := Run(context.Background(), script(sets(5000)), cfg)
	if err != nil || !rep.OrderUnsure || !notes.has("cannot be vouched for") {
		t.Errorf("%v, %+v, %q", err, rep, notes)
	}
}

func TestResumeRestoresState(t *testing.T) {
	server := redistest.Start(t)
	server.CLI("ACL", "SETUSER", "bob", "on", ">secret", "~*", "+@all")
	proxy := redistest.NewProxy(t, server.Addr, func(n int) redistest.Fault {
		return redistest.Fault{CutRequests: map[int]int64{0: 3000, 1: 3000}[n]}
	})
	cfg := resuming(proxy.Addr)
	cfg.Window = 20
	input := "AUTH bob secret\nCLIENT SETNAME loading\nSELECT 5\n" + sets(500) + "CLIENT GETNAME\nWATCH k1\nMULTI\nSET who x\n" + sets(100) + "EXEC"
	rep, err := Run(context.Background(), script(input), cfg)
	if err != nil || rep.Errors > 0 {
		t.Fatalf("%v, %+v", err, rep)
	}
	if proxy.Connections() < 3 {
		t.Fatalf("%d connections", proxy.Connections())
	}
	if got := server.CLI("-n", "5", "DBSIZE"); got != "101" {
		t.Errorf("database 5 has %s keys", got)
	}
	if got := server.CLI("DBSIZE"); got != "0" {
		t.Errorf("database 0 has %s keys", got)
	}
	if rep.Position.DB != 5 {
		t.Errorf("ended in database %d", rep.Position.DB)
	}
}

// TestWrongTypeOfWhatWasInFlight resends commands that had run, and were not
// answered: the type of their key has changed behind the first. Whether it ran
// before is not known.
func TestWrongTypeOfWhatWasInFlight(t *testing.T) {
	server := redistest.Start(t)
	input := "SADD k a\nDEL k\nSET k x"
	proxy := redistest.NewProxy(t, server.Addr, func(n int) redistest.Fault {
		if n == 0 { // the replies to the greeting come through, those to the commands do not
			return redistest.Fault{Piece: 1 << 20, Stall: 2000, StallFor: time.Hour}
		}
		return redistest.Fault{}
	})
	cfg := resuming(proxy.Addr)
	cfg.Timeout = 200 * time.Millisecond
	go func() {
		for server.CLI("EXISTS", "k") != "1" {
			time.Sleep(5 * time.Millisecond)
		}
		server.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	}()
	rep, err := Run(context.Background(), script(input), cfg)
	if err != nil || rep.Errors != 1 || rep.Unknown != 1 || rep.Acknowledged != 2 || rep.Replies != 3 {
		t.Fatalf("%v, %+v", err, rep)
	}
	if got := server.CLI("GET", "k"); got != "x" {
		t.Errorf("k is %s", got)
	}
}

func TestIdleConnectionIsOpenedAgain(t *testing.T) {
	server := redistest.Start(t)
	cfg := resuming(server.Addr)
	var notes noted
	cfg.OnNote = notes.note
	cfg.Window = 1
	src := script("INCR n\nINCR n\nINCR n")
	src.before = func(n int64) {
		time.Sleep(50 * time.Millisecond) // it is answered
		server.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		time.Sleep(50 * time.Millisecond)
	}
	rep, err := Run(context.Background(), src, cfg)
	if err != nil || rep.Replies != 3 || len(notes) > 0 {
		t.Errorf("%v, %+v, %q", err, rep, notes)
	}
	if got := server.CLI("GET", "n"); got != "3" {
		t.Errorf("n is %s", got)
	}
}

func TestRestartedServer(t *testing.T) {
	for _, test := range []struct {
		mode Disconnect
		ok   bool
	}{{Resume, false}, {Resend, true}, {Fail, false}} {
		server := redistest.Start(t)
		cfg := resuming(server.Addr)
		cfg.OnDisconnect = test.mode
		var notes noted
		cfg.OnNote = notes.note
		src := script(sets(3000))
		src.before = func(n int64) {
			if n == 1500 {
				server.Kill()
				server.Restart()
			}
		}
		rep, err := Run(context.Background(), src, cfg)
		_, lost := errors.AsType[*LostError](err)
		if lost == test.ok || test.mode != Fail && !rep.Restarted {
			t.Errorf("mode %d: %v, %+v", test.mode, err, rep)
		}
		if test.ok && !notes.has("may be gone") {
			t.Errorf("notes %q", notes)
		}
	}
}

// TestPoisonedCommand holds that a command at which the server hangs up ends
// the load, and not never.
func TestPoisonedCommand(t *testing.T) {
	server := redistest.Start(t, "--client-query-buffer-limit", "1mb")
	cfg := resuming(server.Addr)
	cfg.RetryFor = 300 * time.Millisecond
	rep, err := Run(context.Background(), script("SET a 1\nSET b "+strings.Repeat("x", 3<<20)+"\nSET c 1"), cfg)
	if _, lost := errors.AsType[*LostError](err); !lost || rep.Acknowledged != 1 || rep.Position.N != 2 {
		t.Errorf("%v, %+v", err, rep)
	}
}

func TestBusyIsRedone(t *testing.T) {
	server := redistest.Start(t, "--lua-time-limit", "5")
	cfg := resuming(server.Addr)
	src := script(sets(3000))
	src.before = func(n int64) {
		if n == 1000 {
			go server.CLI("EVAL", "local t = redis.call('TIME')[1] repeat until redis.call('TIME')[1] - t > 1", "0")
			for !strings.HasPrefix(server.CLI("PING"), "BUSY") {
				time.Sleep(5 * time.Millisecond)
			}
		}
	}
	rep, err := Run(context.Background(), src, cfg)
	if err != nil || rep.Errors != 0 || rep.Replies != 3000 || rep.Acknowledged != 3000 {
		t.Errorf("%v, %+v", err, rep)
	}
	checkSets(t, server, 3000)
}

func TestBusyForTooLong(t *testing.T) {
	busy := time.Now().Add(400 * time.Millisecond)
	cfg := config(serve(t, func(args []string) []byte {
		if time.Now().Before(busy) {
			return []byte("-BUSY Redis is busy\r\n")
		}
		return []byte("+OK\r\n")
	}))
	cfg.RetryFor, cfg.Window = 100*time.Millisecond, 2
	src := script("SET a 1\nSET b 1\nSET c 1\nSET d 1\nSET e 1\nSET f 1")
	src.before = func(n int64) {
		if n == 6 {
			time.Sleep(time.Until(busy))
		}
	}
	var seen shown
	cfg.OnSettled = seen.settled
	rep, err := Run(context.Background(), src, cfg)
	if err != nil || rep.Errors == 0 || rep.Errors+rep.Acknowledged != 6 || rep.Replies != 6 {
		t.Errorf("%v, %+v", err, rep)
	}
	if len(seen.errors) == 0 || seen.errors[0] != "a.txt:1 BUSY Redis is busy" {
		t.Errorf("shown %q", seen.errors)
	}
}

func TestStalledServerThatAnswers(t *testing.T) {
	server := redistest.Start(t, "--lua-time-limit", "5")
	cfg := resuming(server.Addr)
	cfg.Timeout = 200 * time.Millisecond
	var notes noted
	cfg.OnNote = notes.note
	script := script("SET a 1\nEVAL local~t=redis.call('TIME')[1]~repeat~until~redis.call('TIME')[1]-t>1 0\nSET b 1")
	script.spaces = true
	rep, err := Run(context.Background(), script, cfg)
	if err != nil || rep.Replies != 3 || !notes.has("it is busy") {
		t.Errorf("%v, %+v, %q", err, rep, notes)
	}
}

func TestWaitReady(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	go func() {
		time.Sleep(200 * time.Millisecond)
		server.Restart()
	}()
	cfg := resuming(server.Addr)
	if _, err := Run(context.Background(), script("SET a 1"), cfg); err == nil {
		t.Error("it did not wait, and found the server")
	}
	cfg.WaitReady = 10 * time.Second
	var notes noted
	cfg.OnNote = notes.note
	rep, err := Run(context.Background(), script("SET a 1"), cfg)
	if err != nil || rep.Replies != 1 || len(notes) != 1 || !notes.has("waiting up to 10s") {
		t.Errorf("%v, %+v, %q", err, rep, notes)
	}
}

func TestHopeless(t *testing.T) {
	server := redistest.Start(t)
	server.CLI("REPLICAOF", "127.0.0.1", "1")
	rep, err := Run(context.Background(), script(sets(50_000)), resuming(server.Addr))
	if !errors.Is(err, ErrHopeless) || rep.Errors < hopeless || rep.Records == 50_000 {
		t.Errorf("%v, %+v", err, rep)
	}
}

func TestMaxErrorsPercent(t *testing.T) {
	for _, test := range []struct {
		percent float64
		stops   bool
	}{{10, true}, {60, false}} {
		cfg := config(serve(t, like))
		cfg.MaxErrorsPercent = test.percent
		rep, err := Run(context.Background(), script(strings.Repeat("SET a 1\n!bad\n", 3000)), cfg)
		if errors.Is(err, ErrTooManyErrors) != test.stops || test.stops && (rep.Records < 100 || rep.Records > 200) {
			t.Errorf("%v %%: %v, %+v", test.percent, err, rep)
		}
	}
}

func TestAfter(t *testing.T) {
	for _, test := range []struct {
		input  string
		after  string
		expect int64
		set    bool
		err    string
	}{
		{"SET a 1\nSELECT 3\nSET b 1", "SET ready 1", 0, true, ""},
		{"SET a 1\n!bad", "SET ready 1", 0, false, ""},
		{"WATCH a\nSET a 1\nMULTI\nSET b 1\nEXEC", "SET ready 1", 0, false, ""}, // the block does not run
		{"SET a 1", "SET ready 1", 2, false, ""},
		{"SET a 1\n?", "SET ready 1", 0, false, "a.txt:2: broken (byte 2)"},
		{"SET a 1", "LPUSH a x", 0, false, "the command after the load failed: " + wrongType},
	} {
		server := redistest.Start(t)
		cfg := resuming(server.Addr)
		cfg.After, cfg.Expect = nil, test.expect
		for _, word := range strings.Fields(test.after) {
			cfg.After = append(cfg.After, []byte(word))
		}
		rep, err := Run(context.Background(), script(test.input), cfg)
		if (server.CLI("GET", "ready") == "1") != test.set {
			t.Errorf("%q, %q: %v, %+v", test.input, test.after, err, rep)
		}
		if err != nil && err.Error() != test.err || err == nil && test.err != "" {
			t.Errorf("%q, %q: %v", test.input, test.after, err)
		}
	}
}

func TestHealth(t *testing.T) {
	server := redistest.Start(t, "--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random")
	var big strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&big, "SET k%d %s\n", i, strings.Repeat("x", 10_000))
	}
	rep, err := Run(context.Background(), script(big.String()), resuming(server.Addr))
	if err != nil || Evicted(rep.Nodes[0].Server.Health, rep.Nodes[0].After) < 100 || rep.Nodes[0].After.MaxMemory != 3<<20 || rep.Nodes[0].After.Policy != "allkeys-random" {
		t.Errorf("%v, %+v, %+v", err, rep.Nodes[0].Server.Health, rep.Nodes[0].After)
	}
	server.CLI("ACL", "SETUSER", "default", "-info")
	rep, err = Run(context.Background(), script("SET a 1"), resuming(server.Addr))
	if err != nil || rep.Nodes[0].Server.Health != nil || rep.Nodes[0].After != nil || Evicted(rep.Nodes[0].Server.Health, rep.Nodes[0].After) != 0 {
		t.Errorf("%v, %+v", err, rep)
	}
}

// TestBlocksThroughLostConnections loses all connections again and again while
// blocks are open on several of them: one whose end is still to be read, and
// others whose end is not sent yet.
func TestBlocksThroughLostConnections(t *testing.T) {
	server := redistest.Start(t)
	const blocks, keys = 1500, 40
	var text strings.Builder
	for i := range blocks {
		fmt.Fprintf(&text, "MULTI\nSET k%[1]d %[2]d\nPING\nSET {k%[1]d}2 %[2]d\nEXEC\nSET lone%[1]d %[2]d\n", i%keys, i)
	}
	for _, connections := range []int{1, 2, 3, 5} {
		server.CLI("FLUSHALL")
		cfg := resuming(server.Addr)
		cfg.Connections, cfg.Window, cfg.Rate = connections, 100, 4000
		ended := make(chan struct{})
		killer := make(chan struct{})
		settled := make(chan struct{}, 1)
		cfg.OnSettled = func(Completed) error {
			select {
			case settled <- struct{}{}:
			default:
			}
			return nil
		}
		go func() {
			defer close(killer)
			for {
				select {
				case <-ended:
					return
				case <-settled: // it has come further since the last time
				}
				time.Sleep(20 * time.Millisecond)
				server.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			}
		}()
		rep, err := Run(context.Background(), script(text.String()), cfg)
		close(ended)
		<-killer
		if err != nil || rep.Errors > 0 || rep.Replies != 6*blocks || rep.Reconnects == 0 {
			t.Errorf("%d connections: %v, %+v", connections, err, rep)
		}
		for i := blocks - keys; i < blocks; i++ {
			if got, want := server.CLI("MGET", fmt.Sprintf("k%d", i%keys), fmt.Sprintf("{k%d}2", i%keys), fmt.Sprintf("lone%d", i%keys)), fmt.Sprintf("%[1]d\n%[1]d\n%[1]d", i); got != want {
				t.Errorf("%d connections: %q, want %q", connections, got, want)
			}
		}
	}
}
