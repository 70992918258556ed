package loader

import (
	"fmt"
	"strconv"

	"respipe/parser"
)

// takeSpecial takes on a command that changes the connection or that belongs
// to a block. There is room for it in the batch of p.
func (r *run) takeSpecial(p *pipeline, c *parser.Command) error {
	p.batch.plain = false
	block := r.openedBy()
	discarded := c.Op.Class == parser.Discard && r.block.spoiled > 0
	spoiled, state := r.takeNote(c)
	if r.block.Open {
		r.blockPipe, block = p, r.openedBy()
	}
	if spoiled > 0 {
		return r.replaceExec(p, c, block, spoiled)
	}
	p.batch.append(c, block)
	if discarded {
		p.batch.places[p.batch.Len()-1].flags |= unrun
	}
	if state || c.Op.Class == parser.State && !r.block.Open {
		return r.barrier(p, c)
	}
	return r.cutFull(p)
}

// takeNote keeps the open block, and what else is one with it, up to date.
func (r *run) takeNote(c *parser.Command) (spoiled int, state bool) {
	opened := r.block.Open
	r.saves.takeNote(c.Op.Class, opened, func() parser.Mark { return r.markHere(nil) })
	spoiled, state = r.block.Take(c, r.src)
	if !opened {
		r.block.Mark.DB = r.db
	}
	return spoiled, state
}

// openedBy returns the record of the MULTI of the block that is open, or 0.
func (r *run) openedBy() int64 {
	if !r.block.Open {
		return 0
	}
	return r.block.Mark.N
}

// replaceExec sends DISCARD in place of the EXEC of a block of which a record
// was refused.
func (r *run) replaceExec(p *pipeline, c *parser.Command, block int64, line int) error {
	r.discard(p.batch, c.N, c.Pos, parser.Exec)
	s := originOf(c, block)
	s.asSent = false // the DISCARD is
	p.batch.trace(s)
	r.failHere(p.batch, fmt.Sprintf("EXEC not sent: line %d of its transaction was refused, so none of it ran", line))
	return r.cutFull(p)
}

// breakBlock sends DISCARD for a block that is open at the end of its file.
func (r *run) breakBlock() error {
	if err := r.pin(nil); err != nil { // its MULTI may still be held back
		return err
	}
	b := r.block
	r.block, r.saves.watch = OpenBlock{}, nil
	r.router.unpin()
	p, err := r.room(ofBlock, b.Mark.N, b.Pos, 0, &b.Mark)
	if err != nil {
		return err
	}
	r.discard(p.batch, b.Mark.N, b.Pos, parser.Discard)
	p.batch.trace(origin{last: true, block: b.Mark.N})
	r.failHere(p.batch, "MULTI without EXEC: its transaction was discarded at the end of the file")
	return r.cutFull(p)
}

// discard puts a DISCARD of our own into a batch.
func (r *run) discard(b *Batch, n int64, pos parser.Pos, class parser.Class) {
	b.resp = append(b.resp, "*1\r\n$7\r\nDISCARD\r\n"...)
	b.add(n, pos, class, own)
}

// barrier waits until all is answered: only the reply says in which state the
// connection is.
func (r *run) barrier(p *pipeline, c *parser.Command) error {
	r.leader, r.stateBad = p, false
	defer func() { r.leader = nil }()
	if err := r.settleAll(); err != nil {
		return err
	}
	if c.Op.Class == parser.State && !r.stateBad {
		r.remember(c.Op, parser.AppendCommand(nil, c.Args))
	}
	return r.alignDB(p)
}

// alignDB selects on all other connections what a block has selected on p.
func (r *run) alignDB(p *pipeline) error {
	for _, q := range r.pipes {
		if q == p {
			continue
		}
		mark := r.markHere(nil)
		b := r.free.get(r.cut, q.usual)
		b.reset(mark, "")
		b.resp = parser.AppendCommand(b.resp, [][]byte{[]byte("SELECT"), strconv.AppendInt(nil, int64(r.db), 10)})
		b.add(mark.N, parser.Pos{Line: mark.Line}, parser.State, own)
		b.plain = false
		r.send(q, b)
	}
	return r.quiesce()
}

// quiesce waits until all that was handed over is answered for good.
func (r *run) quiesce() error {
	for r.underWay() || r.troubled() {
		if err := r.step(); err != nil {
			return err
		}
	}
	return nil
}
