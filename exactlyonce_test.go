package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// killedLoad is a load whose process is killed at random moments, and begun
// again by the same command line until it ends.
type killedLoad struct {
	server *redistest.Server
	args   []string
	counts [2]int   // INCRs in database 0 and 1
	trace  []string // what was pushed in database 0

	refused []string // records that the server refuses, each with a number of its own
	rejects string   // file of --rejects
}

// newKilledLoad writes an input of n records, or some more, in several files.
func newKilledLoad(t *testing.T, rng *rand.Rand, server *redistest.Server, n int) *killedLoad {
	l := &killedLoad{server: server}
	window := 1 + rng.IntN(200)
	n = min(n, 400*window) // a process ends in time on a busy machine, too
	dir, each := t.TempDir(), 50+rng.IntN(n)
	var text strings.Builder
	text.WriteString("SET text x\nSELECT 1\nSET text x\nSELECT 0\n")
	db := 0
	bad := rng.IntN(4) > 0
	for i := range n {
		switch rng.IntN(100) {
		case 0:
			db = 1 - db
			fmt.Fprintf(&text, "SELECT %d\n", db)
		case 1:
			fmt.Fprintf(&text, "MULTI\nINCR n\nINCR n\nEXEC\n")
			l.counts[db] += 2
		case 2, 3:
			if bad {
				record := fmt.Sprint([]string{"FROB ", "LPUSH text "}[rng.IntN(2)], i)
				fmt.Fprintln(&text, record)
				l.refused = append(l.refused, record)
			}
		default:
			text.WriteString("INCR n\n")
			l.counts[db]++
		}
		if db == 0 {
			fmt.Fprintf(&text, "RPUSH trace %d\n", i)
			l.trace = append(l.trace, strconv.Itoa(i))
		}
		if i%each == each-1 || i == n-1 {
			file := filepath.Join(dir, fmt.Sprintf("%06d.txt", i))
			if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			text.Reset()
		}
	}
	l.rejects = filepath.Join(t.TempDir(), "rejects")
	l.args = []string{"-p", server.Port, "--exactly-once", "nightly", "--rejects", l.rejects, "--after", "SET ready 1", "--window", strconv.Itoa(window), "-t", "2", "--wait-ready", "10", dir}
	return l
}

// run begins the load and kills it after a time, 0 for never. It returns the
// exit status, -1 for a process that was killed.
func (l *killedLoad) run(t *testing.T, after time.Duration) (*child, int) {
	c := start(t, l.args...)
	c.stdin.Close()
	if after > 0 {
		defer time.AfterFunc(after, func() { c.signal(syscall.SIGKILL) }).Stop()
	}
	return c, c.wait()
}

// check looks whether every command took effect once, in order.
func (l *killedLoad) check(t *testing.T) {
	eventually(t, l.server, "PONG", "PING") // it may still load its own data
	for db, want := range l.counts {
		got, _ := strconv.Atoi(l.server.CLI("-n", strconv.Itoa(db), "GET", "n")) // none is 0
		if got != want {
			t.Errorf("n of database %d is %d, want %d", db, got, want)
		}
	}
	if got := l.server.CLI("LRANGE", "trace", "0", "-1"); got != strings.Join(l.trace, "\n") {
		t.Errorf("%d of %d were pushed, or in another order", len(strings.Split(got, "\n")), len(l.trace))
	}
}

// checkRefused looks whether each record that was refused is in a file of
// rejects of some run, or in one of unknown records and in a range that the last
// run names, as stderr shows; and whether --after was sent.
func (l *killedLoad) checkRefused(t *testing.T, stderr string) {
	found, unknown := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob(l.rejects + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasSuffix(file, ".unknown") {
				unknown[strings.TrimSpace(line)] = true
			} else {
				found[strings.TrimSpace(line)] = true
			}
		}
	}
	unconfirmed := strings.Contains(stderr, "unconfirmed: ")
	for _, record := range l.refused {
		if !found[record] && !(unknown[record] && unconfirmed) {
			t.Errorf("%s was refused, and is in no file; unknown: %v\n%s", record, unknown[record], stderr)
		}
	}
	want := "0"
	if len(l.refused) == 0 && !unconfirmed {
		want = "1"
	}
	if got := l.server.CLI("EXISTS", "ready"); got != want {
		t.Errorf("ready is there: %s, want %s\n%s", got, want, stderr)
	}
}

// TestExactlyOnceKilledModel kills respipe, and now and then the server, with
// SIGKILL.
func TestExactlyOnceKilledModel(t *testing.T) {
	loads, seed := 6, uint64(1)
	if text := os.Getenv("SCHEDULES"); text != "" {
		loads, _ = strconv.Atoi(text)
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d loads from seed %d", loads, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	servers := map[string]*redistest.Server{}
	for _, fsync := range []string{"always", "everysec"} {
		servers[fsync] = redistest.Start(t, "--appendonly", "yes", "--appendfsync", fsync)
	}
	killed, runs, unconfirmed := 0, 0, 0
	for i := range loads {
		fsync := []string{"always", "everysec"}[i%2]
		server := servers[fsync]
		server.CLI("FLUSHALL")
		l := newKilledLoad(t, rng, server, 500+rng.IntN(8000))
		for end := 0; ; end++ {
			var after time.Duration
			if end < 10 {
				after = time.Duration(20+rng.IntN(400)) * time.Millisecond // with the race detector, the start takes half of that
			}
			struck := make(chan struct{})
			go func() {
				defer close(struck)
				if end%4 == 3 {
					time.Sleep(after / 2)
					server.Kill()
					server.Restart()
				}
			}()
			c, status := l.run(t, after)
			<-struck
			runs++
			if status == -1 {
				killed++
				continue
			}
			if wrong := len(l.refused) > 0 || strings.Contains(c.stderr.String(), "unconfirmed: "); status != exitErrors && wrong || status != 0 && !wrong {
				if status != 0 || !strings.Contains(c.stderr.String(), "nightly is done") { // an earlier run has told that
					t.Errorf("exit status %d\n%s", status, c.stderr.String())
				}
			}
			break
		}
		l.check(t)
		c, status := l.run(t, 0)
		want := 0
		if strings.Contains(c.stderr.String(), "unconfirmed: ") {
			want, unconfirmed = exitErrors, unconfirmed+1
		}
		if !strings.Contains(c.stderr.String(), "nightly is done") || status != want || !strings.Contains(c.stdout.String(), "errors: 0, replies: 0\n") {
			t.Errorf("the last run: exit status %d, want %d\n%s%s", status, want, c.stdout.String(), c.stderr.String())
		}
		l.checkRefused(t, c.stderr.String())
		if t.Failed() {
			t.Fatalf("load %d of seed %d, %d runs, appendfsync %s", i, seed, runs, fsync)
		}
	}
	t.Logf("%d runs, %d of them killed; %d loads have unconfirmed records", runs, killed, unconfirmed)
}

// TestExactlyOnceFailover: the replica that takes over lacks the last second of
// what its master had acknowledged; the position that it has says what.
func TestExactlyOnceFailover(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t, 3, 2)
	const n = 60_000
	file := filepath.Join(t.TempDir(), "input.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("INCR n\n", n)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--exactly-once", "counts", "--progress", "bar", "--rate", "20000", "--retry-for", "20s", "--sentinel-master", g.Name(), file}
	for _, addr := range g.Addrs() {
		args = append(args, "--sentinel", addr)
	}
	c := start(t, args...)
	eventually(t, g.Replica(), "1", "EXISTS", "n")
	g.Replica().Hold()
	time.Sleep(time.Second)
	g.Failover()
	c.cmd.Wait()
	c.expect(0, fmt.Sprintf("^errors: 0, replies: %d$", n), `\d+ commands were loaded again, as the server had lost them$`)
	if got := g.Master().CLI("GET", "n"); got != strconv.Itoa(n) {
		t.Errorf("n is %s", got)
	}
}

// confirmed waits until the position of a load says that all replies were seen, as
// it does soon after the input pauses.
func confirmed(t *testing.T, s *redistest.Server, name string) {
	t.Helper()
	eventually(t, s, "0", "EVAL", `return string.find(redis.call('GET', KEYS[1]), '"confirmed"', 1, true) and 1 or 0`, "1", "respipe:"+name)
}

// TestExactlyOnceTakenOver: of two runs the older one ends.
func TestExactlyOnceTakenOver(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	older := start(t, "-p", s.Port, "--exactly-once", "x", "--cmd", "INCR n", "-f", "lines")
	older.write("1\n2\n")
	eventually(t, s, "2", "GET", "n")
	confirmed(t, s, "x")
	newer := start(t, "-p", s.Port, "--exactly-once", "x", "--cmd", "INCR n", "-f", "lines")
	newer.write("1\n2\n3\n")
	newer.stdin.Close()
	newer.expect(0, "^going on behind <stdin>:2: 2 records were loaded by earlier runs$", "^errors: 0, replies: 1$")
	older.write("3\n")
	older.expect(exitLost, "^respipe:x: another run has taken over$", `^to go on from <stdin>:3:$`,
		"^    respipe -p "+s.Port+" --exactly-once x --cmd 'INCR n' -f lines$")
	if got := s.CLI("GET", "n"); got != "3" {
		t.Errorf("n is %s", got)
	}
}

// TestExactlyOnceServerForgets: a pipe cannot be read again; what the user may
// do is said, and the same line does it.
func TestExactlyOnceServerForgets(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := start(t, "-p", s.Port, "--exactly-once", "x")
	c.write("INCR n\n")
	eventually(t, s, "1", "GET", "n")
	confirmed(t, s, "x")
	s.CLI("SAVE")
	c.write("INCR n\n")
	eventually(t, s, "2", "GET", "n")
	s.Kill()
	s.Restart()
	io.WriteString(c.stdin, "INCR n\n") // where it has not ended by itself
	c.expect(exitLost, "the server has lost what it had acknowledged, and the input cannot be read again from there")
	again := start(t, "-p", s.Port, "--exactly-once", "x")
	again.write("INCR n\nINCR n\nINCR n\n")
	again.stdin.Close()
	again.expect(0, "^errors: 0, replies: 2$")
	if got := s.CLI("GET", "n"); got != "3" {
		t.Errorf("n is %s", got)
	}
}
