package simulate

import (
	"respipe/loader/batch"
	"respipe/parser"
)

// split is what became of a record that was sent in parts, by the groups of
// their keys.
type split struct {
	parts    int
	last     int // the group of the last part
	outcomes [groups]batch.Outcome
	executed [groups]int
}

// severity orders outcomes: that of a record is the worst of its parts.
var severity = [...]int{batch.Acknowledged: 1, batch.NotRun: 2, batch.Refused: 3, batch.NotSent: 4, batch.Unknown: 5}

// splitUp makes the parts of a command that the engine has not taken: one for
// each slot, in the order of their first keys.
func (s *schedule) splitUp(c *parser.Command) {
	step := 1
	if c.Op.Name == "MSET" {
		step = 2
	}
	sp := &split{}
	var order []int
	args := map[int][][]byte{}
	for i := 1; i < len(c.Args); i += step {
		group := int(c.Args[i][1] - 'a')
		if args[group] == nil {
			order = append(order, group)
			args[group] = [][]byte{c.Args[0]}
		}
		args[group] = append(args[group], c.Args[i:i+step]...)
	}
	for i, group := range order {
		part := *c
		part.Args, part.Last = args[group], i == len(order)-1
		s.parts = append(s.parts, &part)
	}
	sp.parts, sp.last = len(order), order[len(order)-1]
	s.splits[int(c.N)] = sp
}

// touchPart counts an execution of a part.
func (s *schedule) touchPart(record, k int) {
	if sp := s.splits[record]; sp != nil {
		sp.executed[groupOf(k)]++
	}
}

// outcomeOn returns what became of a record on a key.
func (s *schedule) outcomeOn(record, k int) batch.Outcome {
	if sp := s.splits[record]; sp != nil {
		return sp.outcomes[groupOf(k)]
	}
	return s.outcomes[record-1]
}

// resolvePart notes the outcome of a part. It returns that of the record as far
// as it is known.
func (s *schedule) resolvePart(sp *split, record int, b *batch.Batch, i int, outcome batch.Outcome) batch.Outcome {
	args, _ := parseOne(b.Command(i))
	group := int(args[1][1] - 'a')
	flags := b.Entries[i].Flags
	if flags&batch.Part == 0 || (flags&batch.Last != 0) != (group == sp.last) {
		s.fail("the part of record %d in group %d has the flags %b", record, group, flags)
	}
	if o := sp.outcomes[group]; o != batch.Pending {
		s.fail("the part of record %d in group %d is %v, and %v before", record, group, outcome, o)
	}
	sp.outcomes[group] = outcome
	if before := s.outcomes[record-1]; severity[before] > severity[outcome] {
		return before
	}
	return outcome
}

// leaveParts notes the record whose parts were not all taken before the load
// ended: the source still has it.
func (s *schedule) leaveParts() {
	for _, part := range s.parts {
		record := int(part.N)
		s.splits[record].outcomes[int(part.Args[1][1]-'a')] = batch.NotSent
		if s.outcomes[record-1] != batch.Unknown {
			s.outcomes[record-1] = batch.NotSent
		}
		s.early[record] = true
	}
}

// verifyParts checks each part of a record.
func (s *schedule) verifyParts(record int) {
	sp := s.splits[record]
	n := 0
	for group, outcome := range sp.outcomes {
		executed := sp.executed[group]
		switch {
		case outcome == batch.Pending:
			continue
		case outcome == batch.Acknowledged && executed == 0:
			s.fail("the part of record %d in group %d is acknowledged and was not executed", record, group)
		case outcome != batch.Acknowledged && outcome != batch.Unknown && executed > 0:
			s.fail("the part of record %d in group %d is %v and was executed", record, group, outcome)
		}
		n++
	}
	if n != sp.parts {
		s.fail("record %d has %d parts, not %d", record, n, sp.parts)
	}
}
