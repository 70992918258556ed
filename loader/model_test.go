package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// The model test loads random commands through random faults into a real
// server and holds what is there afterwards to what the report allows: every
// acknowledged command ran once and in order, no refused one ran, and of those
// that are unknown or not sent the first so many may have.

// database is a model of one: a string, a list or a set for each key.
type database map[string]any

type set map[string]bool

// run executes a command of the model; false is an error reply, and no effect.
func (db database) run(args []string) bool {
	key := args[1]
	switch value := db[key]; args[0] {
	case "SET":
		db[key] = args[2]
	case "DEL":
		delete(db, key)
	case "INCR":
		n := 0
		if value != nil {
			text, ok := value.(string)
			var err error
			if n, err = strconv.Atoi(text); !ok || err != nil || strconv.Itoa(n) != text { // "04" is no integer to Redis
				return false
			}
		}
		db[key] = strconv.Itoa(n + 1)
	case "APPEND":
		text, ok := value.(string)
		if value != nil && !ok {
			return false
		}
		db[key] = text + args[2]
	case "RPUSH":
		list, ok := value.([]string)
		if value != nil && !ok {
			return false
		}
		db[key] = append(slices.Clone(list), args[2])
	case "SADD":
		members, ok := value.(set)
		if value != nil && !ok {
			return false
		}
		members = maps.Clone(members)
		if members == nil {
			members = set{}
		}
		members[args[2]] = true
		db[key] = members
	}
	return true
}

func (db database) String() string {
	var text []string
	for key, value := range db {
		if members, ok := value.(set); ok {
			value = slices.Sorted(maps.Keys(members))
		}
		text = append(text, fmt.Sprint(key, "=", value))
	}
	slices.Sort(text)
	return strings.Join(text, " ")
}

// readDatabase reads all keys of a server.
func readDatabase(s *redistest.Server, keys []string) database {
	db := database{}
	for _, key := range keys {
		switch s.CLI("TYPE", key) {
		case "string":
			db[key] = s.CLI("GET", key)
		case "list":
			db[key] = strings.Split(s.CLI("LRANGE", key, "0", "-1"), "\n")
		case "set":
			members := set{}
			for _, m := range strings.Split(s.CLI("SMEMBERS", key), "\n") {
				members[m] = true
			}
			db[key] = members
		}
	}
	return db
}

var modelKeys = []string{"a", "b", "c", "d", "e", "f"}

// taggedKeys lie where modelKeys lie, and are used in blocks; allKeys are both.
var (
	taggedKeys = []string{"{a}set", "{b}set", "{c}set", "{d}set", "{e}set", "{f}set"}
	allKeys    = slices.Concat(modelKeys, taggedKeys)
)

// randomLoad writes n command lines, some in blocks.
func randomLoad(rng *rand.Rand, n int) (lines []string) {
	for len(lines) < n {
		switch rng.IntN(12) {
		case 0, 1:
			lines = append(lines, randomBlock(rng, len(lines))...)
			continue
		case 2: // several in a row, each on one key: they may be open on several connections at once
			for range 2 + rng.IntN(6) {
				key := modelKeys[rng.IntN(len(modelKeys))]
				lines = append(lines, "MULTI", fmt.Sprint("SET ", key, " ", len(lines)), fmt.Sprint("SADD {", key, "}set ", len(lines)), "EXEC")
			}
			continue
		}
		lines = append(lines, randomCommand(rng, len(lines)))
	}
	return lines
}

func randomBlock(rng *rand.Rand, n int) []string {
	lines := []string{"MULTI"}
	for range 1 + rng.IntN(4) {
		lines = append(lines, randomCommand(rng, n+len(lines)))
	}
	return append(lines, "EXEC")
}

func randomCommand(rng *rand.Rand, n int) string {
	key := modelKeys[rng.IntN(len(modelKeys))]
	switch rng.IntN(10) {
	case 9:
		return fmt.Sprint("APPEND ", key, " ", 1+n%9) // Redis takes no number with a 0 in front
	case 0:
		return "DEL " + key
	case 1, 2:
		return fmt.Sprint("SET ", key, " ", n)
	case 3, 4:
		return "INCR " + key
	case 5, 6:
		return fmt.Sprint("SADD ", key, " ", n)
	}
	return fmt.Sprint("RPUSH ", key, " ", n)
}

// outcome of a line, from what OnSettled was told.
type outcome uint8

const (
	pending outcome = iota // it may have run
	applied
	rejected
	unsent // it did not run; nothing was said of it, or that it was not sent
)

// step is a line that may have run, or a block of them.
type step struct {
	commands [][]string
	pending  bool
}

// stepsOf returns what may have run according to these outcomes.
func stepsOf(lines []string, fates []outcome) (steps []step) {
	for i := 0; i < len(lines); i++ {
		if lines[i] != "MULTI" {
			if fates[i] == applied || fates[i] == pending {
				steps = append(steps, step{[][]string{strings.Fields(lines[i])}, fates[i] == pending})
			}
			continue
		}
		var s step
		for i++; lines[i] != "EXEC"; i++ {
			s.commands = append(s.commands, strings.Fields(lines[i])) // an element that fails does so in the model, too
		}
		s.pending = fates[i] == pending
		if fates[i] == applied || fates[i] == pending {
			steps = append(steps, s)
		}
	}
	return steps
}

// onKey returns what the steps do to one key.
func onKey(steps []step, key string) (only []step) {
	for _, s := range steps {
		part := step{pending: s.pending}
		for _, args := range s.commands {
			if args[1] == key {
				part.commands = append(part.commands, args)
			}
		}
		if part.commands != nil {
			only = append(only, part)
		}
	}
	return only
}

// expected returns the states that are right: of the pending steps the first so
// many may have run.
func expected(steps []step) (states []string) {
	may := 0
	for _, s := range steps {
		if s.pending {
			may++
		}
	}
	for ran := range may + 1 {
		db, seen := database{}, 0
		for _, s := range steps {
			if s.pending {
				seen++
				if seen > ran {
					continue
				}
			}
			for _, args := range s.commands {
				db.run(args)
			}
		}
		states = append(states, db.String())
	}
	return states
}

// schedule is one run of the model test.
type schedule struct {
	lines  []string
	cfg    Config
	faults []redistest.Fault // of the first connections
	strike func(*redistest.Server)
	after  time.Duration // when it strikes
	name   string

	loses   bool // the server forgets what it had acknowledged
	refuses bool // it refuses single commands
}

func randomSchedule(rng *rand.Rand) *schedule {
	s := &schedule{lines: randomLoad(rng, 100+rng.IntN(400))}
	s.cfg = config(nil)
	s.cfg.Connections = 1 + max(0, rng.IntN(5)-2)
	s.cfg.Window = []int{1, 2, 8, 40, 200, 0}[rng.IntN(6)]
	s.cfg.Rate = []float64{0, 0, 0, 5000}[rng.IntN(4)]
	s.cfg.Timeout, s.cfg.ConnectTimeout = 300*time.Millisecond, 500*time.Millisecond
	s.cfg.RetryFor = 3 * time.Second
	s.cfg.OnDisconnect = []Disconnect{Resume, Resume, Resume, Fail, Resend}[rng.IntN(5)]
	for range rng.IntN(3) {
		s.faults = append(s.faults, randomFault(rng))
	}
	s.after = time.Duration(rng.IntN(30)) * time.Millisecond
	s.cfg.KeepSource = rng.IntN(2) == 0
	s.cfg.KeepReplies = []int{0, 0, 4, KeepAll}[rng.IntN(4)]
	switch rng.IntN(8) {
	case 0:
		s.name, s.refuses = "slow script", true
		s.strike = func(r *redistest.Server) {
			r.CLI("EVAL", slowScript, "0", strconv.Itoa(20+rng.IntN(100)))
		}
	case 1:
		s.name = "CLIENT KILL"
		s.strike = func(r *redistest.Server) { r.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") }
	case 2:
		s.name = "SIGSTOP"
		s.strike = func(r *redistest.Server) { r.Stop(); time.Sleep(700 * time.Millisecond); r.Cont() }
	case 3:
		s.name = "SIGKILL with AOF"
		s.strike = func(r *redistest.Server) { r.Kill(); r.Restart() }
	case 4:
		s.name = "SIGKILL without AOF"
		s.loses = true
		s.strike = func(r *redistest.Server) { r.Kill(); r.Restart() }
	case 5:
		s.name, s.refuses = "OOM", true
		s.strike = func(r *redistest.Server) {
			r.CLI("CONFIG", "SET", "maxmemory", "1")
			time.Sleep(2 * time.Millisecond)
			r.CLI("CONFIG", "SET", "maxmemory", "0")
		}
	}
	return s
}

// slowScript runs for so many milliseconds.
const slowScript = "local t = redis.call('TIME'); local e = t[1] * 1000 + t[2] / 1000 + tonumber(ARGV[1]) " +
	"repeat t = redis.call('TIME') until t[1] * 1000 + t[2] / 1000 > e"

func randomFault(rng *rand.Rand) redistest.Fault {
	at := int64(1 + rng.IntN(8000))
	f := redistest.Fault{Reset: rng.IntN(2) == 0}
	switch rng.IntN(6) {
	case 0:
		f.CutRequests = at
	case 1:
		f.CutRequests, f.GoOn = at, true
	case 2:
		f.CutReplies = at
	case 3:
		f.CutReplies, f.GoOn = at, true
	case 4:
		f.Garbage = at
	case 5:
		f.Stall, f.StallFor = at, time.Duration(rng.IntN(600))*time.Millisecond
	}
	if rng.IntN(2) == 0 {
		f.Piece, f.Delay = 1+rng.IntN(200), 100*time.Microsecond
	}
	return f
}

func (s *schedule) String() string {
	return fmt.Sprintf("%d lines, %d connections, window %d, rate %g, on disconnect %d, faults %+v, %q after %v", len(s.lines), s.cfg.Connections, s.cfg.Window, s.cfg.Rate, s.cfg.OnDisconnect, s.faults, s.name, s.after)
}

func TestModel(t *testing.T) {
	schedules, seed := 30, uint64(1)
	if text := os.Getenv("SCHEDULES"); text != "" {
		schedules, _ = strconv.Atoi(text)
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d schedules from seed %d", schedules, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	kept := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always", "--lua-time-limit", "5")
	forgetful := redistest.Start(t, "--lua-time-limit", "5")
	ends := map[string]int{}
	for i := range schedules {
		s := randomSchedule(rng)
		server := kept
		if s.loses {
			server = forgetful
		}
		if end := s.check(t, server); t.Failed() {
			t.Fatalf("schedule %d of seed %d: %v, ended with %s", i, seed, s, end)
		} else {
			ends[end]++
		}
	}
	t.Logf("ends: %v", ends)
}

// check runs the schedule and compares. It returns how the load ended.
func (s *schedule) check(t *testing.T, server *redistest.Server) string {
	server.CLI("FLUSHALL")
	proxy := redistest.NewProxy(t, server.Addr, func(n int) redistest.Fault {
		if n < len(s.faults) {
			return s.faults[n]
		}
		return redistest.Fault{}
	})
	fates := slices.Repeat([]outcome{unsent}, len(s.lines))
	s.cfg.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", proxy.Addr)
	}
	kept := &keptModel{T: t, schedule: s, fates: fates}
	kept.watch(&s.cfg)
	struck := make(chan struct{})
	go func() {
		defer close(struck)
		if s.strike != nil {
			time.Sleep(s.after)
			s.strike(server)
		}
	}()
	src := script(strings.Join(s.lines, "\n"))
	src.keeps = s.cfg.KeepSource
	rep, err := Run(context.Background(), src, s.cfg)
	<-struck
	kept.ended(rep, err)
	proxy.Drained()
	s.compare(t, server, fates, rep, err)
	return s.ending(t, rep, err)
}

func (s *schedule) ending(t *testing.T, rep *Report, err error) string {
	lost, isLost := errors.AsType[*LostError](err)
	switch {
	case err == nil && rep.Errors == 0:
		return "well"
	case err == nil:
		return "errors"
	case isLost && lost.Why == "":
		return "lost"
	case isLost:
		return "lost: " + withoutNumbers(lost.Why)
	}
	if _, ok := errors.AsType[*ConnectError](err); ok {
		return "no connection"
	}
	t.Errorf("ended with %v", err)
	return ""
}

func withoutNumbers(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)), " ")
}

func (s *schedule) compare(t *testing.T, server *redistest.Server, fates []outcome, rep *Report, err error) {
	if rep.Server == nil {
		return
	}
	all := int64(len(s.lines))
	if sum := rep.Acknowledged + rep.Refused + rep.Unknown + rep.NotSent; sum != rep.Records || err == nil && sum != all {
		t.Errorf("%d acknowledged, %d refused, %d unknown, %d not sent of %d records read, %d in all (%v)",
			rep.Acknowledged, rep.Refused, rep.Unknown, rep.NotSent, rep.Records, all, err)
	}
	if err == nil && rep.Replies != all {
		t.Errorf("%d replies to %d commands", rep.Replies, all)
	}
	for i, fate := range fates {
		if left := fate == pending || fate == unsent; left && (err == nil || int64(i+1) < rep.Position.N) {
			t.Errorf("line %d (%s) is neither acknowledged nor refused, but the load goes on from %d, %v", i+1, s.lines[i], rep.Position.N, err)
		}
	}
	if rep.Twice > 0 || s.loses || err != nil && s.refuses {
		return // what is there cannot be told
	}
	for server.CLI("PING") != "PONG" { // it still loads its own data
		time.Sleep(5 * time.Millisecond)
	}
	steps := stepsOf(s.lines, fates)
	if s.cfg.Connections == 1 {
		s.compareState(t, readDatabase(server, allKeys), steps, err)
		return
	}
	for _, key := range allKeys { // the order is kept for each key
		s.compareState(t, readDatabase(server, []string{key}), onKey(steps, key), err)
	}
}

func (s *schedule) compareState(t *testing.T, got database, steps []step, err error) {
	states := expected(steps)
	if err == nil {
		states = states[len(states)-1:]
	}
	if !slices.Contains(states, got.String()) {
		t.Errorf("the database holds\n%v\nthe report (%v) allows one of these\n%s", got, err, strings.Join(states, "\n"))
	}
}
