package loader

import (
	"slices"

	"respipe/parser"
)

const (
	pieceLen = 4096 // places in a piece of a block that was let go
)

// block is what the reader of a connection knows of the MULTI that is open on
// it. Its commands are settled by the reply of its EXEC or DISCARD; until then
// the batches that hold them stay here, oldest first. Of a block longer than
// half the window the oldest batches are let go: their places move to pieces,
// which hold no RESP, and their room is given back.
type block struct {
	open     bool
	dirty    bool        // a command in it was refused
	watching bool        // a WATCH came before
	watched  parser.Mark // the first of them
	watch    [][]byte    // RESP of all of them
	pieces   []*Batch    // places only, older than batches
	held     []*Batch
	bytes    int64 // kept by held

	elements int        // of the EXEC to come: commands answered QUEUED
	dbs      []dbChange // of the SELECTs among them

	// Where the next element is looked for, at first the MULTI: errors come in
	// the order of their elements, so one pass finds them all.
	at      int // index of the batch, pieces and held counted as one
	i       int // index of the place
	element int // elements before that place
}

// dbChange is a SELECT inside a block.
type dbChange struct {
	element int
	db      int
}

// start opens the block at place i of the batch being answered.
func (k *block) start(i int) {
	k.open, k.dirty = true, false
	k.at, k.i, k.element = len(k.pieces)+len(k.held), i, 0
	k.elements = 0
	k.dbs = k.dbs[:0]
}

// close ends the block; what it held stays.
func (k *block) close() {
	k.open, k.watching = false, false
	k.watch = nil
}

// batch returns the batch with index at; current follows the held ones.
func (k *block) batch(at int, current *Batch) *Batch {
	switch {
	case at < len(k.pieces):
		return k.pieces[at]
	case at < len(k.pieces)+len(k.held):
		return k.held[at-len(k.pieces)]
	}
	return current
}

// locate finds the command that is element n of the block's EXEC. It must be
// called with rising n.
func (k *block) locate(n int, current *Batch) (*Batch, int, bool) {
	for k.at <= len(k.pieces)+len(k.held) {
		b := k.batch(k.at, current)
		for ; k.i < len(b.places); k.i++ {
			if b.places[k.i].flags&queued == 0 {
				continue
			}
			if k.element == n {
				return b, k.i, true
			}
			k.element++
		}
		k.at++
		k.i = 0
	}
	return nil, 0, false
}

// queue counts a command that was answered QUEUED.
func (k *block) queue() { k.elements++ }

// queueSelect does the same for a SELECT.
func (k *block) queueSelect(db int) {
	k.dbs = append(k.dbs, dbChange{k.elements, db})
	k.elements++
}

// selectFailed is told of each element that is an error.
func (k *block) selectFailed(element int) {
	k.dbs = slices.DeleteFunc(k.dbs, func(c dbChange) bool { return c.element == element })
}

// hold keeps an answered batch.
func (k *block) hold(b *Batch) {
	k.held = append(k.held, b)
	k.bytes += b.cost()
}

// release empties the block and returns what it held, oldest first. The slice
// of batches is valid until the next hold.
func (k *block) release() (pieces *Batch, held []*Batch) {
	for i := len(k.pieces) - 1; i >= 0; i-- {
		k.pieces[i].next = pieces
		pieces = k.pieces[i]
	}
	clear(k.pieces)
	held = k.held
	k.pieces, k.held, k.bytes = k.pieces[:0], k.held[:0], 0
	return pieces, held
}

// letGo moves the places of the oldest held batch to the pieces, if its Write
// has returned, and returns the batch.
func (k *block) letGo() *Batch {
	b := k.held[0]
	if b.unfinished.Load() > 1 {
		return nil // the writer still uses its bytes
	}
	before := len(k.pieces)
	k.bytes -= b.cost()
	k.held = append(k.held[:0], k.held[1:]...)
	for i := range b.places {
		k.piece(b, i).take(b, i)
	}
	for _, f := range b.failures {
		at, i := k.placeAgo(len(b.places) - f.I)
		f.I = i
		k.pieces[at].failures = append(k.pieces[at].failures, f)
	}
	switch {
	case k.at == before:
		k.at, k.i = k.placeAgo(len(b.places) - k.i)
	case k.at > before:
		k.at += len(k.pieces) - before - 1
	}
	return b
}

// piece returns the piece that place i of b goes to.
func (k *block) piece(b *Batch, i int) *Batch {
	if n := len(k.pieces); n > 0 {
		last := k.pieces[n-1]
		if len(last.places) < cap(last.places) && last.fits(b.N(i), b.Pos(i)) {
			return last
		}
	}
	size := pieceLen
	if len(k.pieces) == 0 {
		size = max(len(b.places), 64)
	}
	p := &Batch{places: make([]place, 0, size), traced: b.traced}
	p.mark, p.file = b.markOf(i), b.file
	k.pieces = append(k.pieces, p)
	return p
}

// take appends the place of command i of another batch.
func (b *Batch) take(from *Batch, i int) {
	p := from.places[i]
	p.record = int32(from.N(i) - b.mark.N)
	p.line = int32(from.Pos(i).Line - b.mark.Line)
	p.end = 0
	b.places = append(b.places, p)
	if b.traced {
		b.traces = append(b.traces, trace{})
		s := from.sourceOf(i)
		s.text = nil
		b.trace(s)
	}
	if reply := from.reply(i); reply != nil {
		b.replies = append(b.replies, reply...)
		b.endReply(len(b.places) - 1)
	}
	b.count(p.flags)
}

// fail notes that the block did not run, which place i of the current batch has
// ended.
func (k *block) fail(i int, current *Batch) {
	from := k.i
	for at := k.at; at <= len(k.pieces)+len(k.held); at++ {
		b := k.batch(at, current)
		end := len(b.places)
		if b == current {
			end = i + 1
		}
		for ; from < end; from++ {
			if p := &b.places[from]; p.flags&(refused|own) == 0 {
				p.flags |= unrun
			}
		}
		from = 0
	}
}

// placeAgo returns the index of the piece, and that in it, of the place that
// was taken n places ago, 1 being the last.
func (k *block) placeAgo(n int) (at, i int) {
	at = len(k.pieces) - 1
	for n > len(k.pieces[at].places) {
		n -= len(k.pieces[at].places)
		at--
	}
	return at, len(k.pieces[at].places) - n
}
