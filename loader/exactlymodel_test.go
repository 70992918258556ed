package loader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// The model test of exactly once loads random commands through random faults,
// again and again until it says that it is done. Then the server holds what one
// undisturbed load would have left there.

// onceSchedule is one load, of as many runs as it takes.
type onceSchedule struct {
	lines  []string
	limit  int           // records in a transaction
	reads  bool          // the input can be read again
	pause  time.Duration // of the source, at each tenth record
	faults []redistest.Fault
	kills  []time.Duration // when runs are killed, 0 for never
	strike func(*redistest.Server)
	after  time.Duration
	name   string

	refused []bool            // of each line: the server refuses it
	said    map[int64]Outcome // of these records, as the observer was told
}

// refusedOf says of each line whether the server refuses it.
func refusedOf(lines []string) []bool {
	model, refused := database{}, make([]bool, len(lines))
	for i, line := range lines {
		if args := strings.Fields(line); len(args) > 1 {
			refused[i] = !model.run(args)
		}
	}
	return refused
}

func randomOnce(rng *rand.Rand) *onceSchedule {
	s := &onceSchedule{
		lines: traced(rng, randomLoad(rng, 200+rng.IntN(1000))),
		limit: []int{1, 2, 8, 40, 200, 1000}[rng.IntN(6)],
		reads: rng.IntN(4) > 0,
		after: time.Duration(rng.IntN(40)) * time.Millisecond,
		pause: time.Duration(rng.IntN(3)) * time.Millisecond / 2,
	}
	if rng.IntN(2) == 0 { // nothing is refused
		for i, refused := range refusedOf(s.lines) {
			if refused {
				s.lines[i] = fmt.Sprint("RPUSH trace ", i)
			}
		}
	}
	s.refused = refusedOf(s.lines)
	for range rng.IntN(8) {
		s.faults = append(s.faults, randomOnceFault(rng))
	}
	for range rng.IntN(4) {
		s.kills = append(s.kills, time.Duration(1+rng.IntN(40))*time.Millisecond)
	}
	switch rng.IntN(9) {
	case 0:
		s.name = "CLIENT KILL"
		s.strike = func(r *redistest.Server) { r.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") }
	case 1:
		s.name = "SIGSTOP"
		s.strike = func(r *redistest.Server) { r.Stop(); time.Sleep(700 * time.Millisecond); r.Cont() }
	case 2:
		s.name = "SIGKILL"
		s.strike = func(r *redistest.Server) { r.Kill(); r.Restart() }
	case 3, 6:
		s.name = "SIGKILL behind a save"
		lost := time.Duration(rng.IntN(20)) * time.Millisecond
		s.strike = func(r *redistest.Server) { r.CLI("SAVE"); time.Sleep(lost); r.Kill(); r.Restart() }
	case 4:
		s.name = "OOM"
		s.strike = func(r *redistest.Server) {
			r.CLI("CONFIG", "SET", "maxmemory", "1")
			time.Sleep(2 * time.Millisecond)
			r.CLI("CONFIG", "SET", "maxmemory", "0")
		}
	case 5:
		s.name = "slow script"
		s.strike = func(r *redistest.Server) { r.CLI("EVAL", slowScript, "0", strconv.Itoa(20+rng.IntN(100))) }
	}
	return s
}

// traced has some of the commands leave a trace that no later one covers.
func traced(rng *rand.Rand, lines []string) []string {
	for i, line := range lines {
		if line != "MULTI" && line != "EXEC" && rng.IntN(3) == 0 {
			lines[i] = fmt.Sprint("RPUSH trace ", i)
		}
	}
	return lines
}

// randomOnceFault is mostly one behind the greeting, whose longest part is the
// reply to INFO. What was sent may go on to the server for long.
func randomOnceFault(rng *rand.Rand) (f redistest.Fault) {
	requests, replies := int64(200+rng.IntN(20000)), int64(6000+rng.IntN(12000))
	switch rng.IntN(8) {
	case 0:
		f.CutRequests = requests
	case 1:
		f.CutRequests, f.GoOn = requests, true
	case 2:
		f.CutReplies = replies
	case 3, 4, 5:
		f.CutReplies, f.GoOn = replies, true
	case 6:
		f.Garbage = replies
	case 7:
		f.Stall, f.StallFor = replies, time.Duration(rng.IntN(600))*time.Millisecond
	}
	f.Reset = rng.IntN(2) == 0
	if rng.IntN(2) == 0 {
		f.Piece, f.Delay = 50+rng.IntN(1000), time.Duration(1+rng.IntN(10))*100*time.Microsecond
	}
	return f
}

func (s *onceSchedule) String() string {
	return fmt.Sprintf("%d lines, %d in a transaction, read again: %v, pause %v, faults %+v, kills %v, %q after %v", len(s.lines), s.limit, s.reads, s.pause, s.faults, s.kills, s.name, s.after)
}

func TestExactlyOnceModel(t *testing.T) {
	schedules, seed := 30, uint64(1)
	if text := os.Getenv("SCHEDULES"); text != "" {
		schedules, _ = strconv.Atoi(text)
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d schedules from seed %d", schedules, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	aof := []string{"--lua-time-limit", "5", "--appendonly", "yes", "--appendfsync"}
	servers := []*redistest.Server{
		redistest.Start(t, append(aof, "always")...),
		redistest.Start(t, append(aof, "everysec")...),
		redistest.Start(t, "--lua-time-limit", "5"), // keeps what it saves, or nothing
	}
	ends := map[string]int{}
	for i := range schedules {
		s := randomOnce(rng)
		server := servers[rng.IntN(3)]
		if s.name == "SIGKILL behind a save" {
			server = servers[2]
		}
		s.check(t, server, ends)
		if t.Failed() {
			t.Fatalf("schedule %d of seed %d: %v", i, seed, s)
		}
	}
	t.Logf("ends: %v", ends)
}

// check runs the load to its end and compares.
func (s *onceSchedule) check(t *testing.T, server *redistest.Server, ends map[string]int) {
	server.CLI("FLUSHALL")
	server.CLI("SAVE")
	s.said = map[int64]Outcome{}
	var report *Report
	proxy := redistest.NewProxy(t, server.Addr, func(n int) redistest.Fault {
		if n < len(s.faults) {
			return s.faults[n]
		}
		return redistest.Fault{}
	})
	struck := make(chan struct{})
	go func() {
		defer close(struck)
		if s.strike != nil {
			time.Sleep(s.after)
			s.strike(server)
		}
	}()
	for run := range 100 {
		var kill time.Duration
		if run < len(s.kills) {
			kill = s.kills[run]
		}
		done, end, rep := s.run(t, proxy.Addr, kill)
		ends[end]++
		if report = rep; done {
			break
		}
		if strings.HasPrefix(end, "no ") { // the server is being started again
			time.Sleep(10 * time.Millisecond)
		}
		if run == 99 {
			t.Errorf("100 runs, and no end: %s", end)
		}
	}
	<-struck
	for server.CLI("PING") != "PONG" {
		time.Sleep(5 * time.Millisecond)
	}
	if s.name == "SIGKILL behind a save" || s.name == "SIGKILL" { // it may have come behind the end
		done, end, rep := s.run(t, proxy.Addr, 0)
		if report = rep; !done {
			t.Errorf("the last run: %s", end)
		}
	}
	proxy.Drained()
	s.checkRefused(t, server, report)
	if done, end, again := s.run(t, server.Addr, 0); !done || !again.DoneBefore || !reflect.DeepEqual(again.Unconfirmed, report.Unconfirmed) {
		t.Errorf("one more run: %s, unconfirmed %+v, not %+v", end, again.Unconfirmed, report.Unconfirmed)
	}
	model := database{}
	for _, line := range s.lines {
		if args := strings.Fields(line); len(args) > 1 {
			model.run(args)
		}
	}
	if got := readDatabase(server, append(slices.Clone(allKeys), "trace")); got.String() != model.String() {
		t.Errorf("the database holds\n%v\nand one load would leave\n%v", got, model)
	}
}

// checkRefused holds the reports of all runs together, of which rep is that of
// the last one, to what the server has refused: each such record was named as
// refused, or given to the observer as unknown and lies in a range that the last
// run names; and Config.After ran if there was neither.
func (s *onceSchedule) checkRefused(t *testing.T, server *redistest.Server, rep *Report) {
	u := rep.Unconfirmed
	if !u.valid() {
		t.Errorf("%+v", u)
	}
	count := int64(0)
	for i, refused := range s.refused {
		if !refused {
			continue
		}
		count++
		n := int64(i + 1)
		within := slices.ContainsFunc(u.Ranges, func(r UnconfirmedRange) bool { return r.First.N <= n && n <= r.Last.N })
		switch outcome, said := s.said[n]; {
		case !said:
			t.Errorf("no run says anything of record %d, which was refused; unconfirmed: %+v", n, u)
		case outcome == Unknown && !within:
			t.Errorf("record %d was refused, was unknown to a run, and the last run does not name it: %+v", n, u)
		}
	}
	errors := rep.EarlierErrors + rep.Errors
	if errors > count || errors+u.Records < count {
		t.Errorf("%d errors where %d records were refused and %d are unconfirmed", errors, count, u.Records)
	}
	ready := server.CLI("EXISTS", "ready") == "1"
	if want := count == 0 && u.Records == 0; ready != want {
		t.Errorf("the last command ran: %v, want %v; %d refused, unconfirmed %+v", ready, want, count, u)
	}
}

// run is one run of the command line. It reports whether the load is done.
func (s *onceSchedule) run(t *testing.T, addr string, kill time.Duration) (done bool, end string, rep *Report) {
	input := strings.Join(s.lines, "\n")
	cfg := once(addr, input)
	cfg.Window, cfg.RetryFor = s.limit, 2*time.Second
	cfg.After = [][]byte{[]byte("SET"), []byte("ready"), []byte("1")}
	cfg.Timeout, cfg.ConnectTimeout = 300*time.Millisecond, 500*time.Millisecond
	if !s.reads {
		cfg.ExactlyOnce.Reopen = nil
	}
	if kill > 0 {
		victim := &killed{dial: cfg.Dial}
		cfg.Dial = victim.connect
		defer time.AfterFunc(kill, victim.kill).Stop()
	}
	var settled int64
	last := int64(0)
	cfg.OnSettled = func(b Completed) error {
		for i := range b.Len() {
			if b.N(i) <= last {
				t.Errorf("record %d is settled behind %d", b.N(i), last)
			}
			last = b.N(i)
			switch outcome := b.Outcome(i); {
			case !s.refused[last-1]:
				if outcome == Failed {
					t.Errorf("record %d was not refused, and is told to be: %s", last, failureOf(b, i).Text)
				}
			case outcome == Ran:
				t.Errorf("record %d was refused, and is told to have run", last)
			case outcome == Failed, outcome == Unknown && s.said[last] != Failed:
				s.said[last] = outcome
			}
		}
		settled += int64(b.Len())
		return nil
	}
	from, err := ReadPosition(context.Background(), cfg, "load")
	if err != nil {
		return false, "no position", &Report{}
	}
	cfg.ExactlyOnce.From = from
	src := script(input)
	src.before = func(n int64) {
		if n%10 == 0 {
			time.Sleep(s.pause)
		}
	}
	rep, err = Run(context.Background(), src, cfg)
	if sum := rep.Acknowledged + rep.Refused + rep.Unknown + rep.NotSent; sum != rep.Records {
		t.Errorf("%d acknowledged, %d refused, %d unknown, %d not sent of %d records (%v)",
			rep.Acknowledged, rep.Refused, rep.Unknown, rep.NotSent, rep.Records, err)
	}
	if err == nil && rep.EarlierRecords+rep.Records != int64(len(s.lines)) {
		t.Errorf("%d and %d of %d records", rep.EarlierRecords, rep.Records, len(s.lines))
	}
	if err == nil && rep.Replies+rep.Unanswered != rep.Records {
		t.Errorf("%d replies to %d commands, %d without one", rep.Replies, rep.Records, rep.Unanswered)
	}
	bad, isPosition := errors.AsType[*PositionError](err)
	lost, isLost := errors.AsType[*LostError](err)
	switch {
	case err == nil && rep.DoneBefore:
		end = "done before"
	case err == nil && rep.Again > 0:
		end = "done, with some loaded again"
	case err == nil && rep.Unconfirmed.Records > 0:
		end = "done, with some unconfirmed"
	case err == nil:
		end = "done"
	case isPosition && bad.Refused:
		end = "refused"
	case isPosition:
		end = bad.Err.Error()
	case isLost && lost.Why == "":
		end = "lost"
	case isLost:
		end = "lost: " + withoutNumbers(lost.Why)
	default:
		if _, ok := errors.AsType[*ConnectError](err); !ok {
			t.Errorf("ended with %v", err)
		}
		end = "no connection"
	}
	return err == nil, end, rep
}

// killed is a process that is killed: its connections end, and what it has
// written may still arrive.
type killed struct {
	dial func(context.Context, string) (net.Conn, error)

	mu    sync.Mutex
	conns []net.Conn
	dead  bool
}

func (k *killed) connect(ctx context.Context, addr string) (net.Conn, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return nil, &ConnectError{Err: errors.New("killed")}
	}
	nc, err := k.dial(ctx, addr)
	if err == nil {
		k.conns = append(k.conns, nc)
	}
	return nc, err
}

func (k *killed) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
	for _, nc := range k.conns {
		nc.Close()
	}
}
