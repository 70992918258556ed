package formats

import (
	"strconv"
	"strings"

	"respipe/parser"
)

// expansion is all commands of the record at hand. They are views into the
// record and into the arena, valid until the next one.
type expansion struct {
	args  [][]byte // of all of them
	ends  []int    // of each in args
	ops   []*parser.Op
	taken int    // so many are handed out
	arena []byte // text that is put together
}

// clear begins with a new record.
func (x *expansion) clear() {
	x.args, x.ends, x.ops = x.args[:0], x.ends[:0], x.ops[:0]
	x.arena, x.taken = x.arena[:0], 0
}

// add adds arguments to the command at hand.
func (x *expansion) add(args ...[]byte) { x.args = append(x.args, args...) }

// number returns a number as text.
func (x *expansion) number(n int64) []byte {
	start := len(x.arena)
	x.arena = strconv.AppendInt(x.arena, n, 10)
	return x.since(start)
}

// since returns the arena from start on.
func (x *expansion) since(start int) []byte {
	return x.arena[start:len(x.arena):len(x.arena)]
}

// text returns a template with its values filled in. Missing is -1, or the
// first column without a value.
func (x *expansion) text(t *parser.Template, vals [][]byte) (text []byte, missing int) {
	if i := t.Column(); i >= 0 && vals[i] != nil {
		return vals[i], -1
	}
	start := len(x.arena)
	if x.arena, missing = t.Append(x.arena, vals); missing >= 0 {
		return nil, missing
	}
	return x.since(start), -1
}

// close ends a command.
func (x *expansion) close(op *parser.Op) {
	x.ends = append(x.ends, len(x.args))
	x.ops = append(x.ops, op)
}

// drop forgets the commands of the record at hand.
func (x *expansion) drop() { x.ends, x.taken = x.ends[:0], 0 }

// command returns the i-th command.
func (x *expansion) command(i int) (*parser.Op, [][]byte) {
	start := 0
	if i > 0 {
		start = x.ends[i-1]
	}
	return x.ops[i], x.args[start:x.ends[i]:x.ends[i]]
}

// take hands out the next command; false if there are no more.
func (x *expansion) take(c *parser.Command) bool {
	if x.taken == len(x.ends) {
		return false
	}
	c.Op, c.Args = x.command(x.taken)
	x.taken++
	c.Raw, c.Index, c.Last = nil, x.taken-1, x.taken == len(x.ends)
	return true
}

// fillSpecials fills in what no reader knows of the n-th record.
func (x *expansion) fillSpecials(names []string, rec *parser.Record, n int64) {
	for i, name := range names {
		if !strings.HasPrefix(name, "@") {
			continue
		}
		switch name {
		case "@record":
			rec.Fields[i] = x.number(n)
		case "@line":
			rec.Fields[i] = x.number(int64(rec.Pos.Line))
		case "@file":
			start := len(x.arena)
			x.arena = append(x.arena, rec.Pos.File...)
			rec.Fields[i] = x.since(start)
		case "@raw":
			rec.Fields[i] = rec.Raw
		}
	}
}
