package loader

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"respipe/parser"
)

// scripted is a node of a cluster in this process whose replies and slot table a
// test makes up. Its log holds the commands that it has executed.
type scripted struct {
	// reply answers what is not part of the handshake: nil closes the connection,
	// an empty reply leaves the command unanswered.
	reply func(n *scripted, args []string) []byte
	slots func() []slotRange

	mu    sync.Mutex
	addr  string
	down  bool // it accepts no connection
	conns []net.Conn
	log   []string
}

// slotRange is an entry of CLUSTER SLOTS.
type slotRange struct {
	first, last int
	owner       string
}

// halves gives the lower half of the slots to one node, the upper to another.
func halves(low, high string) func() []slotRange {
	return func() []slotRange {
		return []slotRange{{0, parser.Slots/2 - 1, low}, {parser.Slots / 2, parser.Slots - 1, high}}
	}
}

// keyIn returns a key of the lower or the upper half of the slots.
func keyIn(low bool) string {
	for n := 0; ; n++ {
		if k := fmt.Sprint("k", n); (parser.Slot([]byte(k)) < parser.Slots/2) == low {
			return k
		}
	}
}

func (n *scripted) execute(args []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, strings.Join(args, " "))
}

func (n *scripted) executed() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.log, ", ")
}

// cut closes the connections of the node; one that is down accepts no others.
func (n *scripted) cut(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}

func (n *scripted) dial(t *testing.T) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return nil, errString("connection refused")
	}
	ours, theirs := tcpPair(t)
	n.conns = append(n.conns, theirs)
	go n.serve(theirs)
	return ours, nil
}

func (n *scripted) serve(c net.Conn) {
	defer c.Close()
	for br := bufio.NewReader(c); ; {
		args, err := readRequest(br)
		if err != nil {
			return
		}
		reply := n.answer(args)
		if reply == nil {
			return
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

func (n *scripted) answer(args []string) []byte {
	switch args[0] {
	case "HELLO":
		return []byte("*8\r\n$6\r\nserver\r\n$5\r\nredis\r\n$4\r\nmode\r\n$7\r\ncluster\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$2\r\nid\r\n:7\r\n")
	case "PING":
		return []byte("+PONG\r\n")
	case "INFO":
		text := "run_id:" + n.addr + "\r\nrole:master\r\nconnected_slaves:1\r\n"
		return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text)
	case "CLUSTER":
		ranges := n.slots()
		b := fmt.Appendf(nil, "*%d\r\n", len(ranges))
		for _, s := range ranges {
			host, port, _ := net.SplitHostPort(s.owner)
			b = fmt.Appendf(b, "*3\r\n:%d\r\n:%d\r\n*2\r\n$%d\r\n%s\r\n:%s\r\n", s.first, s.last, len(host), host, port)
		}
		return b
	case "CLIENT":
		if args[1] == "KILL" {
			return []byte(":0\r\n")
		}
	}
	return n.reply(n, args)
}

// acceptAll answers every command with success, those of transactions too.
func acceptAll(n *scripted, args []string) []byte {
	n.execute(args)
	return []byte("+OK\r\n")
}

// transactions answers MULTI, commands of a transaction with n elements, and
// EXEC.
func transactions(elements int) func(n *scripted, args []string) []byte {
	return func(n *scripted, args []string) []byte {
		n.execute(args)
		switch args[0] {
		case "MULTI":
			return []byte("+OK\r\n")
		case "EXEC":
			return fmt.Appendf(nil, "*%d\r\n%s", elements, strings.Repeat("+OK\r\n", elements))
		}
		return []byte("+QUEUED\r\n")
	}
}

// scriptedCluster returns the configuration of a load into nodes by address; the
// first one that is asked is a:1.
func scriptedCluster(t *testing.T, nodes map[string]*scripted) Config {
	for addr, n := range nodes {
		n.addr = addr
	}
	cfg := config(nil)
	cfg.OnDisconnect, cfg.RetryFor, cfg.Addrs = Resume, 5*time.Second, []string{"a:1"}
	cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		if n := nodes[addr]; n != nil {
			return n.dial(t)
		}
		return nil, errString("no node at " + addr)
	}
	return cfg
}

// runWithin is Run, and fails the test if that panics or has not returned after
// d.
func runWithin(t *testing.T, d time.Duration, ctx context.Context, src Source, cfg Config) (*Report, error) {
	t.Helper()
	type result struct {
		rep      *Report
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() { r.panicked = recover(); done <- r }()
		r.rep, r.err = Run(ctx, src, cfg)
	}()
	select {
	case r := <-done:
		if r.panicked != nil {
			t.Fatalf("panic: %v", r.panicked)
		}
		return r.rep, r.err
	case <-time.After(d):
		t.Fatalf("not back after %v", d)
		return nil, nil
	}
}

// account checks that each record has one outcome.
func account(t *testing.T, rep *Report) {
	t.Helper()
	if sum := rep.Acknowledged + rep.Refused + rep.Unknown + rep.NotSent; sum != rep.Records {
		t.Errorf("%d acknowledged, %d refused, %d unknown, %d not sent of %d records", rep.Acknowledged, rep.Refused, rep.Unknown, rep.NotSent, rep.Records)
	}
}
