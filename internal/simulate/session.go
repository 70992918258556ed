package simulate

import (
	"strconv"

	"respipe/loader/batch"
)

// session checks the session state of a connection that executes a record.
func (s *schedule) session(c *conn, record int) {
	if db := s.database(record); c.db != db {
		s.fail("record %d is executed in database %d, not %d", record, c.db, db)
	}
	s.named[record-1] = c.name
}

// database returns the database that the input says of a record: that of the
// last SELECT before it. One in another transaction counts only if that ran;
// behind a plain one that was refused nothing may be executed at all.
func (s *schedule) database(record int) int {
	tx := s.input.records[record-1].tx
	for i := record - 1; i >= 0; i-- {
		rec := &s.input.records[i]
		o := s.outcomes[i]
		ran := rec.tx == 0 || rec.tx == tx || o == batch.Acknowledged && !s.discarded(i)
		if string(rec.args[0]) == "SELECT" && !rec.bad && ran {
			db, _ := strconv.Atoi(string(rec.args[1]))
			return db
		}
	}
	return 0
}
