package engine

import "respipe/loader/batch"

// place is where a run that continues may begin.
type place struct {
	batch.Position
	transaction bool // one begins there, or its WATCH
}

// counts are the figures that decide whether the load goes on.
type counts struct {
	cfg     *Config
	errors  int64 // commands refused
	tooMany bool  // Config.TooMany has said so
	first   place // if unsent: of the first record that was not sent or is unknown
	unsent  bool
}

// refuse counts an error.
func (n *counts) refuse() { n.fail(1) }

// fail counts errors.
func (n *counts) fail(errors int) {
	for range errors {
		n.errors++
		n.exceeded()
	}
}

// exceeded reports whether there are too many errors. They may become too many
// without another one: a share of the records is one of more records soon.
func (n *counts) exceeded() bool {
	n.tooMany = n.tooMany || n.errors > 0 && n.cfg.TooMany != nil && n.cfg.TooMany(n.errors)
	return n.tooMany
}

// add counts what became of an entry that begins at a place. A load that stops
// continues at the first one that was not sent or is unknown; what was reported
// before is behind it.
func (n *counts) add(c *Completion, at place, stopping bool) {
	switch {
	case c.Outcome == batch.Refused:
		n.refuse()
	case c.Outcome == batch.Acknowledged:
		n.fail(len(c.Errors))
	case stopping:
		n.earliest(at)
	}
}

// earliest notes a place that a continued load must begin at, if it is the
// earliest.
func (n *counts) earliest(p place) {
	if !n.unsent || p.Record < n.first.Record {
		n.first, n.unsent = p, true
	}
}
