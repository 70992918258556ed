package loader

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"respipe/loader/engine"
	"respipe/loader/window"
	"respipe/loader/wire"
	"respipe/parser"
)

// shell is what stands between the engine of a load and the world: it gives the
// engine the commands of the source and the events of the connections, with
// their time, and performs its actions. It decides nothing.
//
// All of it belongs to the goroutine that called Run. Others make connections
// and ask servers, and tell of it in answers; a connection that brings something
// wakes the waker.
type shell struct {
	ctx context.Context
	cfg *Config
	rep *Report
	db  int // at the beginning

	engine      *engine.Engine
	tally       tally
	clock       clock
	intake      intake
	events      events
	connections connections
	unknown     learned

	stopped error // the context's cause, or the hook's error
	done    bool  // the engine has ended the load
}

// runEngine is Run for a load on the engine.
func runEngine(ctx context.Context, src Source, cfg Config) (*Report, error) {
	s := &shell{ctx: ctx, cfg: &cfg, rep: &Report{}}
	s.clock.start = time.Now()
	s.intake = intake{shell: s, src: src}
	s.events = events{
		shell: s, waker: wire.NewWaker(), answers: make(chan answer), stops: ctx.Done(), timer: time.NewTimer(math.MaxInt64),
	}
	s.connections = connections{s: s, over: make(chan struct{}), latency: newLatencies()}
	s.db = cfg.DB
	if cfg.Earlier.Next > 0 {
		s.db, s.intake.last = cfg.Earlier.DB, cfg.Earlier.Next-1
		s.rep.EarlierRecords, s.rep.EarlierErrors = cfg.Earlier.Records, cfg.Earlier.Errors
	}
	s.tally = tally{cfg: &cfg, counts: counts{rep: s.rep, op: s.opOf}, clock: &s.clock, db: s.db}
	defer func() { s.rep.Duration = time.Since(s.clock.start) }()
	defer s.events.timer.Stop()

	first := &run{ctx: ctx, cfg: s.dialConfig(), rep: s.rep}
	g, err := first.connectFirst()
	if err == nil {
		err = s.open(g)
	}
	if err != nil {
		return s.rep, err
	}
	defer s.unknown.close()
	if cfg.Master != nil {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go s.watchMaster(watching)
	}
	src.Await(s.intake.await)
	s.intake.load()
	end := conclusion{s, s.engine.Result()}
	return s.rep, end.finish()
}

// dialConfig returns how the connections of the load are made.
func (s *shell) dialConfig() Config {
	cfg := *s.cfg
	cfg.DB = s.db
	cfg.CountKeys = cfg.CountKeys && s.rep.Server == nil
	return cfg
}

// open begins the load with the first connection, which is closed if it is to a
// node of a cluster.
func (s *shell) open(g *greeting) error {
	isCluster := g.info.Mode == "cluster"
	if !isCluster && s.cfg.Cluster {
		g.nc.Close()
		return &ConnectError{Err: fmt.Errorf("%s is no node of a cluster", g.addr), Hint: "leave out -c: a cluster is recognised by itself"}
	}
	cfg := s.engineConfig()
	cfg.Addresses = []string{g.addr}
	if cfg.Cluster = isCluster; isCluster {
		g.nc.Close()
		cfg.Addresses = s.cfg.Addrs
	} else {
		s.connections.spare = g
	}
	s.tally.cluster = isCluster
	s.tally.latency, s.tally.erred = s.connections.answered, s.connections.erred
	s.engine = engine.New(cfg)
	s.engine.Start(s.clock.now())
	s.perform()
	for s.engine.State() == engine.Connecting && !s.done {
		s.events.wait(nil)
	}
	if s.done {
		s.connections.closeAll()
		return s.cannotBegin()
	}
	s.introduce()
	return nil
}

// introduce tells of the servers that the load begins with.
func (s *shell) introduce() {
	s.rep.Server = s.rep.Nodes[0].Server
	if s.tally.cluster {
		masters := "masters"
		if len(s.rep.Nodes) == 1 {
			masters = "master"
		}
		s.note(fmt.Sprintf("cluster of %d %s: loading into all of them", len(s.rep.Nodes), masters))
	}
	for _, n := range s.rep.Nodes {
		if s.cfg.OnConnect != nil {
			s.cfg.OnConnect(n.Server)
		}
	}
}

const (
	batchCommands = 4096 // in a batch, if the window does not say less
	forever       = math.MaxInt64 / 4
)

// engineConfig returns how the engine is to load.
func (s *shell) engineConfig() *engine.Config {
	cfg := s.cfg
	c := &engine.Config{
		Connections: cfg.Connections, DB: s.db, WindowBytes: int(cfg.WindowBytes),
		BatchCommands: batchCommands, BatchBytes: batchBytes,
		KeepReplies:  cfg.KeepReplies != 0,
		OnDisconnect: map[Disconnect]engine.OnDisconnect{Fail: engine.Fail, Resume: engine.Reconnect, Resend: engine.Resend}[cfg.OnDisconnect],
		Timeout:      cfg.Timeout, DrainFor: forever, StopFor: forever,
		RetryFor: max(cfg.RetryFor, time.Millisecond), ReadyFor: cfg.WaitReady,
		Backoff: firstPause, LongestBackoff: longPause,
		TooMany:          s.tooMany,
		PersistentErrors: hopeless,
		Failover:         cfg.Master != nil,
		Op:               s.opOf, Observer: &s.tally,
	}
	if cfg.Timeout > 0 {
		c.DrainFor = (patience + 1) * cfg.Timeout
		c.StopFor = c.DrainFor
	}
	if cfg.Window != WindowMax {
		c.Tuner = window.NewTuner(cfg.Window)
	}
	if cfg.Rate > 0 || cfg.ByteRate > 0 {
		c.Pace = window.NewPace(cfg.Rate, cfg.ByteRate)
	}
	return c
}

// tooMany reports whether there are too many errors.
func (s *shell) tooMany(errors int64) bool { return s.cfg.TooMany(errors, s.rep.Records) }

// accepts reports whether the engine takes a command, or has ended the load.
func (s *shell) accepts() bool { return s.engine.Accepts() || s.done }

// handle gives the engine an event that happens now.
func (s *shell) handle(ev *engine.Event) {
	ev.At = s.clock.now()
	s.engine.Handle(ev)
	s.perform()
}

// performAndCollect does what the engine asks for, and takes what the connections
// have brought meanwhile.
func (s *shell) performAndCollect() {
	if !s.perform() {
		return
	}
	s.clock.now()
	if s.events.waker.Ready() {
		s.connections.collect()
	}
}

// perform does what the engine asks for. It reports whether there was anything.
func (s *shell) perform() bool {
	actions := s.engine.Actions()
	for i := range actions {
		s.do(&actions[i])
	}
	s.tellRefusals()
	s.hookFailed()
	if s.connections.told {
		s.connections.connectedAgain()
	}
	return len(actions) > 0
}

// tellRefusals tells the refused records that need not wait any longer.
func (s *shell) tellRefusals() {
	if len(s.tally.waiting) > 0 {
		s.tally.tellRefusals(s.engine.Empty())
	}
}

// hookFailed stops the load for an error of the hook.
func (s *shell) hookFailed() {
	if err := s.tally.failed; err != nil && s.stopped == nil {
		s.stop(err)
	}
}

// do performs one action.
func (s *shell) do(a *engine.Action) {
	switch a.Kind {
	case engine.Submit:
		s.connections.submit(a.Conn, a.Batch)
	case engine.Dial:
		s.connections.dial(a)
	case engine.Close:
		s.connections.close(a.Conn, a.Loss)
	case engine.FetchTopology:
		s.tally.cluster, s.tally.several = true, true // a first MOVED may have told so
		s.fetchTopology(a.Addresses)
	case engine.Probe:
		s.connections.probe(a.Conn)
	case engine.End:
		s.done = true
	}
}

// stop stops the load.
func (s *shell) stop(cause error) {
	s.stopped = cause
	s.handle(&engine.Event{Kind: engine.StopAsked})
}

func (s *shell) note(text string) {
	if s.cfg.OnNote != nil {
		s.cfg.OnNote(text)
	}
}

// opOf returns what is known of a command; of one that the table does not have,
// what the server tells, where there are several connections.
func (s *shell) opOf(args [][]byte) *parser.Op {
	op := s.tally.table.Find(args)
	if op.Known() || !s.tally.several || len(args) == 0 {
		return op
	}
	return s.unknown.find(strings.ToUpper(string(args[0])), s.askForKeys)
}

// askForKeys asks a server for a command, on a connection of its own.
func (s *shell) askForKeys(name string) (parser.Value, error) {
	return s.unknown.ask(s.ctx, *s.cfg, s.connections.nodes[0].dialled, name)
}
