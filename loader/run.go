package loader

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

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

	conn    *conn
	stopped error // the context's cause, ErrTooManyErrors or the hook's error
	lost    error // the connection's end
	broken  error // the input's

	batch *Batch // being filled, or nil
	limit int    // commands it may hold
	cut   int    // bytes it may hold
	usual int    // commands in the last batch that was full
	free  freeList

	unanswered int   // commands that were handed over and are not answered
	kept       int   // batches that were handed over and are not released
	keptBytes  int64 // of these
	handed     int64 // bytes handed over since the connection was made
	held       bool  // what is answered ends inside a block, which is kept

	block  OpenBlock
	db     int   // selected on the connection
	last   int64 // number of the last record that was read
	early  int64 // refused by us, not in the report yet
	inVain int   // refused in a row, see hopeless
	inHand bool  // the source's last command was not taken on

	// Of what must be sent again, see plan.
	down       error // the connection is lost, and may be made again
	redo       bool  // something was refused for now
	resending  bool  // that was sent again and is not answered
	recovering bool
	sentOpen   bool      // what was handed over ends inside a block
	since      time.Time // when something was first refused for now
	lostAt     time.Time // when the first connection was lost without any answer
	pause      time.Duration
	alarm      <-chan time.Time
	state      []stateCommand
	stateBad   bool // the last command that changes the connection was refused

	tune  tuner
	pace  pace
	stall stallClock
	kinds Kinds
}

// Run loads what src gives into the server that cfg.Dial reaches. It returns
// when the input has ended and all is answered, or earlier when ctx ends, when
// there are too many errors, when the input is broken or when the connection
// is lost. The Report is never nil. The error joins all that applies of: a
// *ConnectError, when nothing was sent; the cause of ctx, ErrTooManyErrors,
// ErrHopeless or an error of OnSettled; the source's error; a *LostError; and an
// *AfterError, alone.
func Run(ctx context.Context, src Source, cfg Config) (*Report, error) {
	began := time.Now()
	r := &run{ctx: ctx, done: ctx.Done(), src: src, cfg: cfg, db: cfg.DB, rep: &Report{}}
	r.cut = int(min(batchBytes, max(cfg.WindowBytes/4, 1)))
	if cfg.ByteRate > 0 {
		r.cut = min(r.cut, max(1, int(float64(cfg.ByteRate)*smooth.Seconds())))
	}
	defer func() { r.rep.Duration = time.Since(began) }()

	g, err := r.connectFirst()
	if err != nil {
		return r.rep, err
	}
	r.rep.Before = g.info.Health
	if cfg.OnConnect != nil {
		cfg.OnConnect(&g.info)
	}
	r.tune, r.pace = newTuner(cfg.Window), newPace(cfg.Rate, cfg.ByteRate)
	r.stall = newStallClock(cfg.Timeout)
	defer r.stall.stop()
	r.takeConn(g)
	src.Await(r.await)
	r.load()
	r.drain()
	r.leaveConn()
	r.account()
	r.rep.Window, r.rep.DelayP50, r.rep.DelayP99 = r.tune.window, r.tune.quantile(50), r.tune.quantile(99)
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

// route takes the command on: it waits for room and appends it to the batch.
func (r *run) route(c *parser.Command) error {
	r.inHand = true
	if c.N != r.last {
		r.last = c.N
		r.rep.Records++
	}
	if r.block.Open && c.File != r.block.Mark.File {
		if err := r.breakBlock(); err != nil {
			return err
		}
	}
	size := len(c.Raw)
	if c.Raw == nil {
		size = parser.CommandSize(c.Args)
	}
	if err := r.room(c.N, c.Pos, size, nil); err != nil {
		return err
	}
	r.inHand = false
	if c.Op.Class >= parser.State {
		return r.routeSpecial(c)
	}
	r.append(c)
	return r.cutFull()
}

// append puts the command into the batch.
func (r *run) append(c *parser.Command) {
	if c.Raw != nil {
		r.batch.resp = append(r.batch.resp, c.Raw...)
	} else {
		r.batch.resp = parser.AppendCommand(r.batch.resp, c.Args)
	}
	r.batch.add(c.N, c.Pos, c.Op.Class, 0)
}

// refuse notes a record that the source refused. It stands in the batch
// between its neighbours, so that errors come in the order of the input.
func (r *run) refuse(bad *parser.Error) error {
	r.inHand = true
	mark := r.src.Mark()
	if mark.N != r.last {
		r.last = mark.N
		r.rep.Records++
	}
	if r.block.Open && mark.File != r.block.Mark.File {
		if err := r.breakBlock(); err != nil {
			return err
		}
	}
	r.block.Spoil(bad.Pos.Line)
	if err := r.room(mark.N, bad.Pos, 0, nil); err != nil {
		return err
	}
	r.inHand = false
	r.batch.add(mark.N, bad.Pos, parser.Refused, refused)
	r.failHere(bad.Err.Error())
	return r.cutFull()
}

// failHere says of the command that was added last that we refuse it.
func (r *run) failHere(text string) {
	r.batch.plain = false
	r.batch.fail(r.batch.Len()-1, []byte(text), true)
	r.early++
	r.checkErrors()
}

// checkErrors stops the reading when there are too many errors.
func (r *run) checkErrors() {
	if r.cfg.TooMany(r.rep.Errors+r.early, r.rep.Records) && r.stopped == nil {
		r.stopped = ErrTooManyErrors
	}
}

// room makes sure that there is a batch with room for a command of size bytes
// at pos, and waits for the window. A new batch begins at first, or at the
// record that the source is at if that is nil.
func (r *run) room(n int64, pos parser.Pos, size int, first *parser.Mark) error {
	if b := r.batch; b != nil {
		if len(b.resp)+size <= r.cut && b.fits(n, pos) {
			return nil
		}
		r.usual = len(b.places)
		if err := r.handOver(); err != nil {
			return err
		}
	}
	for !r.windowOpen(size) {
		r.tune.blocked = true
		if err := r.step(); err != nil {
			return err
		}
	}
	mark := r.markHere(first)
	r.batch = r.free.get(r.cut, r.usual)
	r.batch.reset(mark, pos.File)
	r.limit = r.batchLimit()
	return nil
}

func (r *run) markHere(first *parser.Mark) parser.Mark {
	if first != nil {
		return *first
	}
	mark := r.src.Mark()
	mark.DB = r.db
	return mark
}

// windowOpen reports whether another batch, of one command of size bytes or of
// the usual length, may be handed over.
func (r *run) windowOpen(size int) bool {
	if r.unanswered == 0 {
		return true
	}
	return (r.tune.window == WindowMax || r.unanswered+min(r.quarter(), max(r.usual, 1)) <= r.tune.window) &&
		r.kept < maxBatches &&
		r.keptBytes+int64(max(size, r.cut)) <= r.cfg.WindowBytes
}

// batchLimit is how many commands the next batch may hold: a quarter of the
// window, so that some are under way while others are filled.
func (r *run) batchLimit() int {
	if r.tune.window == WindowMax {
		return r.pace.most(math.MaxInt)
	}
	return r.pace.most(min(r.quarter(), max(1, r.tune.window-r.unanswered)))
}

func (r *run) quarter() int { return max(1, r.tune.window/4) }

// cutFull hands the batch over when it is full.
func (r *run) cutFull() error {
	if b := r.batch; len(b.places) >= r.limit || len(b.resp) >= r.cut {
		r.usual = len(b.places)
		return r.handOver()
	}
	return r.ending()
}

// handOver gives the batch to the connection, when the rates allow it, the
// connection is still there, and nothing must be sent before it.
func (r *run) handOver() error {
	b := r.batch
	if b.due == 0 {
		return r.settleAlone()
	}
	for _, first := range []func() error{r.keepPace, r.poll, r.catchUp} {
		if err := first(); err != nil {
			return err
		}
	}
	r.batch = nil
	r.sentOpen = r.block.Open
	r.send(b)
	return r.ending()
}

// keepPace waits until the rates allow the batch.
func (r *run) keepPace() error {
	if r.pace == (pace{}) {
		return nil
	}
	if wait := r.pace.reserve(time.Now(), r.batch.due, len(r.batch.resp)); wait > 0 {
		return r.sleep(wait)
	}
	return nil
}

// send gives a batch to the connection.
func (r *run) send(b *Batch) {
	b.start = r.handed
	r.tune.sent(b, time.Now())
	r.handed += int64(len(b.resp))
	if r.unanswered == 0 {
		r.stall.restart()
	}
	r.unanswered += b.due
	r.kept++
	r.keptBytes += b.cost()
	r.conn.hand(b)
}

// settleAlone settles a batch of refused records, in its turn.
func (r *run) settleAlone() error {
	for !r.idle() {
		if err := r.step(); err != nil {
			return err
		}
	}
	r.settleRefused()
	return r.ending()
}

func (r *run) settleRefused() {
	b := r.batch
	r.batch = nil
	r.settle(b)
	r.free.put(b)
}

// flush hands over what is in the batch; refused records alone are settled if
// nothing is under way, else when that is answered.
func (r *run) flush() error {
	switch {
	case r.batch == nil || r.batch.Len() == 0:
	case r.batch.due > 0:
		return r.handOver()
	case r.idle():
		r.settleRefused()
	}
	return r.ending()
}

// idle reports whether nothing is under way: all is answered and settled, but
// for a block that waits for its end.
func (r *run) idle() bool { return r.unanswered == 0 && (r.kept == 0 || r.held) }
