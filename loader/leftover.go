package loader

import (
	"respipe/parser"
)

// leftover goes once through the commands of a pipeline that were not settled
// when a load ended, in the order of the input, and finds out what became of
// each.
type leftover struct {
	*run
	p *pipeline

	watching bool
	watched  parser.Mark // of the first WATCH

	open    bool        // inside MULTI and EXEC
	mark    parser.Mark // of that MULTI
	pos     parser.Pos
	endless bool  // and that has no end
	pending int64 // commands of the block
	block   []*place

	pieces splitsLeft
	seen   []*Batch
}

// leftovers accounts for what was not settled and for the place to go on from.
func (r *run) leftovers() {
	pieces := splitsLeft{}
	var seen []*Batch
	for _, p := range r.pipes {
		k := &p.conn.block
		l := leftover{run: r, p: p, pieces: pieces, watching: k.watching, watched: k.watched}
		for _, f := range p.conn.flight() {
			if f.got < f.Len() {
				l.rep.Replies += repliesOf(f.Batch, f.got)
			}
			l.batch(f.Batch, f.got)
		}
		if b := p.batch; b != nil {
			b.start = neverHanded
			l.batch(b, 0)
		}
		l.finish()
		seen = append(seen, l.seen...)
	}
	pieces.count(r)
	for _, b := range seen {
		r.tally(b)
	}
	r.leaveWithheld()
	r.goOnHere()
}

// repliesOf counts the replies to commands of the input among the first got
// places.
func repliesOf(b *Batch, got int) (n int64) {
	for _, p := range b.places[:got] {
		if p.flags&(refused|own|piece) == 0 {
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
		sent := i < got || b.start+int64(p.end) <= l.p.conn.written
		if sent && p.flags&(refused|own|piece) == 0 {
			l.rep.Sent++
		}
		if sent && i >= got && p.flags&(refused|piece) == 0 {
			l.rep.Unanswered++
		}
		switch s := b.splits[i]; {
		case s != nil:
			l.pieces.add(s, b, i, fateOf(i < got, sent))
		case p.flags&refused == 0:
			l.place(b, i, l.unconfirmed(fateOf(i < got, sent)), failed[i])
		}
	}
	l.seen = append(l.seen, b)
}

// unconfirmed turns an answer into the unknown where too few replicas have what
// was answered.
func (l *leftover) unconfirmed(f fate) fate {
	if f == gotReply && l.p.node.wait > 0 {
		return unknown
	}
	return f
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

// settles notes what became of a command of a batch that is not settled.
func (p *place) settles(f fate) {
	switch f {
	case gotReply:
		p.flags |= acked
	case unknown:
		p.flags |= unsure
	}
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
	case p.endsBlock():
		l.blockEnds(b, i, notSent)
		return
	case p.flags&own != 0:
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
		p.settles(f)
		l.count(f, 1, b.markOf(i), b.Pos(i), b.Pos(i))
	}
}

// blockEnds accounts for the commands of a block whose EXEC or DISCARD is
// place i.
func (l *leftover) blockEnds(b *Batch, i int, f fate) {
	for _, p := range l.block {
		p.settles(f)
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
		l.lostFrom(mark.N, first, last)
		l.rep.Unknown += n
	case notSent:
		l.rep.NotSent += n
	}
	if l.watching {
		mark = l.watched
	}
	l.goOnFrom(mark, first.File, l.endless)
}

// lostFrom notes that commands from first, of record n, to last are unknown.
func (r *run) lostFrom(n int64, first, last parser.Pos) {
	if r.rep.Unknown == 0 || n < r.firstLost {
		r.firstLost, r.rep.FirstLost = n, first
	}
	if r.rep.Unknown == 0 || n >= r.lastLost {
		r.lastLost, r.rep.LastLost = n, last
	}
}

// goOnFrom notes a place that the load must go on from, if there is none before
// it; where is that of an open block.
func (r *run) goOnFrom(mark parser.Mark, file string, open bool) {
	if !r.found || mark.N < r.rep.Position.N {
		r.found = true
		r.rep.Position, r.rep.File, r.rep.OpenBlock = mark, file, open
	}
}

// finish accounts for a block that has no end.
func (l *leftover) finish() {
	if !l.open {
		return
	}
	l.endless = true
	l.count(notSent, l.pending, l.mark, l.pos, l.pos)
	if l.rep.InputDone { // the server had not closed it where we thought
		l.rep.Errors++
		l.kinds.Count([]byte("MULTI without EXEC: its transaction did not run"), l.pos)
	}
}

// goOnHere accounts for the command that waited for room, and for the case that
// all is settled.
func (r *run) goOnHere() {
	here := r.src.Mark()
	here.DB = r.db
	here.N = r.nextRecord()
	if r.inHand {
		r.rep.NotSent++
	}
	r.goOnFrom(here, "", false)
	if watch := r.saves.watch; watch != nil && !r.rep.InputDone {
		r.goOnFrom(*watch, "", true) // its block is still to come
	}
	if r.cfg.OnCheckpoint != nil {
		r.rep.Checkpoint = r.lastCheckpoint()
	}
}

// splitsLeft is what became of commands that were sent in pieces and are not
// settled.
type splitsLeft map[*split]*struct {
	mark parser.Mark
	some [3]bool // by fate
}

// add takes note of the fate of a piece, place i of b. Its command is told of
// there, unless another one comes.
func (l splitsLeft) add(s *split, b *Batch, i int, f fate) {
	if l[s] == nil {
		l[s] = &struct {
			mark parser.Mark
			some [3]bool
		}{mark: b.markOf(i)}
	}
	l[s].some[f] = true
	if s.last != nil {
		s.last.places[s.lastI].flags &^= unsure
	}
	s.last, s.lastI = b, i
	if l[s].some != [3]bool{notSent: true} || len(s.faults) > 0 {
		b.places[i].flags |= unsure
	}
}

// count counts each command once. One of which a part has run, or may have, and
// another not, is unknown.
func (l splitsLeft) count(r *run) {
	for s, seen := range l {
		switch {
		case seen.some == [3]bool{notSent: true} && len(s.faults) == 0:
			r.rep.NotSent++
		default:
			r.rep.Unanswered++
			r.rep.Sent++
			r.lostFrom(seen.mark.N, s.pos, s.pos)
			r.rep.Unknown++
		}
		r.goOnFrom(seen.mark, s.pos.File, false)
	}
}

// leaveWithheld accounts for a block that still waited for its first key.
func (r *run) leaveWithheld() {
	for _, w := range r.router.withheld {
		if w.resp != nil {
			r.rep.NotSent++
			r.goOnFrom(r.block.Mark, r.block.Pos.File, true)
		}
	}
}
