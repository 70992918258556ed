package loader

import (
	"math"

	"respipe/parser"
)

// leftover goes once through the commands that were not settled when a load
// ended, in the order of the input, and finds out what became of each.
type leftover struct {
	*run
	found bool // rep.Position is known

	watching bool
	watched  parser.Mark // of the first WATCH

	open    bool        // inside MULTI and EXEC
	mark    parser.Mark // of that MULTI
	pos     parser.Pos
	pending int64 // commands of the block
	block   []*place

	seen []*Batch
}

// leftovers accounts for what was not settled and for the place to go on from.
func (r *run) leftovers() {
	k := &r.conn.block
	l := leftover{run: r, watching: k.watching, watched: k.watched}
	for _, f := range r.conn.flight() {
		if f.got < f.Len() {
			l.rep.Replies += repliesOf(f.Batch, f.got)
		}
		l.batch(f.Batch, f.got)
	}
	if b := r.batch; b != nil {
		b.start = math.MaxInt64 / 2 // it never left
		l.batch(b, 0)
	}
	l.finish()
	for _, b := range l.seen {
		l.tally(b)
	}
}

// repliesOf counts the replies to commands of the input among the first got
// places.
func repliesOf(b *Batch, got int) (n int64) {
	for _, p := range b.places[:got] {
		if p.flags&(refused|own) == 0 {
			n++
		}
	}
	return n
}

// batch accounts for one batch, of whose places got are answered.
func (l *leftover) batch(b *Batch, got int) {
	failed := make(map[int]bool, len(b.failures))
	for _, f := range b.failures {
		failed[f.I] = !f.Warning
	}
	for i := range b.places {
		p := &b.places[i]
		sent := i < got || b.start+int64(p.end) <= l.conn.written
		if sent && p.flags&(refused|own) == 0 {
			l.rep.Sent++
		}
		if sent && i >= got && p.flags&refused == 0 {
			l.rep.Unanswered++
		}
		if p.flags&refused == 0 {
			l.place(b, i, fateOf(i < got, sent), failed[i])
		}
	}
	l.seen = append(l.seen, b)
}

// fate is what became of a command that was not settled.
type fate uint8

const (
	gotReply fate = iota
	unknown       // sent to its last byte, not answered
	notSent
)

func fateOf(answered, sent bool) fate {
	switch {
	case answered:
		return gotReply
	case sent:
		return unknown
	}
	return notSent
}

// place accounts for one command. The commands of a block wait for what became
// of its end.
func (l *leftover) place(b *Batch, i int, f fate, failed bool) {
	p := &b.places[i]
	switch class := p.class; {
	case class == parser.Watch && !failed && !l.watching:
		l.watching, l.watched = true, b.markOf(i)
	case class == parser.Multi && !failed && !l.open:
		l.open, l.mark, l.pos, l.pending = true, b.markOf(i), b.Pos(i), 0
	case p.flags&own != 0:
		l.blockEnds(b, i, notSent)
		return
	case class == parser.Discard && !failed && f != gotReply:
		l.blockEnds(b, i, notSent)
	case class == parser.Exec, class == parser.Discard && !failed:
		l.blockEnds(b, i, f)
	}
	switch {
	case failed:
	case l.open:
		l.pending++
		l.block = append(l.block, p)
	default:
		if f == gotReply {
			p.flags |= acked
		}
		l.count(f, 1, b.markOf(i), b.Pos(i), b.Pos(i))
	}
}

// blockEnds accounts for the commands of a block whose EXEC or DISCARD is
// place i.
func (l *leftover) blockEnds(b *Batch, i int, f fate) {
	if f == gotReply {
		for _, p := range l.block {
			p.flags |= acked
		}
	}
	l.block = nil
	if l.open {
		l.count(f, l.pending, l.mark, l.pos, b.Pos(i))
	}
	l.open, l.watching = false, false
}

// count adds n commands, from first to last, to what f says; mark is where to
// go on from if these are not done.
func (l *leftover) count(f fate, n int64, mark parser.Mark, first, last parser.Pos) {
	switch f {
	case gotReply:
		l.rep.Acknowledged += n
		return
	case unknown:
		if l.rep.Unknown == 0 {
			l.rep.FirstLost = first
		}
		l.rep.LastLost = last
		l.rep.Unknown += n
	case notSent:
		l.rep.NotSent += n
	}
	if l.watching {
		mark = l.watched
	}
	l.goOnFrom(mark, first.File)
}

func (l *leftover) goOnFrom(mark parser.Mark, file string) {
	if !l.found {
		l.found = true
		l.rep.Position, l.rep.File = mark, file
	}
}

// finish accounts for a block that has no end, for the command that waited for
// room, and for the case that all is settled.
func (l *leftover) finish() {
	if l.open {
		l.rep.OpenBlock = !l.found
		l.count(notSent, l.pending, l.mark, l.pos, l.pos)
		if l.rep.InputDone { // the server had not closed it where we thought
			l.rep.Errors++
			l.kinds.Count([]byte("MULTI without EXEC: its block did not run"), l.pos)
		}
	}
	here := l.src.Mark()
	here.DB = l.db
	here.N = l.last + 1
	if l.inHand {
		l.rep.NotSent++
		here.N = l.last
	}
	if l.broken != nil {
		here.N = l.last
	}
	l.goOnFrom(here, "")
}
