package loader

import (
	"bytes"
	"cmp"
	"slices"

	"respipe/loader/batch"
	"respipe/loader/engine"
	"respipe/parser"
)

// parted is a command of the input whose keys belong to several nodes, and that
// is sent in parts, one for each slot. It counts as one command, with one reply,
// and is told where its last part is complete.
type parted struct {
	split
	left int
	some [4]bool // outcomes of its parts: see the constants below
	at   *refusedRecord
}

// Outcomes of parts.
const (
	partRan = iota
	partFailed
	partUnknown
	partNotSent
)

// begin notes that a command will be sent in so many parts.
func (t *tally) begin(c *parser.Command, parts int) {
	if t.parted == nil {
		t.parted = map[batch.Number]*parted{}
	}
	x := &parted{left: parts, at: &refusedRecord{
		pos: c.Pos, n: c.N, index: c.Index, last: c.Last, file: c.File, db: t.db, class: c.Op.Class,
	}}
	x.adds = true
	if t.cfg.KeepSource {
		x.at.text = bytes.Clone(c.Src)
	}
	t.parted[batch.NumberOf(c.N, c.Index)] = x
	t.rep.Split++
}

// part takes what became of a part of a command.
func (t *tally) part(c *engine.Completion) {
	v := t.viewOf(c.Parts...)
	b, i := v.at(0)
	n := b.Number(i)
	x := t.parted[n]
	x.left--
	x.takeReply(b.Reply(i))
	switch c.Outcome {
	case batch.Acknowledged:
		x.some[partRan] = true
	case batch.Refused:
		x.some[partFailed] = true
	case batch.Unknown:
		x.some[partUnknown] = true
	default:
		x.some[partNotSent] = true
	}
	if c.Outcome == batch.Refused || c.Outcome == batch.Unknown && len(c.Errors) > 0 {
		x.faults = append(x.faults, string(explained(c, t.errorText(c))))
		x.nodes = append(x.nodes, tellerOf(c))
	}
	if x.left == 0 {
		delete(t.parted, n)
		t.before(n)
		t.completeParts(x, v)
	}
}

// tellerOf returns the address of the node whose error a completion has.
func tellerOf(c *engine.Completion) string {
	if n := len(c.Errors); n > 0 {
		return c.Errors[n-1].Node
	}
	return ""
}

// completeParts tells what became of a command whose parts are all complete. One
// of which a part has run, or may have, and another not, is unknown.
func (t *tally) completeParts(x *parted, v *view) {
	v.parted, v.reply = x.at, x.reply
	outcome := Ran
	switch {
	case x.some == [4]bool{partNotSent: true}:
		outcome = NotSent
	case x.some[partUnknown] || x.some[partNotSent]:
		outcome = Unknown
	case x.some[partFailed]:
		outcome = Failed
	}
	v.outcomes = []Outcome{outcome}
	t.count(v, 0, outcome, outcome == Ran || outcome == Failed)
	if len(x.faults) > 0 {
		v.failures = []Failure{{Text: []byte(x.text())}}
	}
	t.tell(v)
}

// leaveParts tells the commands of which parts were not even taken when the load
// ended.
func (t *tally) leaveParts() {
	var left []*parted
	for _, x := range t.parted {
		left = append(left, x)
	}
	clear(t.parted)
	slices.SortFunc(left, func(a, b *parted) int { return cmp.Compare(a.at.number(), b.at.number()) })
	for _, x := range left {
		x.some[partNotSent] = true
		b := &batch.Batch{}
		b.Add(batch.Position{File: x.at.file, Line: x.at.pos.Line, Offset: x.at.pos.Offset, Record: x.at.n}, x.at.index, 0)
		t.completeParts(x, t.viewOf(engine.Part{Batch: b}))
	}
}
