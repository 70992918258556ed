package loader

import (
	"fmt"

	"respipe/parser"
)

// openBlock is what the router knows of a MULTI that it has sent: the reader
// is behind and knows what the server made of it.
type openBlock struct {
	open    bool
	state   bool // it holds a command that changes the connection
	file    int
	mark    parser.Mark
	pos     parser.Pos
	spoiled int // line of the first record that was refused in it, or 0
}

// spoil notes that a record was refused.
func (b *openBlock) spoil(line int) {
	if b.open && b.spoiled == 0 {
		b.spoiled = line
	}
}

// routeSpecial takes on a command that changes the connection or that belongs
// to a block. There is room for it in the batch.
func (r *run) routeSpecial(c *parser.Command) error {
	r.batch.plain = false
	barrier := false
	switch alone := len(c.Args) == 1; {
	case c.Op.Class == parser.Exec && r.block.open:
		if r.block.spoiled > 0 {
			return r.replaceExec(c)
		}
		barrier = r.block.state
		r.block = openBlock{}
	case c.Op.Class == parser.Discard && alone:
		r.block = openBlock{}
	case c.Op.Class == parser.Multi && alone && !r.block.open:
		r.block = openBlock{open: true, file: c.File, mark: r.src.Mark(), pos: c.Pos}
	case c.Op.Class == parser.State && r.block.open:
		r.block.state = true
	case c.Op.Class == parser.State:
		barrier = true
	}
	r.append(c)
	if barrier {
		return r.barrier(c)
	}
	return r.cutFull()
}

// replaceExec sends DISCARD in place of the EXEC of a block of which a record
// was refused.
func (r *run) replaceExec(c *parser.Command) error {
	line := r.block.spoiled
	r.block = openBlock{}
	r.discard(c.N, c.Pos, parser.Exec)
	r.failHere(fmt.Sprintf("EXEC not sent: line %d of its block was refused, so none of it ran", line))
	return r.cutFull()
}

// breakBlock sends DISCARD for a block that is open at the end of its file.
func (r *run) breakBlock() error {
	b := r.block
	r.block = openBlock{}
	if err := r.room(b.mark.N, b.pos, 0, &b.mark); err != nil {
		return err
	}
	r.discard(b.mark.N, b.pos, parser.Discard)
	r.failHere("MULTI without EXEC: its block was discarded at the end of the file")
	return r.cutFull()
}

// discard puts a DISCARD of our own into the batch.
func (r *run) discard(n int64, pos parser.Pos, class parser.Class) {
	r.batch.resp = append(r.batch.resp, "*1\r\n$7\r\nDISCARD\r\n"...)
	r.batch.add(n, pos, class, own)
}

// barrier waits until all is answered: only the reply says in which state the
// connection is.
func (r *run) barrier(c *parser.Command) error {
	if err := r.handOver(); err != nil {
		return err
	}
	for r.unanswered > 0 || r.redo || r.resending {
		if err := r.step(); err != nil {
			return err
		}
	}
	if c.Op.Class == parser.State && !r.stateBad {
		r.remember(c.Op, parser.AppendCommand(nil, c.Args))
	}
	return nil
}
