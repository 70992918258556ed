package simulate

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"respipe/loader/batch"
	"respipe/loader/engine"
	"respipe/loader/window"
	"respipe/parser"
)

// Figures add up what schedules have seen.
type Figures struct {
	Outcomes [6]int // by batch.Outcome
	Reasons  [9]int // by engine.Reason
	Repairs  int64
	Events   int64
}

// Add adds the figures of another schedule.
func (f *Figures) Add(other *Figures) {
	for i, n := range other.Outcomes {
		f.Outcomes[i] += n
	}
	for i, n := range other.Reasons {
		f.Reasons[i] += n
	}
	f.Repairs += other.Repairs
	f.Events += other.Events
}

// shape is what the seed has chosen for the whole of a schedule.
type shape struct {
	config       engine.Config
	cluster      bool
	ipv6         bool
	idempotent   bool
	records      int
	transactions int // per cent
	barriers     int // per cent
	faults       int
	cuts         int           // a connection breaks once in so many arrivals
	disasters    bool          // processes end, and what they had not saved is lost
	readonly     bool          // a server becomes read-only
	file         int           // records of a file
	splits       int           // of a hundred commands, so many have keys of several slots
	ids          knowledge     // of run ids
	watches      bool          // most transactions are guarded
	typed        bool          // most commands are SET and SADD on few keys
	unfenced     bool          // dials may not end the lost connections
	resting      bool          // a migration rests halfway all the time
	calm         time.Duration // when nothing fails any more
}

// schedule is one run of a load.
type schedule struct {
	clock
	random *rand.Rand
	extra  *rand.Rand // for what came later: the choices of random stay as they are
	shape  shape
	ops    parser.Ops

	servers []*server
	owners  [groups]int  // of the slots at the beginning
	moved   [groups]bool // they have others since
	conns   map[engine.ConnID]*conn
	made    []*conn // all of them, in the order in which they were made
	engine  *engine.Engine
	input   input

	ended       map[int]bool // files that have begun, so the one before has ended
	read        int          // records that the engine was given
	sourceWaits time.Duration
	inputEnded  bool
	armed       time.Duration
	done        bool

	outcomes  []batch.Outcome
	executed  []int
	history   [keyCount][]int       // records executed on each key, in order
	wides     map[int]bool          // barriers that were executed
	named     []int                 // the name of the connection that executed each record
	causeless map[int]bool          // records reported without a cause but a reply
	shown     map[int]bool          // records whose success the engine was told of
	cutOff    bool                  // the engine has closed a connection before all was written
	sent      map[int]bool          // records that a socket has taken in full
	refusedAt map[int]time.Duration // when a record was first answered with a retryable error
	lost      map[int]*loss         // records whose execution a server has lost
	early     map[int]bool          // records reported before the load stopped
	overtaken map[int]bool          // records that found the type that a later one has left
	left      time.Duration         // when the load was last running, or began another repair
	repairs   int64
	stopped   time.Duration
	parts     []*parser.Command // of the record that was read last, not submitted
	splits    map[int]*split    // records that were sent in parts
	unfenced  bool              // a dial has not ended a lost connection
	streamed  map[int]*conn     // transactions that were sent in parts
	refusing  [groups]bool      // a command on them was answered with an error
	harmed    map[int]bool      // transactions to which something has happened
	violated  bool              // the order was, since
	causes    int
	disasters int
	figures   Figures
	err       string
	tracing   bool
	out       io.Writer
}

// Run runs the schedule of a seed. It returns what did not hold, "" if all did.
// A trace of the schedule goes to out unless that is nil.
func Run(seed uint64, out io.Writer) (failure string, figures Figures) {
	s := &schedule{
		random: rand.New(rand.NewPCG(seed, 12)),
		extra:  rand.New(rand.NewPCG(seed, 34)),
		splits: map[int]*split{}, harmed: map[int]bool{}, streamed: map[int]*conn{},
		conns: map[engine.ConnID]*conn{},
		armed: -1,
		out:   out, tracing: out != nil,
		overtaken: map[int]bool{}, refusedAt: map[int]time.Duration{}, ended: map[int]bool{}, sent: map[int]bool{}, lost: map[int]*loss{}, early: map[int]bool{}, shown: map[int]bool{}, causeless: map[int]bool{}, wides: map[int]bool{},
	}
	s.choose()
	s.input.s = s
	s.input.make()
	s.input.breakTransactions()
	s.outcomes = make([]batch.Outcome, len(s.input.records))
	s.executed = make([]int, len(s.input.records))
	s.named = make([]int, len(s.input.records))
	s.engine = engine.New(&s.shape.config)
	s.planFaults()
	s.run()
	return s.err, s.figures
}

// trace writes a line of the trace.
func (s *schedule) trace(format string, args ...any) {
	if s.tracing {
		fmt.Fprintf(s.out, "%8v  ", s.now)
		fmt.Fprintf(s.out, format+"\n", args...)
	}
}

// run lets the schedule happen.
func (s *schedule) run() {
	s.engine.Start(0)
	s.perform()
	s.arm()
	for len(s.queue) > 0 && !s.done && s.err == "" {
		do := s.next()
		s.watch()
		do()
		s.figures.Events++
		if !s.done {
			s.pump()
			s.arm()
		}
		s.watch()
		if s.figures.Events > 100_000 || s.now > 400*time.Second {
			s.fail("the load does not end")
		}
	}
	if s.err == "" && !s.done {
		s.fail("nothing happens any more: %d of %d records read", s.read, len(s.input.records))
	}
	if s.err == "" {
		s.verify()
	}
	s.figures.Repairs = s.engine.Repairs()
	s.figures.Reasons[s.engine.Result().Reason]++
}

// choose makes the shape of the schedule and its servers.
func (s *schedule) choose() {
	r := s.random
	sh := &s.shape
	sh.records = []int{90, 90, 90, 300}[r.IntN(4)]
	sh.idempotent = r.IntN(3) == 0
	sh.calm = 1500 * ms
	sh.faults = []int{12, 12, 4}[r.IntN(3)]
	sh.file = []int{1000, 25}[r.IntN(2)]
	sh.cuts = []int{60, 300, 2000}[r.IntN(3)]
	sh.resting = r.IntN(8) == 0
	sh.transactions = []int{0, 8, 8, 20}[r.IntN(4)]
	sh.barriers = []int{0, 0, 4}[r.IntN(3)]
	sh.cluster = r.IntN(2) == 0
	sh.ipv6 = r.IntN(2) == 0
	masters := 1
	if sh.cluster {
		masters = nodes
	}
	sh.disasters = r.IntN(6) == 0
	sh.readonly = r.IntN(10) == 0
	sh.config = engine.Config{
		Cluster:          sh.cluster,
		Connections:      []int{1, 1, 2, 3}[r.IntN(4)],
		Window:           []int{16, 16, 5, 40, 0}[r.IntN(5)],
		WindowBytes:      []int{4096, 1500, 65536}[r.IntN(3)],
		BatchCommands:    []int{4, 1, 16}[r.IntN(3)],
		BatchBytes:       1024,
		OnDisconnect:     []engine.OnDisconnect{0, 0, 0, 0, 0, 0, engine.Resend, engine.Fail}[r.IntN(8)],
		Timeout:          []time.Duration{250 * ms, 250 * ms, 0, 40 * ms}[r.IntN(4)],
		DrainFor:         100 * ms,
		ReadyFor:         600 * ms,
		RetryFor:         600 * ms,
		StopFor:          150 * ms,
		Backoff:          25 * ms,
		LongestBackoff:   100 * ms,
		PersistentErrors: 6,
		Op:               s.ops.Find,
		Observer:         s,
	}
	s.chooseMore()
	if r.IntN(8) == 7 {
		sh.config.TooMany = func(errors int64) bool { return errors > 3 }
	}
	for i := range 2 * masters {
		sv := &server{s: s, index: i, master: i < masters, scripts: map[int]bool{}}
		for g := range groups {
			sv.leaving[g], sv.coming[g] = -1, -1
		}
		s.servers = append(s.servers, sv)
		if sv.master {
			sh.config.Addresses = append(sh.config.Addresses, sv.address())
		} else {
			sv.down = time.Hour
		}
	}
	for g := range groups {
		owner := r.IntN(masters)
		s.owners[g] = owner
		for _, sv := range s.servers {
			sv.view[g] = owner
		}
		for k := g * keysOfGroup; k < (g+1)*keysOfGroup; k++ {
			s.servers[owner].kinds[k] = kind(r.IntN(3))
		}
	}
}

// chooseMore chooses what came later.
func (s *schedule) chooseMore() {
	r, sh := s.extra, &s.shape
	if r.IntN(4) == 0 {
		sh.splits = 12
	}
	sh.ids = []knowledge{alwaysKnown, alwaysKnown, alwaysKnown, alwaysKnown, sometimesKnown, neverKnown}[r.IntN(6)]
	sh.unfenced = r.IntN(8) == 0
	sh.watches = r.IntN(10) == 0
	sh.typed = r.IntN(10) == 0
	sh.config.KeepReplies = r.IntN(6) == 0
	if r.IntN(8) == 0 {
		sh.config.Tuner = window.NewTuner([]int{window.Auto, window.Max, 7}[r.IntN(3)])
	}
}

// several reports whether the load has more than one connection.
func (sh *shape) several() bool { return sh.cluster || sh.config.Connections > 1 }

// stopAsked interrupts the load.
func (s *schedule) stopAsked() { s.handle(&engine.Event{Kind: engine.StopAsked}) }
