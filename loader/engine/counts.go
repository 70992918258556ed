package engine

import "respipe/loader/batch"

// counts are the figures that decide whether the load goes on.
type counts struct {
	errors int64 // commands refused
	first  batch.Position
	unsent bool // first is that of the first record that was not sent or is unknown
}

// add counts what became of an entry. A load that stops continues at the first
// one that was not sent or is unknown; what was reported before is behind it.
func (n *counts) add(c *Completion, stopping bool) {
	switch {
	case c.Outcome == batch.Refused:
		n.errors++
	case c.Outcome == batch.Acknowledged:
		n.errors += int64(len(c.Errors))
	case stopping:
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
