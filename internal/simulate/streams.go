package simulate

import (
	"slices"

	"respipe/loader/batch"
	"respipe/loader/engine"
	"respipe/parser"
)

// began notes which transaction a connection is inside of, as the client has
// sent it.
func (s *schedule) began(c *conn, cmds []command) {
	for i := range cmds {
		switch cmds[i].name {
		case "EXEC", "DISCARD":
			c.inside = 0
		case "SELECT": // its number is that of no record
		default:
			if tx := s.transactionOf(cmds[i].record); tx > 0 {
				c.inside = tx
			}
		}
	}
	if c.inside > 0 {
		s.streamed[c.inside] = c
	}
}

// transactionOf returns the transaction that a record belongs to, 0 if it
// belongs to none.
func (s *schedule) transactionOf(record int) int {
	if record < 1 || record > len(s.input.records) {
		return 0
	}
	return s.input.records[record-1].tx
}

// hurt notes an error that has answered a command: of a transaction, or its EXEC.
func (s *schedule) hurt(c *conn, r *reply) {
	if tx := s.transactionOf(r.record); tx > 0 {
		s.harmed[tx] = true
	}
	c.harmed = c.harmed || r.name == "EXEC" || r.name == "SELECT" || !s.shape.cluster
	if r.record < 1 || r.record > len(s.input.records) {
		return
	}
	keyless := true
	for _, arg := range s.input.records[r.record-1].args[1:] {
		if k := keyOf(arg); k >= 0 {
			s.refusing[groupOf(k)], keyless = true, false
		}
	}
	c.harmed = c.harmed || keyless // it is sent again where it was
}

// verifyHarmed checks that a load stops for a transaction that was lost only if
// that was hurt itself: what happens to other connections is none of its
// business.
func (s *schedule) verifyHarmed() {
	if s.engine.Result().Reason != engine.ReasonTransactionLost {
		return
	}
	for tx, c := range s.streamed {
		group := s.groupOfTransaction(tx)
		if (c.harmed || s.waits(tx) || s.harmed[tx] || group == noGroup || s.moved[group] || s.refusing[group]) && s.undone(tx) {
			return
		}
	}
	s.fail("a transaction is lost to which nothing has happened")
}

// waits reports whether the EXEC of a transaction waits for whatever is to be
// resent before it, as session commands are among its own.
func (s *schedule) waits(tx int) bool {
	for i := range s.input.records {
		if rec := &s.input.records[i]; rec.tx == tx && rec.op.Class == parser.State {
			return slices.Contains(s.refusing[:], true)
		}
	}
	return false
}

// undone reports whether a transaction has not run, as far as is known.
func (s *schedule) undone(tx int) bool {
	for i := range s.input.records {
		if s.input.records[i].tx == tx {
			return s.outcomes[i] != batch.Acknowledged
		}
	}
	return false
}

// groupOfTransaction returns the group of the keys of a transaction.
func (s *schedule) groupOfTransaction(tx int) int {
	for i := range s.input.records {
		if rec := &s.input.records[i]; rec.tx == tx && len(rec.keys) > 0 {
			return groupOf(rec.keys[0])
		}
	}
	return noGroup
}
