package engine

import "respipe/loader/batch"

// Range is a part of the input that a node has acknowledged commands of.
type Range struct {
	First, Last batch.Position
	Commands    int64
}

// add extends the range by the commands of a batch.
func (r *Range) add(b *batch.Batch) {
	first, last := b.Position(0), b.Position(b.Len()-1)
	if r.Commands == 0 || first.Record < r.First.Record {
		r.First = first
	}
	if r.Commands == 0 || last.Record > r.Last.Record {
		r.Last = last
	}
	r.Commands += int64(b.Len())
}

// note notes what the node has answered: what it might lose, should its process
// not answer any more.
func (n *node) note(b *batch.Batch) {
	n.acknowledged.add(b)
}

// counts are the figures that decide whether the load goes on.
type counts struct {
	errors int64 // commands refused
	first  batch.Position
	unsent bool // first is that of the first record that was not sent or is unknown
}

// add counts what became of an entry.
func (n *counts) add(c *Completion) {
	switch c.Outcome {
	case batch.Refused:
		n.errors++
	case batch.Acknowledged:
		n.errors += int64(len(c.Errors))
	case batch.NotSent, batch.Unknown:
		n.earliest(c.Parts[0].Batch.Position(c.Parts[0].First))
	}
}

// earliest notes a record that a continued load must begin with, if it is
// the earliest.
func (n *counts) earliest(p batch.Position) {
	if !n.unsent || p.Record < n.first.Record {
		n.first, n.unsent = p, true
	}
}
