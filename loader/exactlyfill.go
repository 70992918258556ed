package loader

import (
	"fmt"

	"respipe/parser"
)

// arrive takes note that the source stands at a command, or a refused record,
// of record n. It reports false for one that is done, and confirmed.
func (x *exactly) arrive(n int64) bool {
	if n != x.at.n {
		x.at = reach{n: n}
	}
	x.at.commands++
	return x.passed.before(x.at)
}

// passing reports whether the command at hand ran in an earlier run that did not
// see the reply: it is read for the report, and not sent.
func (x *exactly) passing() bool { return !x.from.before(x.at) }

// again reports whether what lies before a place is in the report already: a
// server had lost it.
func (x *exactly) again(at reach) bool { return !x.settled.before(at) }

// take puts a command into the transaction that is being filled.
func (x *exactly) take(c *parser.Command) error {
	if !x.arrive(c.N) {
		return nil
	}
	x.inHand = !x.again(x.at)
	if err := x.count(c.N, c.File); err != nil {
		return err
	}
	if why := x.forbids(c); why != "" {
		return x.refuseHere(c.N, c.Pos, why, originOf(c, 0))
	}
	size := len(c.Raw)
	if c.Raw == nil {
		size = parser.CommandSize(c.Args)
	}
	begins := c.Op.Class == parser.Multi && len(c.Args) == 1
	if t := x.filling; t != nil && !x.block.Open && (begins || t.size()+size > x.cut) {
		if err := x.handOver(); err != nil {
			return err
		}
	}
	t := x.fillingAt(c.N)
	b := x.batchAt(t, c.N, c.Pos, size)
	x.inHand = false
	if c.Op.Class >= parser.State {
		return x.takeSpecial(t, b, c)
	}
	b.append(c, x.openedBy())
	return x.added(t, c.Last)
}

// count counts the record at hand; a block ends with its file.
func (x *exactly) count(n int64, file int) error {
	if n != x.last && !x.passing() {
		x.last = n
		x.records++
	}
	if n > x.seen {
		x.seen = n
		x.rep.Records++
	}
	if x.block.Open && file != x.block.Mark.File {
		return x.breakBlock()
	}
	return nil
}

// forbids says why a command must not be sent, "" if it may.
func (x *exactly) forbids(c *parser.Command) string {
	switch {
	case c.Op.Class == parser.Watch && !x.block.Open:
		return "WATCH cannot be loaded exactly once: what runs must not depend on other clients"
	case c.Op.Name == "SWAPDB":
		return "SWAPDB cannot be loaded exactly once: it would move the position to another database"
	case c.Op.Name == "AUTH":
		return "AUTH cannot be loaded exactly once: a run that goes on behind it would not be logged in by it"
	case (c.Op.Class == parser.Exec || c.Op.Class == parser.Discard) && !x.block.Open: // it would end our own
		return c.Op.Name + " without MULTI"
	}
	return ""
}

// takeSpecial takes on a command that changes the connection or that belongs
// to a block.
func (x *exactly) takeSpecial(t *transaction, b *Batch, c *parser.Command) error {
	b.plain = false
	inside, block := x.block.Open, x.openedBy()
	spoiled, _ := x.block.Take(c, x.src)
	if x.block.Open {
		block = x.openedBy()
	}
	ends := inside && !x.block.Open
	if spoiled > 0 {
		x.discard(b, c.N, c.Pos, parser.Exec)
		s := originOf(c, block)
		s.asSent = false // the DISCARD is
		b.trace(s)
		x.failHere(b, x.at, fmt.Sprintf("EXEC not sent: line %d of its transaction was refused, so none of it ran", spoiled))
	} else {
		b.append(c, block)
	}
	t.block = t.block || x.block.Open
	t.discarded = ends && (spoiled > 0 || c.Op.Class == parser.Discard)
	if c.Op.Class == parser.State {
		t.changes, t.apart = true, !inside
	}
	if err := x.added(t, c.Last); err != nil || !ends {
		return err
	}
	return x.handOver()
}

// refuse notes a record that the source refused.
func (x *exactly) refuse(bad *parser.Error) error {
	mark := x.src.Mark()
	if !x.arrive(mark.N) {
		return nil
	}
	x.inHand = !x.again(x.at)
	if err := x.count(mark.N, mark.File); err != nil {
		return err
	}
	return x.refuseHere(mark.N, bad.Pos, bad.Err.Error(), origin{text: bad.Src, last: true})
}

// refuseHere notes that the command or the record at hand is refused. It stands
// in a batch between its neighbours, so that errors come in the order of the
// input.
func (x *exactly) refuseHere(n int64, pos parser.Pos, text string, s origin) error {
	s.block, s.asSent = x.openedBy(), false
	x.block.Spoil(pos.Line)
	t := x.fillingAt(n)
	b := x.batchAt(t, n, pos, 0)
	x.inHand = false
	b.add(n, pos, parser.Refused, refused)
	b.trace(s)
	x.failHere(b, x.at, text)
	return x.added(t, true)
}

// failHere is run.failHere, unless that was said before. What an earlier run
// refused without saying so is no error of this run.
func (x *exactly) failHere(b *Batch, at reach, text string) {
	if x.passing() {
		b.plain = false
		b.fail(b.Len()-1, []byte(text), true)
	} else if !x.again(at) {
		x.run.failHere(b, text)
	}
}

// breakBlock sends DISCARD for a block that is open at the end of its file.
func (x *exactly) breakBlock() error {
	block, t := x.block, x.filling
	x.block = OpenBlock{}
	b := x.batchAt(t, block.Mark.N, block.Pos, 0)
	x.discard(b, block.Mark.N, block.Pos, parser.Discard)
	b.trace(origin{last: true, block: block.Mark.N})
	x.failHere(b, t.next.reach(), "MULTI without EXEC: its transaction was discarded at the end of the file")
	t.discarded = true
	return x.handOver()
}

// fillingAt returns the transaction that takes what comes of record n.
func (x *exactly) fillingAt(n int64) *transaction {
	if x.filling == nil {
		x.filling = &transaction{passed: x.passing()}
	}
	if t := x.filling; t.records == 0 || n != t.next.Mark.N {
		t.records++
	}
	return x.filling
}

// batchAt returns a batch of t that has room for a command: of one file, of one
// database, unless it is in a block, and of no more bytes than a place counts.
func (x *exactly) batchAt(t *transaction, n int64, pos parser.Pos, size int) *Batch {
	b := t.last()
	if b != nil && !t.apart && len(b.resp)+size <= largestBatch && b.fits(n, pos) {
		return b
	}
	if b != nil {
		t.before += len(b.resp)
	}
	b = x.free.get(smallBatch, smallBatch/placeBytes)
	b.reset(x.markHere(nil), pos.File)
	b.node = x.node
	t.batches, t.apart = append(t.batches, b), false
	return b
}

// added is called behind each command that was put into t. It hands t over when
// that is full; a block is, when it ends.
func (x *exactly) added(t *transaction, last bool) error {
	t.next.Mark, t.next.Commands, t.next.Records = x.src.Mark(), x.at.commands, x.records
	t.counted = x.rep.Records
	full := last && t.records >= x.limit || t.size() >= x.cut || len(t.batches) == mostParts || x.at == x.settled || x.at == x.from
	if full && !x.block.Open {
		return x.handOver()
	}
	return x.ending()
}
