package loader

import (
	"bytes"
	"fmt"

	"respipe/loader/batch"
	"respipe/loader/engine"
	"respipe/parser"
)

// mostRefusals bounds the refused records that wait for their turn, in bytes.
const mostRefusals = 64 << 10

// refusals are records that respipe has refused, and that are told when all
// that was sent before is complete: so errors come in the order of the input, on
// one connection. There are never many: when nothing is in flight, or when they
// take too much memory, they are told at once.
type refusals struct {
	waiting []*refusedRecord
	bytes   int
	spoiled map[int64]int // line of the first refused record of a transaction that is not complete, by record of its MULTI
}

// add takes a refusedRecord that is told when its turn comes.
func (r *refusals) add(x *refusedRecord) {
	r.waiting = append(r.waiting, x)
	r.bytes += x.size()
	if x.block == 0 {
		return
	}
	if r.spoiled == nil {
		r.spoiled = map[int64]int{}
	}
	if r.spoiled[x.block] == 0 {
		r.spoiled[x.block] = x.pos.Line
	}
}

// next returns the refusedRecord that has waited longest.
func (r *refusals) next() *refusedRecord {
	x := r.waiting[0]
	r.waiting = r.waiting[1:]
	r.bytes -= x.size()
	return x
}

// before tells the refusals that come before a command.
func (t *tally) before(n batch.Number) {
	for len(t.waiting) > 0 && t.waiting[0].number() < n {
		t.tellRefusal(t.next())
	}
}

// tellRefusals tells those that need not wait any longer.
func (t *tally) tellRefusals(idle bool) {
	for len(t.waiting) > 0 && (idle || t.bytes > mostRefusals) {
		t.tellRefusal(t.next())
	}
}

// tellRefusal counts a refused record and shows it.
func (t *tally) tellRefusal(x *refusedRecord) {
	t.rep.Refused++
	t.countFailures(x, x.failures[:])
	t.show(x)
}

// refuseRecord takes a record that the source has refused.
func (t *tally) refuseRecord(mark parser.Mark, bad *parser.Error, block int64) {
	t.add(&refusedRecord{
		pos: bad.Pos, n: mark.N, last: true, file: mark.File, block: block, db: t.db,
		text: bytes.Clone(bad.Src), failures: ours(bad.Err.Error()), class: parser.Refused,
	})
}

// refuseCommand takes a command that the engine refuses.
func (t *tally) refuseCommand(c *engine.Completion) {
	v := t.viewOf(c.Parts...)
	index, last := v.Index(0)
	text := v.Src(0)
	if text == nil && t.cfg.KeepSource {
		text = v.Command(0)
	}
	if v.Class(0) == parser.Watch {
		t.watchLine = v.Pos(0).Line
	}
	why := t.reason(c.Cause)
	if c.Cause == engine.SlotsDiffer {
		why = t.slotsDiffer(v.Command(0))
	}
	t.add(&refusedRecord{
		pos: v.Pos(0), n: v.N(0), index: index, last: last, file: v.File(), block: t.open, db: t.db,
		text: bytes.Clone(text), failures: ours(why), class: parser.Refused,
	})
}

// reason says why the engine refuses a command.
func (t *tally) reason(cause engine.Cause) string {
	if cause == engine.DatabaseUnset {
		return fmt.Sprintf(reasons[cause], t.unset)
	}
	return reasons[cause]
}

func ours(why string) [1]Failure { return [1]Failure{{Text: []byte(why), Ours: true}} }

// slotsDiffer says why a command cannot be sent to a cluster.
func (t *tally) slotsDiffer(resp []byte) string {
	t.args = parser.ParseRequest(resp, t.args[:0])
	keys := t.op(t.args).AppendKeys(nil, t.args)
	first := t.openKey
	if len(first) == 0 {
		first = keys[0]
	}
	for _, key := range keys {
		if parser.Slot(key) == parser.Slot(first) {
			continue
		}
		switch {
		case len(t.openKey) == 0:
		case t.open > 0:
			return otherSlot("its transaction", key, parser.Slot(first))
		default:
			return otherSlot("what is watched", key, parser.Slot(first))
		}
		return differentSlots(first, key)
	}
	return reasons[engine.SlotsDiffer]
}

// refusedRecord is the Completed of one record, or one command of it, that was not
// sent. Its bytes are its own.
type refusedRecord struct {
	pos      parser.Pos
	n        int64
	index    int
	last     bool
	file     int
	block    int64
	db       int
	text     []byte
	class    parser.Class
	failures [1]Failure
}

func (x *refusedRecord) size() int            { return len(x.text) + len(x.failures[0].Text) + 256 }
func (x *refusedRecord) number() batch.Number { return batch.NumberOf(x.n, x.index) }

func (x *refusedRecord) Len() int               { return 1 }
func (x *refusedRecord) Pos(int) parser.Pos     { return x.pos }
func (x *refusedRecord) N(int) int64            { return x.n }
func (x *refusedRecord) Index(int) (int, bool)  { return x.index, x.last }
func (x *refusedRecord) Block(int) int64        { return x.block }
func (x *refusedRecord) Class(int) parser.Class { return x.class }
func (x *refusedRecord) DB() int                { return x.db }
func (x *refusedRecord) File() int              { return x.file }
func (x *refusedRecord) Outcome(int) Outcome    { return Failed }
func (x *refusedRecord) Acknowledged(int) bool  { return false }
func (x *refusedRecord) Failures() []Failure    { return x.failures[:] }
func (x *refusedRecord) Command(int) []byte     { return nil }
func (x *refusedRecord) Src(int) []byte         { return x.text }
func (x *refusedRecord) Reply(int) []byte       { return nil }
