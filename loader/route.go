package loader

import (
	"fmt"

	"respipe/parser"
)

// routeSpecial takes on a command that changes the connection or that belongs
// to a block. There is room for it in the batch.
func (r *run) routeSpecial(c *parser.Command) error {
	r.batch.plain = false
	spoiled, state := r.block.Take(c, r.src)
	if spoiled > 0 {
		return r.replaceExec(c, spoiled)
	}
	r.append(c)
	if state || c.Op.Class == parser.State && !r.block.Open {
		return r.barrier(c)
	}
	return r.cutFull()
}

// replaceExec sends DISCARD in place of the EXEC of a block of which a record
// was refused.
func (r *run) replaceExec(c *parser.Command, line int) error {
	r.discard(c.N, c.Pos, parser.Exec)
	r.failHere(fmt.Sprintf("EXEC not sent: line %d of its block was refused, so none of it ran", line))
	return r.cutFull()
}

// breakBlock sends DISCARD for a block that is open at the end of its file.
func (r *run) breakBlock() error {
	b := r.block
	r.block = OpenBlock{}
	if err := r.room(b.Mark.N, b.Pos, 0, &b.Mark); err != nil {
		return err
	}
	r.discard(b.Mark.N, b.Pos, parser.Discard)
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
