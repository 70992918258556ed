package engine

import (
	"bytes"
	"testing"

	"respipe/loader/batch"
	"respipe/parser"
)

// part submits command i of the present record, its last one if last.
func (r *rig) part(line string, i int, last bool) {
	if i == 0 {
		r.n++
	}
	args := bytes.Fields([]byte(line))
	r.Submit(r.now, &parser.Command{N: r.n, Index: i, Last: last, Args: args, Op: r.ops.Find(args)})
}

// sent returns how many commands were sent on the connection.
func (r *rig) sent() int {
	c := r.pool.conns[0]
	return int(c.answered) + c.unanswered
}

// A stop comes between two records: of one that was taken in part the rest is
// taken and sent before.
func TestStopsBetweenRecords(t *testing.T) {
	asked := func(r *rig) { r.event(Event{Kind: StopAsked}) }
	fails := func(r *rig) {
		r.event(Event{Kind: InputPaused})
		r.refuse("ERR no")
	}
	lost := func(r *rig) { r.event(Event{Kind: Lost, Written: 1 << 20}) }
	last := func(r *rig) { r.part("INCR b", 1, true) }
	for _, row := range []struct {
		name  string
		steps []func(*rig)
		sent  int
		ends  bool
	}{
		{"asked inside, and nothing more", []func(*rig){asked}, 0, false},
		{"asked inside", []func(*rig){asked, last}, 2, true},
		{"asked inside, a record is refused", []func(*rig){asked, func(r *rig) { r.Refuse(r.now) }}, 1, true},
		{"asked inside, the last one is a barrier", []func(*rig){asked, func(r *rig) { r.part("SELECT 1", 1, true) }}, 1, false},
		{"asked inside, its barrier is answered", []func(*rig){asked,
			func(r *rig) { r.part("SELECT 1", 1, true) },
			func(r *rig) { r.event(Event{Kind: Replies, Count: 1}) },
			func(r *rig) { r.event(Event{Kind: Replies, Count: 1}) }}, 2, true},
		{"asked inside, twice", []func(*rig){asked, asked}, 0, true},
		{"asked inside, a connection is lost", []func(*rig){asked, lost}, 0, true},
		{"asked inside, the input ends", []func(*rig){asked, func(r *rig) { r.event(Event{Kind: InputEnded}) }}, 1, true},
		{"too many errors inside", []func(*rig){fails}, 1, false},
		{"too many errors inside, then the last one", []func(*rig){fails, last}, 2, true},
		{"too many errors inside, and asked", []func(*rig){fails, asked}, 1, false},
		{"asked between", []func(*rig){last, asked}, 2, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(func(c *Config) { c.TooMany = func(int64) bool { return true } })
			r.event(Event{Kind: Connected, Process: "p"})
			r.part("INCR a", 0, false)
			for _, step := range row.steps {
				step(r)
			}
			sent, ends := r.sent(), r.State() == Stopping || r.State() == Done
			if sent != row.sent || ends != row.ends {
				t.Errorf("%d commands are sent, %v; want %d, %v", sent, r.State(), row.sent, row.ends)
			}
			if r.State() == Running && !r.Accepts() {
				t.Error("the rest of the record is not taken")
			}
		})
	}
}

// A stop that waits for a record has the reason that it was begun for, and does
// not wait for what the window has parked behind another record.
func TestStopWaitsForParked(t *testing.T) {
	r := newRig(func(c *Config) { c.Window = 1 })
	r.event(Event{Kind: Connected, Process: "p"})
	r.part("INCR a", 0, false)
	r.event(Event{Kind: StopAsked})
	r.part("INCR b", 1, true) // the window is full
	if r.State() != Running || r.Accepts() {
		t.Fatalf("%v, further commands are taken: %v", r.State(), r.Accepts())
	}
	for range 2 {
		r.event(Event{Kind: Replies, Count: 1})
	}
	if r.State() != Done || r.outcomes[batch.Acknowledged] != 2 || r.Result().Reason != ReasonAsked || r.Result().Partial {
		t.Errorf("%v, %v, %+v", r.State(), r.outcomes, r.Result())
	}
}

// A command that is sent in parts is stopped behind the last part.
func TestStopsBehindParts(t *testing.T) {
	r := running()
	line := [][]byte{[]byte("DEL"), []byte("a")}
	c := &parser.Command{N: 1, Args: line, Op: r.ops.Find(line)}
	r.SubmitPart(r.now, c)
	r.event(Event{Kind: StopAsked})
	if !r.Accepts() {
		t.Fatal("the last part is not taken")
	}
	c.Last = true
	if r.SubmitPart(r.now, c); r.State() != Stopping {
		t.Errorf("%v behind the last part", r.State())
	}
}
