package loader

import (
	"cmp"
	"math"
	"time"

	"respipe/parser"
)

// pipeline is one connection as Run's goroutine sees it: the batch that is
// being filled for it, and its window of commands that are not answered.
type pipeline struct {
	node *node
	conn *conn
	id   int64 // of the connection on the server, 0 when that does not tell

	batch *Batch // being filled, or nil
	limit int    // commands it may hold
	usual int    // commands in the last batch that was full

	unanswered int   // commands that were handed over and are not answered
	kept       int   // batches that were handed over and are not released
	keptBytes  int64 // of these
	handed     int64 // bytes handed over since the connection was made
	held       bool  // what is answered ends inside a block, which is kept
	sentOpen   bool  // what was handed over ends inside a block

	down    error // the connection is lost, and may be made again
	cause   error // why the last one was
	redo    bool  // something was refused for now
	vain    vain
	stall   stallClock
	confirm confirmation
}

// idle reports whether nothing is under way: all is answered and settled, but
// for a block that waits for its end.
func (p *pipeline) idle() bool { return p.unanswered == 0 && (p.kept == 0 || p.held) }

// Where a command goes, if not by the slot of its keys.
const (
	anywhere = -1
	ofBlock  = -2 // to the pipeline of the block that is open
)

// pipeOf returns the pipeline for keys of a slot.
func (r *run) pipeOf(slot int) *pipeline {
	n := r.nodes[0]
	switch {
	case slot == ofBlock:
		return r.blockPipe
	case slot == anywhere:
		return n.pipes[0]
	case r.router.owners != nil:
		n = cmp.Or(r.router.owners.of(slot), n)
	}
	return n.pipeOf(slot)
}

// pipeOf returns the pipeline of the node for keys of a slot.
func (n *node) pipeOf(slot int) *pipeline {
	if len(n.pipes) == 1 {
		return n.pipes[0]
	}
	return n.pipes[slot%len(n.pipes)]
}

// room makes sure that the pipeline of a slot has a batch with room for a
// command of size bytes at pos, and waits for the window. A new batch begins at
// first, or at the record that the source is at if that is nil. While it waits
// the slot may move to another pipeline.
func (r *run) room(slot int, n int64, pos parser.Pos, size int, first *parser.Mark) (*pipeline, error) {
	for {
		p := r.pipeOf(slot)
		if b := p.batch; b != nil {
			if b.size()+size <= r.cut && b.fits(n, pos) {
				return p, nil
			}
			p.usual = len(b.places)
			if err := r.handOver(p); err != nil {
				return nil, err
			}
			continue
		}
		far := r.farAhead()
		if !far && r.windowOpen(p, size) {
			r.newBatch(p, pos, first)
			return p, nil
		}
		if far {
			if err := r.hurry(); err != nil {
				return nil, err
			}
			if !r.farAhead() {
				continue
			}
		}
		r.tune.Blocked()
		r.askConfirm(p, true)
		if err := r.feedIdle(); err != nil {
			return nil, err
		}
		if err := r.step(); err != nil {
			return nil, err
		}
	}
}

// newBatch begins a batch for p.
func (r *run) newBatch(p *pipeline, pos parser.Pos, first *parser.Mark) {
	mark := r.markHere(first)
	p.batch = r.free.get(r.cut, p.usual)
	p.batch.reset(mark, pos.File)
	p.batch.from, p.batch.handed = r.footholdAt(mark), r.saves.handed
	p.limit = r.batchLimit(p)
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
// the usual length, may be handed over to p.
func (r *run) windowOpen(p *pipeline, size int) bool {
	if p.unanswered == 0 && (p.node.wait == 0 || p.kept == 0) {
		return true
	}
	return (r.tune.Window() == WindowMax || p.unanswered+min(r.quarter(), max(p.usual, 1)) <= r.tune.Window()) &&
		p.kept < maxBatches &&
		p.keptBytes+int64(max(size, r.cut))+int64(p.unanswered)*r.replySize <= r.cfg.WindowBytes
}

// batchLimit is how many commands the next batch may hold: a quarter of the
// window, so that some are under way while others are filled.
func (r *run) batchLimit(p *pipeline) int {
	most := math.MaxInt
	if r.cfg.KeepReplies != 0 {
		most = repliesPerBatch
	}
	if r.tune.Window() == WindowMax {
		return r.pace.Most(most)
	}
	return r.pace.Most(min(most, r.quarter(), max(1, r.tune.Window()-p.unanswered)))
}

func (r *run) quarter() int { return max(1, r.tune.Window()/4) }

// cutFull hands the batch over when it is full.
func (r *run) cutFull(p *pipeline) error {
	if b := p.batch; len(b.places) >= p.limit || b.size() >= r.cut {
		p.usual = len(b.places)
		return r.handOver(p)
	}
	return r.ending()
}

// handOver gives the batch to the connection, when the rates allow it, the
// connection is still there, and nothing must be sent before it.
func (r *run) handOver(p *pipeline) error {
	b := p.batch
	if b.due == 0 {
		return r.settleAlone(p)
	}
	for _, first := range []func() error{func() error { return r.keepPace(b) }, r.poll, r.catchUp} {
		if err := first(); err != nil {
			return err
		}
	}
	if p.batch != b || r.mustKeep(p) {
		return r.ending() // it went out with what had to be sent before it, or must wait for that
	}
	p.batch = nil
	p.sentOpen = r.blockGoesOn(p)
	r.send(p, b)
	r.askConfirm(p, false)
	return r.ending()
}

// mustKeep reports whether what is for p must wait: something is to be sent
// again, and before that the rest of a block that goes elsewhere.
func (r *run) mustKeep(p *pipeline) bool {
	q := r.unfinished()
	return q != nil && q != p && r.blockGoesOn(q) && r.mustRecover()
}

// blockGoesOn reports whether there is more to come of the block on p.
func (r *run) blockGoesOn(p *pipeline) bool { return r.block.Open && r.blockPipe == p }

// send gives a batch to the connection.
func (r *run) send(p *pipeline, b *Batch) {
	b.start = p.handed
	b.node = p.node
	b.sent = time.Now()
	b.phase = r.tune.Sent(b.sent.Sub(r.began))
	p.handed += int64(len(b.resp))
	if p.unanswered == 0 {
		p.stall.restart()
	}
	p.unanswered += b.due
	p.kept++
	b.charged = b.cost()
	p.keptBytes += b.charged
	r.saves.add(b)
	p.conn.hand(b)
}

// settleAlone settles a batch of refused records, in its turn.
func (r *run) settleAlone(p *pipeline) error {
	for !p.idle() {
		if err := r.step(); err != nil {
			return err
		}
	}
	r.settleRefused(p)
	return r.ending()
}

func (r *run) settleRefused(p *pipeline) {
	b := p.batch
	if b == nil {
		return
	}
	p.batch = nil
	r.settle(b)
	r.free.put(b)
}

// flush hands over what is in the batches; refused records alone are settled
// if nothing is under way on their pipeline, else when that is answered.
func (r *run) flush() error {
	for i := 0; i < len(r.pipes); i++ {
		p := r.pipes[i]
		switch {
		case p.batch == nil || p.batch.Len() == 0:
		case p.batch.due > 0:
			if err := r.handOver(p); err != nil {
				return err
			}
		case p.idle():
			r.settleRefused(p)
		}
	}
	return r.ending()
}

// feedIdle hands over what is in the batches of pipelines that have nothing to
// do, before the window of another one is waited for.
func (r *run) feedIdle() error {
	for i := 0; i < len(r.pipes); i++ {
		if p := r.pipes[i]; p.unanswered == 0 && p.batch != nil && p.batch.due > 0 {
			if err := r.handOver(p); err != nil {
				return err
			}
		}
	}
	return nil
}
