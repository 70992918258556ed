package loader

import (
	"errors"
	"slices"

	"respipe/parser"
)

// settle puts a batch whose commands are all settled into the report.
func (r *run) settle(b *Batch) {
	counted := int64(len(b.places) - b.owned)
	for i := range b.failures {
		if f := &b.failures[i]; !f.Warning && b.places[f.I].flags&own == 0 {
			counted--
		}
	}
	r.rep.Acknowledged += counted
	r.rep.Sent += int64(b.due - b.owned)
	r.tally(b)
}

// tally counts the failures of b, and shows them to the hook with the batch.
func (r *run) tally(b *Batch) {
	slices.SortStableFunc(b.failures, func(a, b Failure) int { return a.I - b.I })
	for i := range b.failures {
		f := &b.failures[i]
		if f.Warning {
			continue
		}
		if f.Ours {
			r.early--
		}
		r.rep.Errors++
		if p := &b.places[f.I]; p.class != parser.Discard || p.flags&own == 0 {
			r.rep.Refused++
		}
		f.Kind, f.Nth = r.kinds.count(f.Text, b.Pos(f.I))
	}
	r.checkErrors()
	if r.cfg.OnSettled == nil {
		return
	}
	if err := r.cfg.OnSettled(b); err != nil && r.stopped == nil {
		r.stopped = err
	}
}

// account completes the report when the connection is closed: it settles what
// can still be settled and says what became of the rest.
func (r *run) account() {
	for more := true; more; {
		select {
		case e := <-r.conn.events:
			if e.kind != lost || errors.Is(e.err, errUnasked) {
				r.handle(e)
			}
		default:
			more = false
		}
	}
	r.rep.Bytes = r.conn.written
	r.leftovers()
	if r.broken != nil {
		r.rep.Errors++
	}
	r.rep.Kinds = r.kinds.list
}
