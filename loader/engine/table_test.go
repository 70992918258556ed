package engine

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"respipe/loader/batch"
	"respipe/loader/cluster"
	"respipe/parser"
)

const ms = time.Millisecond

// told is an observer that counts outcomes.
type told struct{ outcomes map[batch.Outcome]int }

func (o *told) Acknowledged(p Part)        { o.outcomes[batch.Acknowledged] += p.Last - p.First + 1 }
func (o *told) Answered(ConnID, int, Time) {}
func (o *told) Completed(c *Completion) {
	for _, p := range c.Parts {
		o.outcomes[c.Outcome] += p.Last - p.First + 1
	}
}

// rig is an engine under a test's hand.
type rig struct {
	*Engine
	told
	ops parser.Ops
	n   int64
}

// newRig returns the engine of a load into one server, connecting.
func newRig(change func(*Config)) *rig {
	r := &rig{told: told{map[batch.Outcome]int{}}}
	cfg := &Config{
		Addresses: []string{"a:1"}, Connections: 1, Window: 100, WindowBytes: 1 << 20,
		BatchCommands: 25, BatchBytes: 1 << 16, Timeout: 100 * ms, DrainFor: 200 * ms,
		ReadyFor: time.Second, RetryFor: time.Second, StopFor: 200 * ms, Backoff: 10 * ms,
		Op: r.ops.Find, Observer: &r.told,
	}
	if change != nil {
		change(cfg)
	}
	r.Engine = New(cfg)
	r.Start(0)
	return r
}

// conn is the connection of a rig, in its present generation.
func (r *rig) conn() ConnID { return r.pool.conns[0].id }

// event passes an event to the engine at its time.
func (r *rig) event(ev Event) {
	ev.At = r.now
	if ev.Conn == (ConnID{}) && len(r.pool.conns) > 0 {
		ev.Conn = r.conn()
	}
	r.Handle(&ev)
}

// command submits a command.
func (r *rig) command(line string) {
	r.n++
	args := bytes.Fields([]byte(line))
	r.Submit(r.now, &parser.Command{N: r.n, Last: true, Args: args, Op: r.ops.Find(args)})
}

// refuse answers the next command with an error.
func (r *rig) refuse(text string) {
	r.event(Event{Kind: Replies, Count: 1, Errors: []ErrorReply{{Element: -1, Text: []byte(text)}}})
}

// ways leads a new engine into each state.
var ways = map[State]func() *rig{
	Connecting: func() *rig { return newRig(nil) },
	Running:    running,
	Barrier: func() *rig {
		r := running()
		r.command("SELECT 1")
		return r
	},
	Draining: func() *rig {
		r := running()
		r.command("SET a 1")
		r.command("SET b 2")
		r.event(Event{Kind: InputPaused})
		r.refuse("BUSY")
		return r
	},
	Repairing: func() *rig {
		r := running()
		r.command("SET a 1")
		r.event(Event{Kind: InputPaused})
		r.refuse("BUSY")
		return r
	},
	Finishing: func() *rig {
		r := running()
		r.command("SET a 1")
		r.event(Event{Kind: InputEnded})
		return r
	},
	Stopping: func() *rig {
		r := running()
		r.command("SET a 1")
		r.event(Event{Kind: InputPaused})
		r.event(Event{Kind: StopAsked})
		return r
	},
	Done: func() *rig {
		r := running()
		r.event(Event{Kind: InputEnded})
		return r
	},
}

func running() *rig {
	r := newRig(nil)
	r.event(Event{Kind: Connected, Process: "p"})
	return r
}

// after says which state each event leads to from each state. A state that is
// not named stays.
var after = map[State]map[EventKind]State{
	Connecting: {Connected: Running, StopAsked: Done},
	Running:    {Lost: Repairing, InputEnded: Done, StopAsked: Done},
	Barrier:    {Replies: Running, Lost: Repairing, StopAsked: Stopping},
	Draining:   {Replies: Repairing, Lost: Repairing, StopAsked: Stopping},
	Repairing:  {StopAsked: Done},
	Finishing:  {Replies: Done, Lost: Repairing, StopAsked: Stopping},
	Stopping:   {Replies: Done, Lost: Done, StopAsked: Done},
	Done:       {},
}

// Every cell of the table is walked: it has a handler, and the event leads where
// after says. What is ignored changes nothing and asks for nothing.
func TestEveryCell(t *testing.T) {
	for state := range stateCount {
		for kind := range eventCount {
			t.Run(fmt.Sprint(state, "/", kind), func(t *testing.T) {
				r := ways[state]()
				r.Actions()
				if r.State() != state {
					t.Fatalf("the engine is %v", r.State())
				}
				cell := table[state][kind]
				if cell.handle == nil {
					t.Fatal("no handler")
				}
				want, ok := after[state][kind]
				if !ok {
					want = state
				}
				r.event(Event{Kind: kind, Count: 1, Written: 1 << 20, Alive: true})
				if r.State() != want {
					t.Errorf("%s: the engine is %v, not %v", cell.name, r.State(), want)
				}
				if cell.name == "ignored" && len(r.Actions()) > 0 {
					t.Error("actions follow an event that is ignored")
				}
				if r.State() == Done && r.Bytes() != 0 {
					t.Errorf("%d bytes are left in the window", r.Bytes())
				}
			})
		}
	}
}

// Whatever waits for time to pass has a deadline in every state but those in
// which nothing can be waited for. An attempt to connect is answered in bounded
// time.
func TestDeadlines(t *testing.T) {
	for state := range stateCount {
		r := ways[state]()
		_, ok := r.Deadline()
		if want := state != Running && state != Done && state != Connecting; ok != want {
			t.Errorf("%v: deadline %v", state, ok)
		}
	}
	for _, state := range []State{Draining, Repairing, Stopping} {
		r := ways[state]()
		r.cfg.Timeout = 0
		if _, ok := r.Deadline(); !ok {
			t.Errorf("%v without a timeout: no deadline", state)
		}
	}
}

// Ticks at each deadline end every state that no server answers.
func TestTicksEndEverything(t *testing.T) {
	for state := range stateCount {
		r := ways[state]()
		for range 300 {
			r.Actions()
			t, ok := r.Deadline()
			if !ok { // what waits for no time waits for a dial
				r.event(Event{Kind: DialFailed})
				continue
			}
			r.now = max(r.now, t)
			r.event(Event{Kind: Tick})
			if r.pool.conns[0].silence.probed {
				r.event(Event{Kind: Probed})
			}
		}
		if state != Running && r.State() != Done {
			t.Errorf("%v ends as %v", state, r.State())
		}
	}
}

// A MOVED is followed to the node that all nodes agree on, and what was sent
// to the old one and has not run goes there in the order of the input.
func TestMoved(t *testing.T) {
	r := newRig(func(c *Config) { c.Cluster = true })
	view := func(owner string) []cluster.View {
		return []cluster.View{{Ranges: []cluster.Range{{First: 0, Last: parser.Slots - 1, Address: owner}}}}
	}
	r.event(Event{Kind: Topology, Views: view("a:1")})
	r.event(Event{Kind: Connected})
	r.command("APPEND k 1")
	r.command("APPEND k 2")
	r.event(Event{Kind: InputPaused})
	r.Actions()
	slot := parser.Slot([]byte("k"))
	text := []byte(fmt.Sprintf("MOVED %d b:1", slot))
	r.event(Event{Kind: Replies, Count: 2, Errors: []ErrorReply{{0, -1, text}, {1, -1, text}}})
	r.event(Event{Kind: Topology, Views: view("b:1")})
	var dialled []Action
	for _, a := range r.Actions() {
		if a.Kind == Dial {
			dialled = append(dialled, a)
		}
	}
	if len(dialled) != 1 || dialled[0].Address != "b:1" {
		t.Fatalf("dialled: %+v", dialled)
	}
	r.event(Event{Kind: Connected, Conn: dialled[0].Conn})
	i := slices.IndexFunc(r.Actions(), func(a Action) bool { return a.Kind == Submit && a.Conn == dialled[0].Conn })
	if i < 0 || r.State() != Repairing {
		t.Fatalf("nothing is resent, the engine is %v", r.State())
	}
	r.event(Event{Kind: Replies, Conn: dialled[0].Conn, Count: 2})
	if r.State() != Running || r.outcomes[batch.Acknowledged] != 2 {
		t.Errorf("%v, %v", r.State(), r.outcomes)
	}
}

// A command that was acknowledged and runs again behind a retried one may find
// the type that a later command has left, which runs again next. That is no
// error, not in a transaction either.
func TestWrongTypeOfSecondRun(t *testing.T) {
	const wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
	for _, row := range []struct {
		lines           []string
		replies, failed int // of the second run: the reply with the error, and its element
	}{
		{[]string{"GET k", "SADD k 1", "SET k x"}, 1, -1},
		{[]string{"GET k", "MULTI", "GET k", "SADD k 1", "EXEC", "SET k x"}, 4, 1},
	} {
		r := running()
		for _, line := range row.lines {
			r.command(line)
		}
		n := len(row.lines)
		r.event(Event{Kind: InputPaused})
		r.event(Event{Kind: Replies, Count: n, Errors: []ErrorReply{{0, -1, []byte("BUSY")}}})
		r.now += 20 * ms
		r.event(Event{Kind: Tick})
		r.event(Event{Kind: Replies, Count: n, Errors: []ErrorReply{{row.replies, row.failed, []byte(wrong)}}})
		if r.State() != Running || r.outcomes[batch.Acknowledged] != n || r.counts.errors != 0 {
			t.Errorf("%v: %v, %v, %d errors", row.lines, r.State(), r.outcomes, r.counts.errors)
		}
	}
}
