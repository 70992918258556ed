package simulate

import (
	"bytes"
	"fmt"

	"respipe/loader/batch"
	"respipe/loader/engine"
)

// keep adds the replies to an event, where they are kept. Each names its
// command; they are not all of one length.
func (s *schedule) keep(ev *engine.Event, replies []reply) {
	if !s.shape.config.KeepReplies {
		return
	}
	for i := range replies {
		r := &replies[i]
		ev.Kept = append(ev.Kept, answerTo(r.name, r.last)...)
		ev.Kept = append(ev.Kept, bytes.Repeat([]byte("."), r.last*7%60)...)
		ev.Ends = append(ev.Ends, len(ev.Kept))
	}
}

// answerTo begins the reply to a command.
func answerTo(name string, record int) string { return fmt.Sprintf("%s %d;", name, record) }

// replied checks that an entry has the reply to its command, if it is one that a
// server has answered.
func (s *schedule) replied(b *batch.Batch, i int, outcome batch.Outcome) {
	if !s.shape.config.KeepReplies || b.Entries[i].Flags&(batch.Own|batch.Replaced) != 0 {
		return
	}
	record := int(b.Position(i).Record)
	cmd := describe(s.input.records[record-1].args)
	got := b.Reply(i)
	switch want := answerTo(cmd.name, cmd.record); {
	case len(got) == 0 && outcome != batch.Acknowledged:
	case !bytes.HasPrefix(got, []byte(want)):
		s.fail("record %d has the reply %q", record, got)
	}
}
