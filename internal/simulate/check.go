package simulate

import (
	"fmt"
	"slices"
	"time"

	"respipe/loader/batch"
	"respipe/loader/engine"
	"respipe/parser"
)

// fail notes the first thing that does not hold.
func (s *schedule) fail(format string, args ...any) {
	if s.err == "" {
		s.err = fmt.Sprintf("at %v, %v: ", s.now, s.engine.State()) + fmt.Sprintf(format, args...)
		s.trace("FAILED %s", s.err)
	}
}

// retried checks that a record is not retried for longer than it may: in a held
// slot first, and then in a repair; a connection may fall silent meanwhile, and
// a transaction wait for its EXEC.
func (s *schedule) retried(record int) {
	silence := 11 * s.shape.config.Timeout
	if silence == 0 {
		silence = 3000 * ms
	}
	since := s.refusedAt[record]
	if since > 0 && s.transactionOf(record) > 0 {
		since = max(since, s.sourceWaits)
	}
	if since > 0 && s.splits[record] == nil && s.now-since > 2*s.longestRepair()+silence {
		s.fail("record %d is retried for %v", record, s.now-since)
	}
}

// givenUp checks that nothing is given up before its time.
func (s *schedule) givenUp(c *engine.Completion) {
	if c.Cause == engine.RetriesEnded && s.engine.State() == engine.Repairing && s.now-s.left < s.shape.config.RetryFor {
		s.fail("a retry is given up after %v", s.now-s.left)
	}
	if p := c.Parts[0]; c.Outcome == batch.Refused && (c.Cause == engine.NoCause || c.Cause == engine.LoadStopped) && p.First == p.Last && len(c.Errors) > 0 {
		if r := (reply{err: string(c.Errors[0].Text)}); r.retryable() {
			s.fail("%s is not retried", r.err)
		}
	}
}

// applied is told of each execution of a record on a key, before it.
func (s *schedule) applied(c *conn, record, k int) {
	if s.tracing {
		s.trace("  server %d applies %d to %s", c.server.index, record, names[k])
	}
	s.touch(record)
	s.touchPart(record, k)
	rec := &s.input.records[record-1]
	if record > s.read {
		s.fail("record %d was executed unread", record)
	}
	for _, sv := range s.servers {
		if sv != c.server && sv.kinds[k] != missing && sv.master {
			s.fail("record %d is executed at server %d, and server %d has key %s", record, c.server.index, sv.index, names[k])
		}
	}
	s.session(c, record)
	for wide := range s.wides {
		if wide > record && s.shape.config.OnDisconnect != engine.Resend {
			s.disorder("record %d is executed behind the barrier of %d", record, wide)
		}
	}
	if rec.class != counts || s.shape.config.OnDisconnect == engine.Resend {
		return
	}
	for _, other := range s.history[k] {
		if other == record {
			s.fail("record %d was executed twice on key %s", record, names[k])
		}
		if other > record {
			s.disorder("record %d must not be executed twice, and runs behind %d on key %s", record, other, names[k])
		}
	}
}

// wide is told of a record that may touch any key. Where there are several
// connections it is a barrier: nothing behind it runs before it.
func (s *schedule) wide(record int) {
	if !s.shape.several() {
		return
	}
	for i := record; i < len(s.executed); i++ {
		if s.executed[i] > 0 {
			s.disorder("record %d, a barrier, is executed behind %d", record, i+1)
		}
	}
	s.wides[record] = true
}

// source is told of each key that a record reads to derive another from it.
func (s *schedule) source(record, k int) {
	if s.shape.config.OnDisconnect == engine.Resend {
		return
	}
	for _, other := range s.history[k] {
		if other > record {
			s.disorder("record %d derives from key %s behind record %d", record, names[k], other)
		}
	}
}

// failedAgain is told of an execution that found another type. If it is not the
// first one of the record, it counts for the order. That the record was
// acknowledged before must not be forgotten if a later one has changed the type.
func (s *schedule) failedAgain(sv *server, record, k int) {
	if s.executed[record-1] == 0 {
		return
	}
	if h := s.history[k]; len(h) > 0 && h[len(h)-1] > record && s.shown[record] {
		s.overtaken[record] = true
	}
	sv.apply(record, k, sv.kinds[k])
}

// guarded is told of each transaction that runs, and the keys that are watched
// then: those of its own WATCH, and no others.
func (s *schedule) guarded(queue []command, watched []watchedKey) {
	for len(queue) > 0 && queue[0].name == "SELECT" { // it does not say of which record it is
		queue = queue[1:]
	}
	if len(queue) == 0 {
		return
	}
	var want, got int
	for i := queue[0].record - 1; i >= 0; i-- { // in front of the MULTI
		name := string(s.input.records[i].args[0])
		if name == "WATCH" {
			want = i + 1
		}
		if name == "WATCH" || name == "UNWATCH" || name == "EXEC" || name == "DISCARD" {
			break
		}
	}
	for _, k := range watched {
		got = k.record
	}
	if want != got {
		s.fail("the transaction of record %d runs under the WATCH of %d, not of %d", queue[0].record, got, want)
	}
}

// touch counts an execution of a record.
func (s *schedule) touch(record int) { s.executed[record-1]++ }

// watch checks what must hold at any time.
func (s *schedule) watch() {
	state := s.engine.State()
	if n := s.engine.Repairs(); n != s.repairs {
		s.left, s.repairs = s.now, n // one has ended, and another thing was wrong at once
	}
	switch {
	case state == engine.Running || state == engine.Finishing || state == engine.Barrier || s.done:
		s.left, s.stopped = s.now, 0
	case state == engine.Stopping:
		if s.stopped == 0 {
			s.stopped = s.now
		}
		if s.now-s.stopped > s.shape.config.StopFor+10*ms {
			s.fail("stopping takes longer than its deadline")
		}
	case s.now-s.left > s.longestRepair():
		s.fail("a repair takes longer than its deadline")
	}
	if limit := 2*s.shape.config.WindowBytes + s.extraBytes(); s.engine.Bytes() > limit {
		s.fail("%d bytes are in the window, not %d", s.engine.Bytes(), limit)
	}
	if s.engine.Bytes() < 0 {
		s.fail("%d bytes are in the window", s.engine.Bytes())
	}
}

// longestRepair is how long a load may be away from running.
func (s *schedule) longestRepair() time.Duration {
	c := &s.shape.config
	return c.RetryFor + 2*c.DrainFor + 200*ms
}

// extraBytes is what may be held beside the window: the largest entry and the
// entries of the longest transaction, three times over.
func (s *schedule) extraBytes() int {
	entry := 80
	if s.shape.config.KeepReplies {
		entry += 600
	}
	return 3 * 30 * entry
}

// verify checks what must hold at the end.
func (s *schedule) verify() {
	s.leaveParts()
	for k := range s.history {
		s.verifyOrder(k, s.history[k])
	}
	s.verifySure()
	s.verifyHarmed()
	stopped := s.engine.Result().Reason != engine.ReasonComplete
	for i := range s.input.records {
		s.verifyRecord(i, stopped)
	}
	s.verifyTransactions()
	s.verifyLost()
	s.verifyResume(stopped)
	if !stopped && s.read < len(s.input.records) {
		s.fail("the load is complete after %d of %d records", s.read, len(s.input.records))
	}
	if !s.engine.Empty() {
		s.fail("the engine is not empty")
	}
	if s.engine.Bytes() != 0 {
		s.fail("%d bytes are left in the window", s.engine.Bytes())
	}
	if s.engine.Repairs() > int64(s.causes) {
		s.fail("%d repairs, but %d causes", s.engine.Repairs(), s.causes)
	}
}

// verifyResume checks that a load that continues finds everything that is left.
func (s *schedule) verifyResume(stopped bool) {
	result := s.engine.Result()
	if !stopped && result.Partial {
		s.fail("the load is complete, and partial from record %d on", result.Resume.Record)
	}
	s.verifyWhereItResumes(&result)
	refused := 0
	for i := range s.read {
		before := !result.Partial || int64(i+1) < result.Resume.Record
		if o := s.outcomes[i]; before && !s.early[i+1] && (o == batch.NotSent || o == batch.Unknown) {
			s.fail("record %d is %v, and the load continues behind it", i+1, o)
		}
		if !before {
			refused += s.refusals(i)
		}
	}
	if result.Reason == engine.ReasonRejecting && refused < s.shape.config.PersistentErrors {
		s.fail("the load continues behind the row of errors that has stopped it: at %d", result.Resume.Record)
	}
}

// verifyOrder checks that the last executions on a key are in the order of the
// input.
func (s *schedule) verifyOrder(k int, history []int) {
	last := 0
	for i, record := range history {
		if slices.Contains(history[i+1:], record) || s.outcomeOn(record, k) != batch.Acknowledged || s.lost[record] != nil {
			continue
		}
		if record < last {
			s.disorder("order on key %s: %d behind %d in %v", names[k], record, last, history)
		}
		last = record
	}
}

// verifyRecord checks one record.
func (s *schedule) verifyRecord(i int, stopped bool) {
	outcome, executed := s.outcomes[i], s.executed[i]
	none := s.input.records[i].class == nothing
	switch {
	case i >= s.read:
		if outcome != batch.Pending {
			s.fail("record %d was never read and is %v", i+1, outcome)
		}
		return
	case outcome == batch.Pending:
		s.fail("record %d has no outcome", i+1)
	case outcome == batch.NotSent && !stopped:
		s.fail("record %d is not sent by a load that went on", i+1)
	case s.overtaken[i+1] && !stopped && !s.unfenced && s.causeless[i+1] && outcome != batch.Acknowledged:
		s.fail("record %d was acknowledged before a later one changed the type of its key, and is %v", i+1, outcome)
	case s.splits[i+1] != nil:
		s.verifyParts(i + 1)
	case none:
	case outcome == batch.Unknown && !s.sent[i+1] && !s.cutOff:
		s.fail("record %d was never sent in full and is unknown", i+1)
	case outcome == batch.Acknowledged && executed == 0 && !s.discarded(i):
		s.fail("record %d is acknowledged and was not executed", i+1)
	case outcome == batch.Refused && s.input.records[i].broadcast():
	case outcome != batch.Acknowledged && outcome != batch.Unknown && executed > 0:
		s.fail("record %d is %v and was executed", i+1, outcome)
	}
	s.figures.Outcomes[outcome]++
	s.verifySession(i)
}

// broadcast reports whether a record goes to every master: it is refused if one
// of them refuses it.
func (rec *record) broadcast() bool {
	return string(rec.args[0]) == "SCRIPT" || string(rec.args[0]) == "FUNCTION"
}

// copied reports whether a record goes to several connections.
func (rec *record) copied() bool {
	return rec.broadcast() || rec.op.Class == parser.State
}

// verifySession checks what every master or connection must have got.
func (s *schedule) verifySession(i int) {
	if s.outcomes[i] != batch.Acknowledged || s.discarded(i) {
		return
	}
	rec := &s.input.records[i]
	switch string(rec.args[0]) {
	case "SCRIPT", "FUNCTION":
		for group, owner := range s.owners {
			if !s.moved[group] && !s.servers[owner].scripts[i+1] {
				s.fail("record %d is acknowledged and is not at server %d", i+1, owner)
			}
		}
	case "CLIENT":
		for j := i + 1; j < len(s.named) && string(s.input.records[j].args[0]) != "CLIENT"; j++ {
			if s.executed[j] > 0 && s.named[j] != i+1 && s.named[j] != 0 {
				s.fail("record %d is executed under the name of %d, not of %d", j+1, s.named[j], i+1)
			}
		}
	}
}

// discarded reports whether a record stands in a transaction that ends with
// DISCARD.
func (s *schedule) discarded(i int) bool {
	tx := s.input.records[i].tx
	for ; tx > 0 && i < len(s.input.records) && s.input.records[i].tx == tx; i++ {
		if string(s.input.records[i].args[0]) == "DISCARD" {
			return true
		}
	}
	return false
}

// verifyTransactions checks that each transaction has run as a whole or not at
// all. A command that failed in EXEC counts as run.
func (s *schedule) verifyTransactions() {
	recs := s.input.records
	for i := 0; i < s.read; {
		end := i + 1
		for tx := recs[i].tx; tx > 0 && end < s.read && recs[end].tx == tx; end++ {
		}
		s.verifyWhole(i, end)
		i = end
	}
}

// verifyWhole checks the records from first on, before end.
func (s *schedule) verifyWhole(first, end int) {
	ran, not := 0, 0
	for i := first; i < end; i++ {
		if s.input.records[i].class == nothing {
			continue
		}
		if s.executed[i] > 0 {
			ran = i + 1
		} else if o := s.outcomes[i]; o != batch.Refused && o != batch.Unknown || s.outcomes[end-1] != batch.Acknowledged {
			not = i + 1
		}
	}
	if ran > 0 && not > 0 && s.outcomes[end-1] != batch.Unknown {
		s.fail("transaction at %d: record %d was executed, record %d was not", first+1, ran, not)
	}
}
