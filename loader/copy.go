package loader

import (
	"slices"

	"respipe/parser"
)

// outgoing is a batch of what is sent again, and where to.
type outgoing struct {
	p *pipeline
	b *Batch
}

// copyAgain copies what the plan sends into new batches, in the order of the
// input, and leaves the old places empty: from now on the copies count. A
// transaction without its end comes last: what follows on its connection will
// be part of it.
func (r *run) copyAgain(plan *plan) (copies []outgoing) {
	current, redirects := map[*pipeline]*Batch{}, newRedirects()
	reading := r.blockPipe
	for _, u := range plan.units {
		if !u.send {
			continue
		}
		p, asks := r.importer(u, redirects)
		if asks {
			copies = r.asking(copies, current, p, u)
		}
		if u.open {
			p.sentOpen = true
			if u.w.p == reading {
				r.blockPipe = p
			}
		}
		copies = r.copyUnit(copies, current, p, u)
	}
	return copies
}

// copyUnit appends a unit to the batches for p, of which current has the last.
func (r *run) copyUnit(copies []outgoing, current map[*pipeline]*Batch, p *pipeline, u *unit) []outgoing {
	for _, part := range u.parts {
		copies = r.copyRoom(copies, current, p, part)
		r.move(current[p], part, u.rerun)
	}
	return copies
}

// asking appends the command of our own by which the node of p takes the next
// one though it does not have the slot yet.
func (r *run) asking(copies []outgoing, current map[*pipeline]*Batch, p *pipeline, u *unit) []outgoing {
	part := u.parts[0]
	copies = r.copyRoom(copies, current, p, part)
	b := current[p]
	b.resp = append(b.resp, "*1\r\n$6\r\nASKING\r\n"...)
	b.add(part.b.N(part.i), part.b.Pos(part.i), parser.Repeatable, own)
	b.plain = false
	return copies
}

// copyRoom makes sure that current has a batch for p with room for a command.
func (r *run) copyRoom(copies []outgoing, current map[*pipeline]*Batch, p *pipeline, part part) []outgoing {
	s := part.b.originOf(part.i)
	size := len(part.b.bytesOf(part.i)) + s.size()
	b := current[p]
	if b != nil && b.size()+size <= r.cut && b.fits(part.b.N(part.i), part.b.Pos(part.i)) {
		return copies
	}
	b = r.free.get(r.cut, p.usual)
	b.reset(part.b.markOf(part.i), part.b.file)
	b.from, b.handed = part.b.from, part.b.handed
	current[p] = b
	return append(copies, outgoing{p, b})
}

func (r *run) sendCopies(copies []outgoing) {
	for _, c := range copies {
		r.send(c.p, c.b)
	}
}

// move copies one command to b.
func (r *run) move(b *Batch, from part, reruns bool) {
	old := &from.b.places[from.i]
	flags := old.flags & (own | piece)
	if old.class == parser.Discard {
		flags |= old.flags & unrun
	}
	if reruns {
		flags |= rerun
	}
	b.resp = append(b.resp, from.b.bytesOf(from.i)...)
	b.add(from.b.N(from.i), from.b.Pos(from.i), old.class, flags)
	b.places[b.Len()-1].index = old.index
	b.trace(from.b.originOf(from.i))
	b.plain = false
	old.flags |= moved
	if s := from.b.splits[from.i]; s != nil {
		delete(from.b.splits, from.i)
		b.split(b.Len()-1, s)
	}
	if flags&(own|piece) == 0 {
		from.b.away++
		if from.answered {
			r.rep.Replies--
		}
	}
	from.b.failures = slices.DeleteFunc(from.b.failures, func(f Failure) bool {
		if f.I == from.i && f.Ours {
			f.I = b.Len() - 1
			b.failures = append(b.failures, f)
		}
		return f.I == from.i || f.Ours && f.I == b.Len()-1
	})
}
