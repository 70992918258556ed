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
