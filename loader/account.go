package loader

import (
	"bytes"
	"slices"
	"time"

	"respipe/parser"
)

const hopeless = 1000 // such errors in a row

// settle puts a batch whose commands are all settled into the report.
func (r *run) settle(b *Batch) {
	if b.splits != nil {
		r.settlePieces(b)
	}
	counted := int64(len(b.places) - b.owned - b.away)
	for i := range b.failures {
		if f := &b.failures[i]; !f.Warning && b.places[f.I].flags&(own|piece) == 0 {
			counted--
		}
	}
	b.settled = true
	r.rep.Acknowledged += counted
	if b.node != nil {
		b.node.acked.add(b, counted)
		b.node.report.Errors += repliedErrors(b)
	}
	r.rep.Sent += int64(b.due - b.owned - b.away)
	r.rep.Repeated += int64(b.repeats)
	r.tally(b)
	r.backlog.remove(b)
	r.saves.remove(b)
}

// repliedErrors counts the error replies in b.
func repliedErrors(b *Batch) (n int64) {
	for _, f := range b.failures {
		if !f.Ours && !f.Warning {
			n++
		}
	}
	return n
}

// tally counts the failures of b, and shows them to the hook with the batch.
func (r *run) tally(b *Batch) {
	slices.SortStableFunc(b.failures, func(a, b Failure) int { return a.I - b.I })
	for i := range b.failures {
		f := &b.failures[i]
		if f.Warning {
			r.rep.NotRun++
			continue
		}
		if f.Ours {
			r.early--
		}
		r.rep.Errors++
		if p := &b.places[f.I]; p.class != parser.Discard || p.flags&own == 0 {
			r.rep.Refused++
		}
		f.Kind, f.Nth = r.kinds.Count(f.Text, b.Pos(f.I))
	}
	r.countVain(b)
	r.checkErrors()
	if r.cfg.OnSettled == nil {
		return
	}
	began := time.Now()
	if err := r.cfg.OnSettled(b); err != nil && r.stopped == nil {
		r.stopped = err
	}
	r.afterHook(time.Since(began))
}

// countVain stops the load when nothing but errors of one hopeless kind comes.
func (r *run) countVain(b *Batch) {
	next := 0
	for _, f := range b.failures {
		switch {
		case f.Warning:
			continue
		case f.I != next || !isHopeless(f.Text):
			r.inVain = 0
		default:
			r.inVain++
		}
		next = f.I + 1
	}
	if next < len(b.places) {
		r.inVain = 0
	}
	if r.inVain >= hopeless && r.stopped == nil {
		r.stopped = ErrHopeless
	}
}

// isHopeless reports whether an error will be the answer to all that follows.
// OOM and NOPERM will not: a DEL helps, and other keys may be allowed.
func isHopeless(text []byte) bool {
	word, _, _ := bytes.Cut(text, []byte(" "))
	return string(word) == "NOAUTH" || string(word) == "READONLY" || string(word) == "MISCONF"
}

// account completes the report when the connection is closed: it settles what
// can still be settled and says what became of the rest.
func (r *run) account() {
	r.leftovers()
	if r.broken != nil {
		r.rep.Errors++
	}
	r.rep.Kinds = r.kinds.List
}
