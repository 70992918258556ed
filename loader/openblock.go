package loader

import "respipe/parser"

// OpenBlock is what the sender of commands knows of a MULTI that it has sent,
// while it is open. The zero value is for none.
type OpenBlock struct {
	Open bool
	Mark parser.Mark // of the MULTI
	Pos  parser.Pos

	state   bool // it holds a command that changes the connection
	spoiled int  // line of the first record that was refused in it, or 0
}

// Take takes note of a command that is about to be sent; src has just handed
// it out. Of the EXEC of a block in which a record was refused it returns the
// line of that record: it must not be sent. Else spoiled is 0. State reports
// whether the block that the command ends changes the connection.
func (b *OpenBlock) Take(c *parser.Command, src Source) (spoiled int, state bool) {
	switch alone := len(c.Args) == 1; {
	case c.Op.Class == parser.Exec && b.Open:
		spoiled, state = b.spoiled, b.state
		*b = OpenBlock{}
	case c.Op.Class == parser.Discard && alone:
		*b = OpenBlock{}
	case c.Op.Class == parser.Multi && alone && !b.Open:
		*b = OpenBlock{Open: true, Mark: src.Mark(), Pos: c.Pos}
	case c.Op.Class == parser.State && b.Open:
		b.state = true
	}
	return spoiled, state
}

// Spoil notes that the record on line was refused.
func (b *OpenBlock) Spoil(line int) {
	if b.Open && b.spoiled == 0 {
		b.spoiled = line
	}
}
