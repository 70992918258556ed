package loader

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"respipe/loader/window"
	"respipe/parser"
)

// A load that runs exactly once is a row of transactions on one connection,
// each of them with the position that is reached by it. The next one is read
// and encoded while one is under way, and sent when that has run and the key of
// the position shows what it wrote. So whatever breaks, the key tells what has
// run, and no older connection or run can add to it: all of them watch the key.
//
// In a transaction a blocking command returns at once, with or without data.

// ExactlyOnce asks for a load of which every command takes effect once, however
// often it is broken off and begun again. It uses one connection to one server;
// Config.Window is how many records a transaction holds, 1000 where that is no
// number. Records of which an earlier run did not see the reply are read again,
// and given to Config.OnSettled as Unknown.
type ExactlyOnce struct {
	// Name is that of the load. Its position lies under the key "respipe:" and
	// Name, in the database of Config.DB.
	Name string
	// From is what ReadPosition returned; nil for the beginning. The source may
	// begin with the record of From.Start, or anywhere before: what is done is
	// passed over.
	From *Position
	// Grown says that the input is longer than when From was written: what is
	// behind is loaded, though the load was done.
	Grown bool
	// Identity, if set, returns what tells the input and the options at a mark,
	// as JSON. It is kept as Position.Input.
	Identity func(parser.Mark) (json.RawMessage, error)
	// SameInput, if set, returns an error if a position was written for another
	// input, or other options; read says that the source has been read up to it,
	// so that a pipe can be compared, too.
	SameInput func(p *Position, read bool) error
	// Reopen, if set, returns a source that begins as it does for From, for an
	// earlier position: the server has lost what it had acknowledged. The older
	// source is not used any more.
	Reopen func(*Position) (Source, error)
}

const (
	usualLimit   = 1000    // records in a transaction
	mostParts    = 64      // batches in it, unless it is a block
	smallBatch   = 4 << 10 // bytes that one begins with
	largestBatch = 1 << 30 // and that it may hold
)

// exactly is a load that runs exactly once.
type exactly struct {
	*run
	once   *ExactlyOnce
	key    string
	token  string // of this run; claims are added
	claims int
	node   *node
	link   *link
	limit  int // records in a transaction

	first *Position // found at the start
	held  *Position // lies under the key, as far as we know

	at      reach // where the source stands
	from    reach // what lies before is passed over
	settled reach // what lies before is in the report
	seen    int64 // number of the last record that is counted in the report
	sure    int64 // Report.Records up to settled
	records int64 // read up to here, by all runs

	filling *transaction // nil for none
	flying  *transaction // nil while nothing is under way
	pending *transaction // to be sent again, or given up
	landed  chan error   // how flying ended
	reached Position     // what is settled
	lag     bool         // and the key does not say so

	unread      bool        // the records after first.Confirmed are still to be read
	passed      reach       // what lies before is done, and given to the observer
	unconfirmed Unconfirmed // found so far, by all runs

	failedAfter error

	down    error // why the connection is lost
	cause   error // why we gave it up
	vain    vain
	says    whereabouts // what a new connection has found
	stall   stallClock
	probed  chan error
	rewound bool // the source was exchanged
}

// runExactly is Run with Config.ExactlyOnce.
func runExactly(ctx context.Context, src Source, cfg Config) (*Report, error) {
	began := time.Now()
	x := newExactly(ctx, src, cfg)
	defer func() { x.rep.Duration = time.Since(began) }()
	if err := x.open(); err != nil {
		return x.rep, err
	}
	if x.isDone() {
		x.link.net.Close()
		x.rep.DoneBefore, x.rep.InputDone = true, true
		x.reportUnconfirmed()
		return x.rep, nil
	}
	if x.ticks = newTicker(cfg.Timeout); x.ticks != nil {
		defer x.ticks.Stop()
	}
	if cfg.Master != nil {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go x.watchMaster(watching)
	}
	if !x.rewound {
		src.Await(x.await)
	}
	for again := true; again; again = x.rewound {
		x.rewound = false
		x.load()
		x.drain()
		x.finish()
		x.askMaster()
	}
	x.link.net.Close()
	x.leaveTransactions()
	x.account()
	x.reportUnconfirmed()
	x.cfg.After = nil // it was in the last transaction
	x.rep.Window = x.limit
	x.rep.DelayP50, x.rep.DelayP99 = latencyAt(x.latencies, 50), latencyAt(x.latencies, 99)
	x.node.describe()
	return x.rep, errors.Join(x.stopped, x.lost, x.broken, x.failedAfter, x.conclude())
}

func newExactly(ctx context.Context, src Source, cfg Config) *exactly {
	r := &run{ctx: ctx, done: ctx.Done(), src: src, cfg: cfg, db: cfg.DB, rep: &Report{}, mail: newMailbox(), began: time.Now(), latencies: newLatencies()}
	x := &exactly{
		run: r, once: cfg.ExactlyOnce, key: keyPrefix + cfg.ExactlyOnce.Name, token: rand.Text(),
		limit: usualLimit, landed: make(chan error, 1),
	}
	r.free.traced = cfg.KeepSource
	if cfg.Window > 0 {
		x.limit = cfg.Window
	}
	r.tune, r.pace = window.NewTuner(x.limit), window.NewPace(cfg.Rate, cfg.ByteRate)
	x.limit = r.pace.Most(x.limit)
	r.cut = r.pace.MostBytes(int(min(largestBatch, max(cfg.WindowBytes/4, 1))))
	return x
}

// open connects and claims the position. Where the source does not come to it,
// the input is read again from there.
func (x *exactly) open() error {
	g, err := x.beginWith(x.connectAndClaim)
	if err != nil {
		return err
	}
	x.node = &node{addr: g.addr, server: &g.info}
	x.newRow(x.node, &g.info)
	x.nodes = []*node{x.node}
	x.rep.Server = &g.info
	if x.cfg.OnConnect != nil {
		x.cfg.OnConnect(&g.info)
	}
	x.attach(g)
	if p := x.first; p != nil {
		x.rep.EarlierRecords, x.rep.EarlierErrors = p.Records, p.Errors
		x.unconfirmed, x.unread = p.Unconfirmed, p.Confirmed != nil
	}
	x.startAt(x.first)
	x.settled, x.seen = x.from, x.from.n
	if x.isDone() || x.comesTo(x.first) {
		return nil
	}
	return x.reopen(x.first)
}

// connectAndClaim makes the connection that a load begins with, and claims the
// position on it.
func (x *exactly) connectAndClaim() (*greeting, error) {
	g, err := x.connectAny()
	if err != nil {
		return nil, err
	}
	if g.info.Mode == "cluster" {
		err = errOneServer(g)
	} else {
		err = g.within(x.ctx, func() (err error) {
			x.first, err = x.claim(g, x.mayBegin)
			return err
		})
	}
	if err != nil {
		g.nc.Close()
		return nil, err
	}
	return g, nil
}

// mayBegin reports whether a run may begin at what it finds under the key.
func (x *exactly) mayBegin(found *Position) error {
	if x.once.SameInput != nil && found != nil && !found.identical(x.once.From) {
		if err := x.once.SameInput(found, false); err != nil {
			return &PositionError{Key: x.key, Err: fmt.Errorf("%w: %w", ErrTakenOver, err)}
		}
	}
	if x.comesTo(found) || x.once.Reopen != nil {
		return nil
	}
	return x.contested(found)
}

// comesTo reports whether the source comes to a position: what a run has done
// that was not at its end when From was read can be passed over, too.
func (x *exactly) comesTo(p *Position) bool {
	from := x.once.From
	ours := p != nil && strings.HasPrefix(p.token, x.token+".") // that claim's answer was lost
	return ours || p.same(from) || p != nil && from != nil && !p.reach().before(from.reach())
}

// isDone reports whether there is nothing to load.
func (x *exactly) isDone() bool { return x.held.Done && !x.once.Grown }

// startAt makes the load go on from a position, nil for the beginning.
func (x *exactly) startAt(p *Position) {
	x.from, x.at = p.reach(), reach{}
	x.db, x.records = x.cfg.DB, 0
	x.passed = x.from
	if p != nil {
		x.db, x.records = p.Mark.DB, p.Records
		if c := p.Confirmed; c != nil && x.unread {
			x.passed, x.db = c.reach(), c.Mark.DB
		}
	}
	x.last = x.from.n
	x.reached, x.lag = *x.held, false
}

// load reads until the input ends or reading must stop.
func (x *exactly) load() {
	var c parser.Command
	for {
		err := x.src.Next(&c)
		if err == nil {
			err = x.take(&c)
		} else if bad, ok := errors.AsType[*parser.Error](err); ok {
			err = x.refuse(bad)
		} else {
			x.inputEnded(err)
			return
		}
		if err != nil {
			return
		}
	}
}

// inputEnded is called with the error that ended the input.
func (x *exactly) inputEnded(err error) {
	switch {
	case errors.Is(err, errStop):
		return
	case errors.Is(err, io.EOF) && x.passed.before(x.from):
		x.stopped = fmt.Errorf("the input ends before record %d, up to which it was loaded", x.from.n)
	case errors.Is(err, io.EOF):
		x.rep.InputDone = true
	default:
		x.broken = err
		x.last++
		x.rep.Records++
		x.early++
	}
	if x.block.Open && x.breakBlock() != nil {
		return
	}
	x.handOver()
}

// drain waits until nothing is under way.
func (x *exactly) drain() {
	for x.busy() && x.lost == nil {
		if x.down == nil {
			x.wait(nil)
		}
		x.proceed()
	}
}
