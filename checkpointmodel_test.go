package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// The model of checkpoints and rejects: a load is killed at random moments, and
// the same line run again until it ends. In the end each key holds what its
// last line gave it; each line has run, or is in a file of rejects; and what
// stood before a checkpoint when a run was killed has not run again. That is
// what the counters tell, of which each line has its own.

// torture is one schedule.
type torture struct {
	name    string
	args    []string // of respipe, and the input
	input   []byte   // on standard input; nil for none
	records int
	bad     map[int]bool // records that are refused, by number
	want    map[string]string
	silent  map[int]bool // records without a counter
	alone   bool         // one connection

	strikes []strike
}

// strike is what happens to a run after a while.
type strike struct {
	after time.Duration
	kind  string // kill, term or client
}

func TestCheckpointModel(t *testing.T) {
	t.Parallel()
	schedules, seed := 30, uint64(1)
	if text := os.Getenv("SCHEDULES"); text != "" {
		schedules, _ = strconv.Atoi(text)
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d schedules from seed %d", schedules, seed)
	const atOnce = 10 // they wait most of the time
	room := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range schedules {
		room <- struct{}{}
		if t.Failed() {
			break
		}
		all.Go(func() {
			defer func() { <-room }()
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				newTorture(t, rng).run(t)
			})
		})
	}
	all.Wait()
}

func newTorture(t *testing.T, rng *rand.Rand) *torture {
	s := &torture{records: 500 + rng.IntN(2000), bad: map[int]bool{}, silent: map[int]bool{}, want: map[string]string{}, alone: true}
	var text string
	name := "in.txt"
	if rng.IntN(3) == 0 {
		name, text = "in.csv", s.table(rng)
		s.args = []string{"--cmd", "SET s:{m} {id}", "--cmd", "INCR {c}:{id}", "--cmd", "HSET h {m} {id}"}
	} else {
		text = s.lines(rng)
	}
	path := filepath.Join(t.TempDir(), name)
	content := []byte(text)
	switch rng.IntN(4) {
	case 0:
		s.input, path = content, "-"
	case 1:
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(content)
		w.Close()
		content = b.Bytes()
	}
	if path != "-" {
		must(t, os.WriteFile(path, content, 0o600))
	}
	s.args = append(s.args, "--rate", strconv.Itoa(700+rng.IntN(3000)), "--window", []string{"1", "7", "100", "auto", "max"}[rng.IntN(5)], path)
	if n := rng.IntN(4); n > 1 {
		s.alone = false
		s.args = append(s.args, "--connections", strconv.Itoa(n))
	}
	for range 1 + rng.IntN(4) {
		kind := []string{"kill", "kill", "kill", "term", "client"}[rng.IntN(5)]
		s.strikes = append(s.strikes, strike{time.Duration(100+rng.IntN(2500)) * time.Millisecond, kind})
	}
	s.name = fmt.Sprintf("%d records, %q, %v", s.records, s.args, s.strikes)
	return s
}

// table is CSV; the counter of a bad record is no number.
func (s *torture) table(rng *rand.Rand) string {
	text := []string{"id,m,c"}
	for n := 1; n <= s.records; n++ {
		m, counter := strconv.Itoa(rng.IntN(40)), "c"
		if rng.IntN(50) == 0 {
			s.bad[n], counter = true, "text"
		}
		text = append(text, fmt.Sprintf("%d,%s,%s", n, m, counter))
		s.want["s:"+m] = strconv.Itoa(n)
	}
	return strings.Join(text, "\n")
}

// lines is command lines, blocks and changes of the database among them.
func (s *torture) lines(rng *rand.Rand) string {
	var text []string
	db, total := 0, s.records
	add := func(line string) {
		text = append(text, line)
		s.silent[len(text)] = !strings.HasPrefix(line, "INCR")
	}
	for len(text) < total {
		n := len(text) + 1
		switch key := rng.IntN(40); rng.IntN(12) {
		case 0:
			if db == 0 {
				s.want[fmt.Sprint("s:", key)] = strconv.Itoa(n)
			}
			add(fmt.Sprintf("SET s:%d %d", key, n))
		case 1:
			add("LPUSH text x")
			s.bad[n] = true
		case 2:
			add("MULTI")
			for range rng.IntN(5) {
				add(fmt.Sprint("INCR c:", len(text)+1))
			}
			add("EXEC")
		case 3:
			add("MULTI")
			add(fmt.Sprint("INCR c:", len(text)+1))
			add("FROB")
			add("EXEC")
			for bad := n; bad <= len(text); bad++ {
				s.bad[bad] = true
			}
		case 4:
			if rng.IntN(20) == 0 {
				to := 1 - db
				add(fmt.Sprint("SELECT ", to))
				db = to
			}
		default:
			add(fmt.Sprint("INCR c:", n))
		}
	}
	s.records = len(text)
	return strings.Join(text, "\n")
}

// run starts the load again and again until it ends.
func (s *torture) run(t *testing.T) {
	server := redistest.Start(t)
	for _, db := range []string{"0", "1"} {
		server.CLI("-n", db, "MSET", "text", "x", "text:0", "x")
	}
	for n := range s.bad {
		server.CLI("SET", fmt.Sprint("text:", n), "x")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "checkpoint")
	args := append([]string{"-p", server.Port, "--wait-ready", "10", "--checkpoint", path, "--rejects", filepath.Join(dir, "bad")}, s.args...)
	before, next := s.counters(server), 1
	for i := 0; ; i++ {
		c := start(t, args...)
		go func() {
			c.stdin.Write(s.input) // it may be gone
			c.stdin.Close()
		}()
		var hit strike
		if i < len(s.strikes) {
			hit = s.strikes[i]
			time.Sleep(hit.after)
			s.strike(c, server, hit)
		}
		c.cmd.Wait()
		now := s.counters(server)
		for n := 1; n < next; n++ {
			if now[n] != before[n] {
				t.Errorf("record %d, before the checkpoint at %d, ran again", n, next)
			}
		}
		status := c.cmd.ProcessState.ExitCode()
		if status == 0 || status == exitErrors {
			break
		}
		if status != -1 && status != exitLost && status != 143 || i > len(s.strikes)+1 {
			t.Errorf("exit status %d\n%s", status, c.stderr.String())
			break
		}
		next = readCheckpoint(t, path)
		if hit.kind == "term" && status == 143 && s.alone {
			for n := next; n <= s.records; n++ {
				if now[n] != before[n] {
					t.Errorf("record %d, behind the checkpoint at %d, ran before an orderly end", n, next)
				}
			}
		}
		before = now
	}
	s.compare(t, server, dir)
	if t.Failed() {
		t.Log(s.name)
	}
}

func (s *torture) strike(c *child, server *redistest.Server, hit strike) {
	switch hit.kind {
	case "kill":
		c.signal(syscall.SIGKILL)
	case "term":
		c.signal(syscall.SIGTERM)
	case "client":
		server.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	}
}

// counters returns the counters of all records, by number.
func (s *torture) counters(server *redistest.Server) []int {
	counts := make([]int, s.records+1)
	for db := range 2 {
		args := []string{"-n", strconv.Itoa(db), "MGET"}
		for n := range s.records + 1 {
			args = append(args, fmt.Sprint("c:", n))
		}
		for n, text := range strings.Split(server.CLI(args...), "\n") {
			count, _ := strconv.Atoi(text)
			counts[n] += count
		}
	}
	return counts
}

// readCheckpoint returns the number of the record to go on from.
func readCheckpoint(t *testing.T, path string) int {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return 1
	}
	must(t, err)
	var c checkpoint
	must(t, json.Unmarshal(text, &c))
	return int(c.Next)
}

// compare holds what is there at the end to what must be.
func (s *torture) compare(t *testing.T, server *redistest.Server, dir string) {
	for key, want := range s.want {
		if got := server.CLI("GET", key); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	counts := s.counters(server)
	rejected := s.rejected(t, dir)
	for n := 1; n <= s.records; n++ {
		runs := counts[n] > 0 || s.silent[n]
		switch {
		case s.bad[n] && (!rejected[n] || counts[n] > 0):
			t.Errorf("record %d cannot have run: %d times, rejected: %v", n, counts[n], rejected[n])
		case !s.bad[n] && (!runs || rejected[n]):
			t.Errorf("record %d must have run: %d times, rejected: %v", n, counts[n], rejected[n])
		case counts[n] > 1+len(s.strikes):
			t.Errorf("record %d ran %d times", n, counts[n])
		}
	}
}

// rejected returns the records that are in files of rejects, as their reasons
// say, and compares the number of lines.
func (s *torture) rejected(t *testing.T, dir string) map[int]bool {
	found := map[int]bool{}
	for name, text := range folder(t, dir) {
		if !strings.HasSuffix(name, reasonsSuffix) {
			continue
		}
		lines := 0
		for line := range strings.Lines(text) {
			var reason struct{ Record int }
			must(t, json.Unmarshal([]byte(line), &reason))
			found[reason.Record] = true
			lines++
		}
		kept := strings.Split(strings.TrimSuffix(read(t, dir, strings.TrimSuffix(name, reasonsSuffix)), "\n"), "\n")
		kept = slices.DeleteFunc(kept, func(line string) bool { return strings.HasPrefix(line, "SELECT ") || line == "id,m,c" })
		if len(kept) != lines && len(kept) != lines+1 { // killed between the two
			t.Errorf("%s: %d lines, and %d reasons", name, len(kept), lines)
		}
	}
	return found
}
