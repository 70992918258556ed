package loader

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"respipe/parser"
)

// fakeNodes are nodes of a cluster by address, each with the slots that it says
// the others have: all of them one's.
func fakeNodes(t *testing.T, names map[string]string, took map[string]*atomic.Int32) Config {
	dials := map[string]func(context.Context) (net.Conn, error){}
	for addr, owner := range names {
		host, port, _ := net.SplitHostPort(owner)
		slots := fmt.Sprintf("*1\r\n*3\r\n:0\r\n:%d\r\n*2\r\n$%d\r\n%s\r\n:%s\r\n", parser.Slots-1, len(host), host, port)
		dials[addr] = serve(t, func(args []string) []byte {
			switch {
			case args[0] == "CLUSTER":
				return []byte(slots)
			case owner != addr:
				return fmt.Appendf(nil, "-MOVED %d %s\r\n", parser.Slot([]byte(args[1])), owner)
			}
			took[addr].Add(1)
			return []byte("+OK\r\n")
		})
	}
	cfg := config(nil)
	cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return dials[addr](ctx) }
	cfg.Addrs = []string{"a:1"}
	cfg.RetryFor = 300 * time.Millisecond
	return cfg
}

// A slot that has moved on meanwhile is followed from node to node; nodes that
// name each other are tried for RetryFor and no longer.
func TestMovedIsFollowed(t *testing.T) {
	for _, row := range []struct {
		names string // node=owner
		errs  int64
	}{
		{"a:1=b:1 b:1=b:1", 0},
		{"a:1=b:1 b:1=c:1 c:1=c:1", 0},
		{"a:1=b:1 b:1=c:1 c:1=d:1 d:1=d:1", 0},
		{"a:1=b:1 b:1=a:1", 3},
	} {
		names, took := map[string]string{}, map[string]*atomic.Int32{}
		last := ""
		for _, pair := range strings.Fields(row.names) {
			node, owner, _ := strings.Cut(pair, "=")
			names[node], took[node], last = owner, new(atomic.Int32), node
		}
		began := time.Now()
		rep, err := Run(t.Context(), script("SET x 1\nSET y 1\nSET x 2"), fakeNodes(t, names, took))
		if err != nil || rep.Errors != row.errs || rep.Acknowledged != 3-row.errs || took[last].Load() != int32(3-row.errs) {
			t.Errorf("%s: %v, %d errors, %d acknowledged, %v", row.names, err, rep.Errors, rep.Acknowledged, kindTexts(rep))
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v", row.names, took)
		}
	}
}

// A server that does not tell where the keys of a command stand is not waited
// for without an end.
func TestAskedInVain(t *testing.T) {
	cfg := config(serve(t, func(args []string) []byte {
		if args[0] == "COMMAND" {
			return []byte{}
		}
		return []byte("+OK\r\n")
	}))
	cfg.Connections, cfg.ConnectTimeout = 2, 200*time.Millisecond
	rep, err := Run(t.Context(), script("MOD.SET a 1\nMOD.SET b 1"), cfg)
	if err != nil || rep.Acknowledged != 2 {
		t.Errorf("%v, %+v", err, rep)
	}
}

// A file of nonsense is asked for a hundred times, on one connection; a server
// that hangs up is asked on others.
func TestManyUnknownCommands(t *testing.T) {
	for _, reply := range []string{"*1\r\n*-1\r\n", "-NOPERM no\r\n", ""} {
		var dials, asked atomic.Int32
		cfg := config(nil)
		cfg.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
			dials.Add(1)
			return serve(t, func(args []string) []byte {
				if args[0] != "COMMAND" {
					return []byte("-ERR unknown command\r\n")
				}
				if asked.Add(1); reply == "" {
					return nil
				}
				return []byte(reply)
			})(ctx)
		}
		cfg.Connections = 2
		var text strings.Builder
		for i := range 300 {
			fmt.Fprintf(&text, "garbage%d a b\n", i%200)
		}
		rep, err := Run(t.Context(), script(text.String()), cfg)
		want := int32(2 + 1 + 1) // for the load, for these questions, and for INFO at the end
		if reply == "" {
			want = 2 + mostUnknown + 1
		}
		if err != nil || rep.Errors != 300 || asked.Load() != mostUnknown || dials.Load() != want {
			t.Errorf("%q: %v, %d errors, asked %d times on %d connections", reply, err, rep.Errors, asked.Load(), dials.Load())
		}
	}
}

// TestImporter: a line has the connection of a unit, what became of it as in
// flightOf with "a" for an answer ASK to node b, and its commands; behind the bar
// stands where it is sent, with "?" behind it if it asks. Node a has all slots.
func TestImporter(t *testing.T) {
	for _, test := range []struct{ name, units string }{
		{"one command", "a aAPPEND k 1|b?"},
		{"commands on one key", "a aAPPEND k 1|b?\na aAPPEND k 2|b?\na .APPEND k 3|b?"},
		{"another key of the slot", "a aAPPEND {k}1 1|b?\na .APPEND {k}2 1|a"},
		{"another slot", "a aAPPEND k 1|b?\na .APPEND j 1|a"},
		{"a transaction waits", "a +MULTI;~APPEND k 1;-EXEC|a"},
		{"behind a transaction", "a +MULTI;~APPEND k 1;-EXEC|a\na aAPPEND k 2|a\na aAPPEND {k}2 2|a"},
		{"a transaction in between", "a aAPPEND k 1|b?\na +MULTI;~APPEND k 1;-EXEC|a\na aAPPEND k 2|a\na .APPEND k 3|a"},
		{"one that was not sent in between", "a aAPPEND k 1|b?\na .MULTI;.APPEND k 1;.EXEC|a\na .APPEND k 2|a"},
		{"several keys in between", "a aAPPEND {k}1 1|b?\na .MSET {k}1 2 {k}2 2|a\na .APPEND {k}2 3|a\na .APPEND {k}1 3|a"},
		{"several keys, none of them with the owner", "a aMSET {k}1 2 {k}2 2|b?\na .APPEND {k}2 3|b?"},
		{"behind TRYAGAIN", "a ~MSET {k}1 1 {k}2 1|a\na aAPPEND {k}1 2|a"},
		{"of a node that has the slot no more", "c aAPPEND k 1|a\nc ~APPEND k 2|a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &run{}
			pipes := map[string]*pipeline{}
			for _, name := range []string{"a", "b", "c"} {
				n := &node{addr: name + ":1"}
				n.pipes = []*pipeline{{node: n, conn: &conn{}}}
				pipes[name] = n.pipes[0]
				r.nodes, r.pipes = append(r.nodes, n), append(r.pipes, n.pipes[0])
			}
			r.router.owners = new(slotMap)
			for slot := range parser.Slots {
				r.router.owners.set(slot, r.nodes[0])
			}
			known := newRedirects()
			for _, line := range strings.Split(test.units, "\n") {
				line, want, _ := strings.Cut(line, "|")
				asked := line[2] == 'a'
				commands := strings.ReplaceAll(line[2:], ";", "\n")
				if asked {
					commands = "~" + line[3:]
				}
				all, written := flightOf(commands)
				if asked {
					key := strings.Fields(line)[2]
					all[0].failures[0].Text = fmt.Appendf(nil, "ASK %d b:1", parser.Slot([]byte(key)))
				}
				plan := newPlan(&salvage{p: pipes[line[:1]], all: all, written: written})
				if len(plan.units) != 1 {
					t.Fatalf("%q: %d units", line, len(plan.units))
				}
				to, asks := r.importer(plan.units[0], known)
				got := strings.TrimSuffix(to.node.addr, ":1")
				if asks {
					got += "?"
				}
				if got != want {
					t.Errorf("%q goes to %s, want %s", line, got, want)
				}
			}
		})
	}
}
