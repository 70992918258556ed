package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"respipe/loader/window"
	"respipe/parser"
)

// ErrTooManyErrors is what Run returns when there were more errors than
// Config.MaxErrors.
var ErrTooManyErrors = errors.New("too many errors")

// ErrHopeless is what Run returns when a thousand commands in a row were
// refused for a reason that every other one will be refused for, too.
var ErrHopeless = errors.New("a thousand commands in a row were refused for one reason")

// errStop ends the reading; why is in run.stopped or run.lost.
var errStop = errors.New("loader: reading is over")

// run is a load. All of it belongs to the goroutine that called Run.
type run struct {
	ctx  context.Context
	done <-chan struct{} // of ctx, nil once seen
	src  Source
	cfg  Config
	rep  *Report

	nodes  []*node
	pipes  []*pipeline // of all nodes
	mail   *mailbox
	router router

	learned learned

	stopped error // the context's cause, ErrTooManyErrors or the hook's error
	lost    error // a connection's end
	broken  error // the input's

	cut  int // bytes that a batch may hold
	free freeList

	backlog   *backlog // of replies
	replySize int64    // bytes that a reply is taken to have; 0 when they are not kept

	block     OpenBlock
	blockPipe *pipeline // that the block goes to
	db        int       // selected on the connections
	last      int64     // number of the last record that was read
	early     int64     // refused by us, not in the report yet
	inVain    int       // refused in a row, see hopeless
	inHand    bool      // the source's last command was not taken on
	partial   bool      // and of the last record that was read, not all
	several   bool      // there are records of several commands

	found               bool  // rep.Position is known
	firstLost, lastLost int64 // records of rep.FirstLost and LastLost

	// Of what must be sent again, see plan.
	resending  bool // something was sent again and is not answered
	recovering bool
	since      time.Time // when something was first refused for now
	pause      time.Duration
	alarm      <-chan time.Time
	state      []stateCommand
	stateBad   bool      // the last command that changes the connection was refused
	leader     *pipeline // whose connection has been changed before the others; nil for none

	saves checkpoints
	began time.Time
	tune  *window.Tuner
	pace  *window.Pace
	// latencies are those of the batches, each counted for each of its commands.
	latencies *hdrhistogram.Histogram
	ticks     *time.Ticker // of the stall clocks, nil for none
	kinds     Kinds
}

// Run loads what src gives into the server that cfg.Dial reaches. It returns
// when the input has ended and all is answered, or earlier when ctx ends, when
// there are too many errors, when the input is broken or when the connection
// is lost. The Report is never nil. The error joins all that applies of: a
// *ConnectError, when nothing was sent; the cause of ctx, ErrTooManyErrors,
// ErrHopeless or an error of OnSettled; the source's error; a *LostError; a
// *PositionError; and an *AfterError, alone.
func Run(ctx context.Context, src Source, cfg Config) (*Report, error) {
	if cfg.ExactlyOnce != nil {
		return runExactly(ctx, src, cfg)
	}
	if cfg.OnCheckpoint == nil && cfg.WaitReplicas == 0 {
		return runEngine(ctx, src, cfg)
	}
	r := &run{ctx: ctx, done: ctx.Done(), src: src, cfg: cfg, db: cfg.DB, rep: &Report{}, mail: newMailbox(), began: time.Now(), latencies: newLatencies()}
	r.free.traced = cfg.KeepSource || cfg.KeepReplies != 0
	r.backlog = newBacklog(cfg.WindowBytes)
	if cfg.KeepReplies != 0 {
		r.replySize = firstGuess
	}
	if cfg.Earlier.Next > 0 {
		r.db, r.last = cfg.Earlier.DB, cfg.Earlier.Next-1
		r.rep.EarlierRecords, r.rep.EarlierErrors = cfg.Earlier.Records, cfg.Earlier.Errors
	}
	defer func() { r.rep.Duration = time.Since(r.began) }()

	g, err := r.connectFirst()
	if err != nil {
		return r.rep, err
	}
	r.tune, r.pace = window.NewTuner(cfg.Window), window.NewPace(cfg.Rate, cfg.ByteRate)
	r.cut = r.pace.MostBytes(int(min(batchBytes, max(cfg.WindowBytes/4, 1))))
	if err := r.open(g); err != nil {
		r.leaveAll()
		return r.rep, err
	}
	r.rep.Server = r.rep.Nodes[0].Server
	for _, n := range r.rep.Nodes {
		if err := r.enoughReplicas(n.Server); err != nil {
			r.leaveAll()
			return &Report{}, err
		}
		if cfg.OnConnect != nil {
			cfg.OnConnect(n.Server)
		}
	}
	if r.ticks = newTicker(cfg.Timeout); r.ticks != nil {
		defer r.ticks.Stop()
	}
	if cfg.Master != nil {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go r.watchMaster(watching)
	}
	r.saves.begin(&cfg, src.Mark())
	r.save()
	defer r.saves.end()
	defer r.learned.close()
	src.Await(r.await)
	r.load()
	r.drain()
	r.stillMaster()
	r.leaveAll()
	r.account()
	r.rep.Window, r.rep.DelayP50, r.rep.DelayP99 = r.tune.Window(), latencyAt(r.latencies, 50), latencyAt(r.latencies, 99)
	for _, n := range r.nodes {
		n.describe()
	}
	return r.rep, errors.Join(r.stopped, r.lost, r.broken, r.conclude())
}

// load routes every command until the input ends or reading must stop.
func (r *run) load() {
	var c parser.Command
	for {
		err := r.src.Next(&c)
		if err == nil {
			err = r.route(&c)
		} else if bad, ok := errors.AsType[*parser.Error](err); ok {
			err = r.refuse(bad)
		} else {
			r.inputEnded(err)
			return
		}
		if err != nil {
			if r.ending() == nil { // never end in silence
				r.stopped = fmt.Errorf("internal error: reading ended for no reason: %w", err)
			}
			return
		}
	}
}

// inputEnded is called with the error that ended the input.
func (r *run) inputEnded(err error) {
	switch {
	case errors.Is(err, errStop):
		return
	case errors.Is(err, io.EOF):
		r.rep.InputDone = true
	default:
		r.broken = err
		r.last++
		r.rep.Records++
		r.early++
	}
	if r.block.Open && r.breakBlock() != nil {
		return
	}
	r.flush()
}

// route takes the command on.
func (r *run) route(c *parser.Command) error {
	r.inHand = true
	if err := r.begin(c.N, c.File); err != nil {
		return err
	}
	switch {
	case !r.alone():
		return r.spread(c)
	case c.Op.Name == "AUTH":
		if err := r.settleAll(); err != nil { // servers from Redis 7.2 on say nothing of a wrong one behind other replies
			return err
		}
	}
	return r.take(anywhere, c)
}

// begin takes note of a record or a further command of it; a block ends with
// its file.
func (r *run) begin(n int64, file int) error {
	if n != r.last {
		r.last, r.partial = n, false
		r.rep.Records++
		if r.halts() {
			return errStop
		}
	}
	if r.block.Open && file != r.block.Mark.File {
		return r.breakBlock()
	}
	return nil
}

// taken takes note that the source's last command was taken on.
func (r *run) taken(last bool) {
	r.inHand, r.partial = false, !last
	r.several = r.several || !last
}

// alone reports whether there is one pipeline for everything.
func (r *run) alone() bool { return len(r.pipes) == 1 && r.router.owners == nil }

// take waits for room in a batch of the slot's pipeline and appends the
// command.
func (r *run) take(slot int, c *parser.Command) error {
	size := len(c.Raw)
	if c.Raw == nil {
		size = parser.CommandSize(c.Args)
	}
	if r.free.traced && c.Raw == nil {
		size += len(c.Src)
	}
	p, err := r.room(slot, c.N, c.Pos, size, nil)
	if err != nil {
		return err
	}
	r.taken(c.Last)
	if c.Op.Class >= parser.State {
		return r.takeSpecial(p, c)
	}
	p.batch.append(c, r.openedBy())
	return r.cutFull(p)
}

// refuse notes a record that the source refused. It stands in a batch between
// its neighbours, so that errors come in the order of the input.
func (r *run) refuse(bad *parser.Error) error {
	r.inHand = true
	mark := r.src.Mark()
	if err := r.begin(mark.N, mark.File); err != nil {
		return err
	}
	return r.refuseAt(mark.N, bad.Pos, bad.Err.Error(), origin{text: bad.Src, last: true})
}

// refuseAt notes that the record at hand is refused, or a command of it.
func (r *run) refuseAt(n int64, pos parser.Pos, text string, s origin) error {
	r.block.Spoil(pos.Line)
	s.block, s.asSent = r.openedBy(), false
	slot := anywhere
	if r.block.Open && r.blockPipe != nil {
		slot = ofBlock
	}
	p, err := r.room(slot, n, pos, s.size(), nil)
	if err != nil {
		return err
	}
	r.taken(s.last)
	p.batch.add(n, pos, parser.Refused, refused)
	p.batch.trace(s)
	r.failHere(p.batch, text)
	return r.cutFull(p)
}

// failHere says of the command that was added to b last that we refuse it.
func (r *run) failHere(b *Batch, text string) {
	b.plain = false
	b.fail(b.Len()-1, []byte(text), true)
	r.early++
	r.checkErrors()
}

// checkErrors stops the reading when there are too many errors.
func (r *run) checkErrors() {
	if r.cfg.TooMany(r.rep.Errors+r.early, r.rep.Records) && r.stopped == nil {
		r.stopped = ErrTooManyErrors
	}
}

// keepPace waits until the rates allow the batch.
func (r *run) keepPace(b *Batch) error {
	if r.pace == nil {
		return nil
	}
	if wait := r.pace.Reserve(time.Since(r.began), b.due, len(b.resp)); wait > 0 {
		return r.sleep(wait)
	}
	return nil
}
