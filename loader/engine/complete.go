package engine

import (
	"slices"

	"respipe/loader/batch"
)

// complete reports what became of the entries of a batch and takes it back.
// All of them are final.
func (l *log) complete(c *connection, b *batch.Batch) {
	if !b.Mixed {
		l.e.cfg.Observer.Acknowledged(Part{b, 0, b.Len() - 1})
		l.put(b)
		return
	}
	for i := 0; i < b.Len(); {
		if n := plainAt(b, i); n > 0 {
			l.e.cfg.Observer.Acknowledged(Part{b, i, i + n - 1})
			i += n
			continue
		}
		last := lastOf(b, i)
		switch flags := b.Entries[i].Flags; {
		case flags&batch.Copied != 0:
			l.e.barrier.answered(c, b, i)
		case flags&batch.Watches != 0:
			l.e.router.guard.set(c, b.Entries[i].Status == batch.Clean)
			fallthrough
		default:
			l.completeEntry(b, i, last)
		}
		i = last + 1
	}
	l.put(b)
}

// plainAt returns how many plain commands stand at i that were acknowledged in
// their first attempt.
func plainAt(b *batch.Batch, i int) (n int) {
	for i+n < b.Len() && b.Entries[i+n].Flags&^batch.Last == 0 && b.Entries[i+n].Status == batch.Clean {
		n++
	}
	return n
}

// lastOf returns the index of the last command of the entry that begins at i,
// as far as the batch holds it.
func lastOf(b *batch.Batch, i int) int {
	if b.Entries[i].Flags&batch.InTx == 0 {
		return i
	}
	for i < b.Len()-1 && b.Entries[i].Flags&batch.Ends == 0 {
		i++
	}
	return i
}

// completeEntry reports a command, or a transaction that lies in one batch, by
// what was answered.
func (l *log) completeEntry(b *batch.Batch, first, last int) {
	if b.Entries[first].Status == batch.Removed || b.Entries[first].Flags&batch.Own != 0 {
		return
	}
	c := Completion{Parts: []Part{{b, first, last}}, Outcome: batch.Acknowledged}
	switch answeredState(b, first, last) {
	case failed, retry:
		c.Outcome = batch.Refused
	case notRun:
		c.Outcome = batch.NotRun
	}
	c.Errors = failuresOf(b, first, last)
	replaced(&c)
	l.e.report(&c)
}

// replaced makes a transaction refused whose EXEC a DISCARD has replaced,
// whatever the DISCARD was answered: it cannot have run. One that a load leaves
// behind that stops is read again.
func replaced(c *Completion) {
	p := &c.Parts[len(c.Parts)-1]
	if c.Outcome != batch.NotSent && p.Batch.Entries[p.Last].Flags&batch.Replaced != 0 {
		c.Outcome, c.Cause = batch.Refused, RecordRefused
	}
}

// failuresOf returns the failures of the entries first to last.
func failuresOf(b *batch.Batch, first, last int) []batch.Failure {
	from, _ := slices.BinarySearchFunc(b.Failures, first, func(f batch.Failure, entry int) int { return f.Entry - entry })
	to := from
	for to < len(b.Failures) && b.Failures[to].Entry <= last {
		to++
	}
	return b.Failures[from:to:to]
}

// report tells the observer what became of an entry and counts it.
func (e *Engine) report(c *Completion) {
	if c.MayHaveRun() && (c.Outcome == batch.Refused || c.Outcome == batch.NotSent || c.Outcome == batch.NotRun) {
		c.Outcome = batch.Unknown
	}
	e.counts.add(c, e.router.guard.beginning(c.Parts[0].Batch, c.Parts[0].First), e.state == Stopping)
	e.session.completed(c)
	e.cfg.Observer.Completed(c)
}

// MayHaveRun reports whether an earlier attempt of the entry ran or may have
// run. The errors of commands in a transaction are those of the last attempt:
// what they say of an earlier one is not known.
func (c *Completion) MayHaveRun() bool {
	p := &c.Parts[0]
	return p.Batch.Entries[p.First].Flags&batch.MayHaveRun != 0
}
