package loader

import (
	"fmt"

	"respipe/loader/batch"
	"respipe/loader/engine"
	"respipe/parser"
)

// transaction takes what became of a transaction.
func (t *tally) transaction(c *engine.Completion) {
	v := t.viewOf(c.Parts...)
	last := c.Parts[len(c.Parts)-1]
	end := last.Batch.Entries[last.Last].Flags
	v.block = v.N(0)
	v.endless = end&batch.Own != 0 && end&batch.Replaced != 0
	e := endedTransaction{t, c, v}
	v.outcomes = e.outcomes()
	e.fail()
	n := v.Len()
	t.before(last.Batch.Number(last.Last)) // records of it that were refused come first
	if v.endless {
		n-- // no command of the input
	}
	for i := range n {
		e.count(i)
	}
	t.tell(v)
	for _, resp := range c.Session {
		t.selected(resp, Ran)
	}
	if v.endless || end&batch.Ends != 0 {
		delete(t.spoiled, v.block)
	}
}

// endedTransaction is a transaction of which is known what became of it.
type endedTransaction struct {
	t *tally
	c *engine.Completion
	v *view
}

// count counts command i. One that did not run, and was not even answered, was
// not sent, as far as the counts go; of one that was refused before anything was
// sent, each command was refused.
func (e *endedTransaction) count(i int) {
	b, at := e.v.at(i)
	outcome, answered := e.v.outcomes[i], at < b.Answered || !b.Sent && len(e.c.Errors) > 0
	if b.Entries[at].Flags&batch.Replaced != 0 {
		e.t.rep.Refused++ // the DISCARD in its place is none of the input
		return
	}
	switch {
	case e.c.Outcome == batch.Refused && !b.Sent && !answered:
		outcome = Failed
	case outcome == NotRun && !answered:
		outcome = NotSent
		e.t.rep.Unanswered++
	case outcome == NotSent && !answered && b.Sent && int64(b.Entries[at].End) <= b.Written:
		e.t.rep.Unanswered++ // it was, but for nothing
	}
	e.t.count(e.v, i, outcome, answered)
}

// outcomes returns what became of each command. Those of one that did not run did
// not run, whatever the server said of each.
func (e *endedTransaction) outcomes() []Outcome {
	whole := outcomeOf(e.c.Outcome)
	discarded := e.v.Class(e.v.Len()-1) == parser.Discard && (len(e.c.Errors) > 0 || e.t.spoiled[e.v.block] > 0)
	if whole == Failed || whole == Ran && discarded {
		whole = NotRun
	}
	outcomes := make([]Outcome, e.v.Len())
	for i := range outcomes {
		outcomes[i] = whole
	}
	return outcomes
}

// fail notes what went wrong.
func (e *endedTransaction) fail() {
	from := 0
	for _, p := range e.c.Parts {
		for _, f := range p.Batch.Failures {
			if f.Entry >= p.First && f.Entry <= p.Last {
				e.failAt(from+f.Entry-p.First, f)
			}
		}
		from += p.Last - p.First + 1
	}
	e.failEnd()
}

// failAt notes an error reply, to command i or among the elements of the reply to
// EXEC.
func (e *endedTransaction) failAt(i int, f batch.Failure) {
	if f.Element >= 0 {
		i = min(1+f.Element, e.v.Len()-1)
	}
	if f.Text == nil || e.v.isEnd(i) || e.c.Outcome == batch.NotSent {
		return
	}
	if e.c.Outcome == batch.Unknown && e.c.Cause == engine.LoadStopped {
		return
	}
	switch {
	case e.c.Outcome == batch.Acknowledged && e.c.MayHaveRun():
		e.v.outcomes[i] = Unknown
	case e.c.Outcome != batch.Unknown:
		e.v.outcomes[i] = Failed
	}
	e.v.failures = append(e.v.failures, Failure{I: i, Text: explained(e.c, f.Text)})
}

// failEnd notes at the EXEC why a transaction did not run, or may have run, where
// no error reply says it.
func (e *endedTransaction) failEnd() {
	end := e.v.Len() - 1
	text, warning := "", false
	switch {
	case e.c.Outcome == batch.NotRun:
		text, warning = "the transaction did not run: a key that it watches was changed", true
	case e.v.endless && e.c.Outcome == batch.Refused:
		text = "MULTI without EXEC: its transaction was discarded at the end of the file"
	case e.c.Outcome == batch.Refused && e.c.Cause == engine.RecordRefused:
		text = notSentFor(e.t.spoiled[e.v.block])
	case e.c.Cause == engine.WatchLost && e.t.watchLine > 0:
		text, e.t.watchLine = notSentFor(e.t.watchLine), 0
	case e.c.Outcome == batch.Refused && len(e.v.failures) == 0:
		text = "the transaction did not run: " + e.t.reason(e.c.Cause)
	case e.c.Outcome == batch.Unknown && e.c.Cause != engine.LoadStopped && len(e.v.failures) == 0:
		text = mayHaveRun
	}
	if text == "" {
		return
	}
	if e.c.Outcome == batch.Refused {
		e.v.outcomes[end] = Failed
	}
	e.v.failures = append(e.v.failures, Failure{I: end, Text: []byte(text), Ours: !warning, Warning: warning})
}

// notSentFor says that a transaction was not executed for a record of it.
func notSentFor(line int) string {
	return fmt.Sprintf("EXEC not sent: line %d of its transaction was refused, so none of it ran", line)
}

// mayHaveRun is said of what was sent, never answered, and left behind by a load
// that went on.
const mayHaveRun = "its connection was lost before the reply: it may have run"
