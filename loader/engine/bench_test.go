package engine

import (
	"fmt"
	"testing"

	"respipe/loader/cluster"
	"respipe/parser"
)

// deaf is an observer that does nothing.
type deaf struct{}

func (deaf) Acknowledged(Part)          {}
func (deaf) Answered(ConnID, int, Time) {}
func (deaf) Completed(*Completion)      {}

// loaded returns a running engine with so many nodes and commands for it, ready
// made in RESP. Their keys are all of the nodes'.
func loaded(nodes int) (*Engine, []parser.Command) {
	var ops parser.Ops
	cfg := &Config{
		Addresses: []string{"n0:1"}, Cluster: nodes > 1, Connections: 1,
		WindowBytes: 8 << 20, BatchCommands: 4096, BatchBytes: 64 << 10,
		RetryFor: 1, Op: ops.Find, Observer: deaf{},
	}
	e := New(cfg)
	e.Start(0)
	if nodes > 1 {
		var v cluster.View
		for i := range nodes {
			last := parser.Slots*(i+1)/nodes - 1
			v.Ranges = append(v.Ranges, cluster.Range{First: parser.Slots * i / nodes, Last: last, Address: fmt.Sprintf("n%d:1", i)})
		}
		e.Handle(&Event{Kind: Topology, Views: []cluster.View{v}})
	}
	for _, a := range append([]Action(nil), e.Actions()...) {
		if a.Kind == Dial {
			e.Handle(&Event{Kind: Connected, Conn: a.Conn})
		}
	}
	commands := make([]parser.Command, 4096)
	for i := range commands {
		args := [][]byte{[]byte("SET"), fmt.Appendf(nil, "key:%08d", i), []byte("0123456789")}
		commands[i] = parser.Command{
			Pos: parser.Pos{Line: i}, N: int64(i + 1), Last: true,
			Args: args, Raw: parser.AppendCommand(nil, args), Op: ops.Find(args),
		}
	}
	return e, commands
}

// answerAll answers everything that was submitted.
func answerAll(e *Engine, ev *Event) {
	for _, a := range e.Actions() {
		if a.Kind == Submit {
			*ev = Event{Kind: Replies, Conn: a.Conn, Count: a.Batch.Len()}
			e.Handle(ev)
		}
	}
}

// A command on its way: routed, its RESP appended, counted in the window and the
// log, answered and completed.
func BenchmarkCommand(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			e, commands := loaded(nodes)
			var ev Event
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e.Submit(0, &commands[i%len(commands)])
				if i%4096 == 4095 || !e.Accepts() {
					answerAll(e, &ev)
				}
			}
		})
	}
}

// The hot path allocates nothing.
func TestCommandAllocatesNothing(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		e, commands := loaded(nodes)
		var ev Event
		round := func() {
			for i := range commands {
				e.Submit(0, &commands[i])
			}
			e.Handle(&Event{Kind: InputPaused})
			answerAll(e, &ev)
		}
		round()
		if n := testing.AllocsPerRun(20, round); n > 2 {
			t.Errorf("%d nodes: %v allocations for %d commands", nodes, n, len(commands))
		}
	}
}

// A repair of a full window: every entry is gathered, its keys are read, it is
// planned and resent.
func BenchmarkRepair(b *testing.B) {
	e, commands := loaded(1)
	entries := 0
	for b.Loop() {
		b.StopTimer()
		for i := range 100_000 {
			if e.Submit(0, &commands[i%len(commands)]); !e.Accepts() {
				break
			}
		}
		e.log.flush()
		e.Actions()
		c := e.pool.conns[0]
		entries += c.unanswered
		b.StartTimer()
		e.Handle(&Event{Kind: Lost, Conn: c.id, Written: c.submitted})
		e.Handle(&Event{Kind: Connected, Conn: c.id})
		b.StopTimer()
		var ev Event
		answerAll(e, &ev)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(entries), "ns/entry")
}
