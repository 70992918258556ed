package simulate

import (
	"respipe/loader/batch"
	"respipe/loader/engine"
)

// verifyWhereItResumes checks that a load that continues does not begin inside
// of a transaction, or behind the WATCH of one.
func (s *schedule) verifyWhereItResumes(result *engine.Result) {
	if result.Reason == engine.ReasonComplete {
		return
	}
	resume := s.read + 1
	if result.Partial {
		resume = int(result.Resume.Record)
	}
	if first := s.openBefore(resume); first > 0 {
		s.fail("the load continues at record %d, inside of the transaction of record %d", resume, first)
	}
	if result.Partial && result.Transaction != s.beginsTransaction(resume) {
		s.fail("a transaction begins at record %d: %v", resume, result.Transaction)
	}
}

// beginsTransaction reports whether a record is a MULTI or a WATCH.
func (s *schedule) beginsTransaction(record int) bool {
	rec := &s.input.records[record-1]
	name := string(rec.args[0])
	return !rec.bad && (name == "MULTI" || name == "WATCH")
}

// unwatches reports whether an UNWATCH stands before the next transaction, at a
// record or behind it.
func (s *schedule) unwatches(record int) bool {
	for i := record - 1; i < len(s.input.records); i++ {
		switch string(s.input.records[i].args[0]) {
		case "UNWATCH":
			return true
		case "MULTI":
			return false
		}
	}
	return false
}

// openBefore returns the record of the MULTI or WATCH that is in effect before
// a record; 0 if there is none. A WATCH that an UNWATCH ends guards nothing.
func (s *schedule) openBefore(record int) (first int) {
	open := false
	for i := range record {
		if i == len(s.input.records) {
			break
		}
		rec := &s.input.records[i]
		if open && rec.file != s.input.records[i-1].file {
			open, first = false, 0
		}
		if i == record-1 {
			if !open && s.unwatches(record) {
				first = 0
			}
			break
		}
		switch name := string(rec.args[0]); {
		case name == "MULTI":
			open = true
			fallthrough
		case name == "WATCH":
			if first == 0 {
				first = i + 1
			}
		case name == "UNWATCH" && !open, (name == "EXEC" || name == "DISCARD") && open:
			open, first = false, 0
		}
	}
	return first
}

// refusals returns how many replies may have refused a record, or what of it
// was sent to several connections.
func (s *schedule) refusals(i int) (n int) {
	refused := func(o batch.Outcome) bool { return o == batch.Refused || o == batch.Unknown }
	if sp := s.splits[i+1]; sp != nil {
		for _, o := range sp.outcomes {
			if refused(o) {
				n++
			}
		}
		return n
	}
	switch {
	case !refused(s.outcomes[i]):
		return 0
	case s.input.records[i].copied():
		return 1 + len(s.made)
	}
	return 1
}
