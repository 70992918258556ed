package loader

import (
	"time"

	"respipe/parser"
)

// Checkpoint is a place that a later load of the same input can go on from.
// What lies before it is settled.
type Checkpoint struct {
	// Mark is where the source must begin to read; the records from there to
	// Next, if there are any, are to be passed over. DB is selected at Next.
	Mark parser.Mark
	Next int64 // number of the first record to load
	// Ahead is how many records from Next on have been read: each of them may
	// have run.
	Ahead  int64
	Errors int64 // so far, by earlier runs, too
	NotRun int64 // blocks, so far
	// Changed names the commands before Next that have changed the connection in
	// other ways than SELECT does. A load that goes on does not repeat them.
	Changed []string
}

// Earlier is what earlier runs of a load have done.
type Earlier struct {
	Next    int64 // number of the first record to load; 0 is 1
	DB      int   // database selected there; counts where Next does
	Records int64 // of the report
	Errors  int64
	NotRun  int64
}

// checkpointEvery is the time between two checkpoints, unless Config says
// another.
const checkpointEvery = time.Second

// foothold is a place where reading can begin, outside of any block, and the
// number of the first record behind it that may have to be loaded.
type foothold struct {
	mark parser.Mark
	next int64
}

// checkpoints knows at any time what is the oldest record that is not settled.
// It costs nothing for each record: it keeps the batches that are under way.
type checkpoints struct {
	ticks  *time.Ticker // nil: no checkpoints are asked for
	saved  Checkpoint   // the last one
	first  parser.Mark  // where the load began
	latest foothold     // that was made
	watch  *parser.Mark // of the first WATCH before the block to come; nil for none
	flying []*Batch
	handed int64 // bytes of all that was handed over
}

// aheadWindows is how many windows, of all connections, the load may be ahead
// of the oldest record that is not settled.
const aheadWindows = 4

// begin is called before the first record is read.
func (k *checkpoints) begin(cfg *Config, mark parser.Mark) {
	if cfg.OnCheckpoint == nil {
		return
	}
	every := cfg.CheckpointEvery
	if every <= 0 {
		every = checkpointEvery
	}
	k.ticks = time.NewTicker(every)
	k.first, k.latest = mark, foothold{mark, max(cfg.Earlier.Next, 1)}
}

// end stops the clock.
func (k *checkpoints) end() {
	if k.ticks != nil {
		k.ticks.Stop()
	}
}

func (k *checkpoints) tick() <-chan time.Time {
	if k.ticks == nil {
		return nil
	}
	return k.ticks.C
}

// add is called with a batch that is handed over.
func (k *checkpoints) add(b *Batch) {
	k.handed += int64(len(b.resp))
	if k.ticks == nil || b.from.next == 0 {
		return
	}
	k.flying = append(k.flying, b)
	b.flying = len(k.flying)
}

// remove is called with one that is settled, or whose places are in pieces.
func (k *checkpoints) remove(b *Batch) {
	if b.flying == 0 {
		return
	}
	last := len(k.flying) - 1
	k.flying[b.flying-1] = k.flying[last]
	k.flying[b.flying-1].flying = b.flying
	k.flying[last] = nil
	k.flying, b.flying = k.flying[:last], 0
}

// takeNote notes a command at mark that begins or ends what must be gone on from
// as a whole.
func (k *checkpoints) takeNote(class parser.Class, inBlock bool, mark func() parser.Mark) {
	switch {
	case class == parser.Watch && !inBlock && k.watch == nil:
		m := mark()
		k.watch = &m
	case class == parser.Exec, class == parser.Discard, class == parser.Unwatch && !inBlock:
		k.watch = nil
	}
}

// blockStart returns the mark of the block, or of the WATCH before it, that is
// open; nil for none.
func (r *run) blockStart() *parser.Mark {
	switch {
	case r.saves.watch != nil:
		return r.saves.watch
	case r.block.Open:
		return &r.block.Mark
	}
	return nil
}

// footholdAt returns the one of a batch that begins at mark.
func (r *run) footholdAt(mark parser.Mark) foothold {
	if start := r.blockStart(); start != nil {
		mark = *start
	}
	r.saves.latest = foothold{mark, mark.N}
	return r.saves.latest
}

// eachUnsettled calls f with each batch that is not settled.
func (r *run) eachUnsettled(f func(*Batch)) {
	for _, b := range r.saves.flying {
		f(b)
	}
	for _, p := range r.pipes {
		if p.batch != nil && p.batch.from.next > 0 {
			f(p.batch)
		}
	}
}

// checkpoint returns the place to go on from while the load runs.
func (r *run) checkpoint() Checkpoint {
	at := foothold{r.saves.latest.mark, r.nextRecord()}
	db := r.db
	if start := r.blockStart(); start != nil {
		at, db = foothold{*start, start.N}, start.DB
	}
	r.eachUnsettled(func(b *Batch) {
		if b.from.next < at.next {
			at, db = b.from, b.mark.DB
		}
	})
	at.mark.DB = db
	return r.checkpointAt(at)
}

func (r *run) checkpointAt(at foothold) Checkpoint {
	c := Checkpoint{Mark: at.mark, Next: at.next, Ahead: max(r.last+1-at.next, 0), Errors: r.rep.EarlierErrors + r.rep.Errors, NotRun: r.cfg.Earlier.NotRun + r.rep.NotRun}
	for _, s := range r.state {
		c.Changed = append(c.Changed, s.op.Name)
	}
	return c
}

// lastCheckpoint returns the place to go on from when the load has ended, which
// is that of the report, and where reading can begin before it.
func (r *run) lastCheckpoint() Checkpoint {
	next := r.rep.Position.N
	at := foothold{next: next}
	take := func(m parser.Mark) {
		if m.N <= next && m.N >= at.mark.N {
			at.mark = m
		}
	}
	take(r.saves.first)
	take(r.saves.latest.mark)
	left := false
	r.eachUnsettled(func(b *Batch) {
		take(b.from.mark)
		left = true
	})
	if start := r.blockStart(); start != nil {
		take(*start)
	}
	if here := r.src.Mark(); here.N == next { // else it may be the end of a block
		take(here)
	}
	at.mark.DB = r.rep.Position.DB
	c := r.checkpointAt(at)
	if !left && r.rep.Unknown == 0 {
		c.Ahead = 0 // the record that is in hand was not sent
	}
	return c
}

// nextRecord is the number of the first record of which not all was taken on.
func (r *run) nextRecord() int64 {
	if r.inHand || r.partial || r.broken != nil {
		return r.last
	}
	return r.last + 1
}

// save passes a checkpoint on, if there is a new one.
func (r *run) save() {
	if r.saves.ticks == nil {
		return
	}
	c := r.checkpoint()
	if c.Next == r.saves.saved.Next && c.Errors == r.saves.saved.Errors && c.Ahead == r.saves.saved.Ahead {
		return
	}
	r.saves.saved = c
	if err := r.cfg.OnCheckpoint(c); err != nil && r.stopped == nil {
		r.stopped = err
	}
}

// farAhead reports whether what is read now is too far ahead of the oldest
// record that is not settled, as it is when one of several connections is slow.
func (r *run) farAhead() (far bool) {
	if r.saves.ticks == nil || len(r.pipes) == 1 || r.blockStart() != nil {
		return false
	}
	windows := int64(aheadWindows * len(r.pipes))
	r.eachUnsettled(func(b *Batch) {
		far = far || r.saves.handed-b.handed > windows*r.cfg.WindowBytes ||
			r.tune.Window() != WindowMax && r.last-b.from.next > windows*int64(r.tune.Window())
	})
	return far
}

// hurry has all that is not settled on its way.
func (r *run) hurry() error {
	for _, p := range r.pipes {
		r.askConfirm(p, true)
	}
	return r.flush()
}
