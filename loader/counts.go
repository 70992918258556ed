package loader

import (
	"respipe/loader/batch"
	"respipe/parser"
)

// counts counts commands and errors for the report.
type counts struct {
	rep   *Report
	kinds Kinds
	op    func(args [][]byte) *parser.Op
	args  [][]byte

	unsafe    int64 // unknown commands that must not run twice
	unsafeAt  parser.Pos
	lostFirst int64 // records of Report.FirstLost and LastLost
	lostLast  int64
}

// count counts one command.
func (c *counts) count(v *view, i int, outcome Outcome, answered bool) {
	if answered {
		c.rep.Replies++
	}
	if outcome != NotSent && (answered || outcome == Unknown) {
		c.rep.Sent++
	}
	switch outcome {
	case Ran, NotRun:
		c.rep.Acknowledged++
		c.countTwice(v, i)
	case Failed:
		c.rep.Refused++
	case Unknown:
		c.countUnknown(v, i, answered)
	case NotSent:
		c.rep.NotSent++
	}
}

// countTwice counts a command that may have run before.
func (c *counts) countTwice(v *view, i int) {
	if b, at := v.at(i); b.Entries[at].Flags&batch.MayHaveRun != 0 && !c.idempotent(v.Command(i)) {
		c.rep.Twice++
	}
}

// countUnknown counts a command of which it is not known whether it has run.
func (c *counts) countUnknown(v *view, i int, answered bool) {
	n, pos := v.N(i), v.Pos(i)
	if c.rep.Unknown == 0 || n < c.lostFirst {
		c.lostFirst, c.rep.FirstLost = n, pos
	}
	if c.rep.Unknown == 0 || n >= c.lostLast {
		c.lostLast, c.rep.LastLost = n, pos
	}
	c.rep.Unknown++
	if !answered {
		c.rep.Unanswered++
	}
	if !c.idempotent(v.Command(i)) {
		if c.unsafe == 0 || n < c.lostFirst {
			c.unsafeAt = pos
		}
		c.unsafe++
	}
}

// idempotent reports whether a command may run twice without harm.
func (c *counts) idempotent(resp []byte) bool {
	if c.args = parser.ParseRequest(resp, c.args[:0]); len(c.args) == 0 {
		return false
	}
	return c.op(c.args).Repeatable(c.args)
}

// countFailures counts what went wrong.
func (c *counts) countFailures(of Completed, failures []Failure) {
	for i := range failures {
		f := &failures[i]
		if f.Warning {
			c.rep.NotRun++
			continue
		}
		c.rep.Errors++
		f.Kind, f.Nth = c.kinds.Count(f.Text, of.Pos(f.I))
	}
}
