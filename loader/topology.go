package loader

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"respipe/parser"
)

// topology says which master of a cluster has which slots.
type topology struct {
	from    string               // address of the node that has told
	masters []string             // addresses, in the order of their slots
	owner   [parser.Slots]uint16 // index in masters, plus one; 0 for nobody
}

// master returns the address of the master that has a slot; "" if none has.
func (t *topology) master(slot int) string {
	if i := t.owner[slot]; i > 0 {
		return t.masters[i-1]
	}
	return ""
}

// has reports whether a node is a master with slots.
func (t *topology) has(addr string) bool {
	for _, master := range t.masters {
		if master == addr {
			return true
		}
	}
	return false
}

// readTopology asks a node of a cluster, on a connection of its own. The error
// is a *ConnectError, or the cause of the context.
func (r *run) readTopology(addr string) (*topology, error) {
	g, err := connect(r.ctx, r.cfg, addr)
	if err != nil {
		return nil, err
	}
	defer g.nc.Close()
	v, err := g.askWithin(r.ctx, "CLUSTER", "SLOTS")
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return nil, &ConnectError{Err: fmt.Errorf("%s does not tell the slots of its cluster: %w", addr, err), Temporary: true}
	}
	t := &topology{from: addr}
	for _, s := range v.Elems { // first slot, last slot, master, replicas: each host, port, ...
		if len(s.Elems) < 3 || len(s.Elems[2].Elems) < 2 {
			continue
		}
		master := s.Elems[2].Elems
		host, port := string(master[0].Text), string(master[1].Text)
		t.give(number(string(s.Elems[0].Text)), number(string(s.Elems[1].Text)), announced(net.JoinHostPort(host, port), addr))
	}
	if len(t.masters) == 0 {
		return nil, &ConnectError{Err: fmt.Errorf("the cluster of %s has no slots yet", addr), Temporary: true}
	}
	return t, nil
}

// give notes that a master has the slots from first to last.
func (t *topology) give(first, last int64, master string) {
	at := 0
	for at < len(t.masters) && t.masters[at] != master {
		at++
	}
	if at == len(t.masters) {
		t.masters = append(t.masters, master)
	}
	for slot := max(first, 0); slot <= min(last, parser.Slots-1); slot++ {
		t.owner[slot] = uint16(at + 1)
	}
}

// announced completes an address that a node has told: without a host it is
// that of the node itself. An IPv6 address may stand without brackets, as Redis
// writes it in MOVED and ASK: the port is what follows the last colon.
func announced(addr, teller string) string {
	at := strings.LastIndexByte(addr, ':')
	if at < 0 {
		return addr
	}
	host, port := strings.TrimSuffix(strings.TrimPrefix(addr[:at], "["), "]"), addr[at+1:]
	if host == "" || host == "?" {
		var err error
		if host, _, err = net.SplitHostPort(teller); err != nil {
			return addr
		}
	}
	return net.JoinHostPort(host, port)
}

// redirect is what MOVED or ASK says.
type redirect struct {
	ask  bool
	slot int
	addr string // may lack the host
}

// parseRedirect reads an error reply; of others than MOVED and ASK, false.
func parseRedirect(text []byte) (d redirect, ok bool) {
	words := strings.Fields(string(text))
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return d, false
	}
	slot, err := strconv.Atoi(words[1])
	if err != nil || slot < 0 || slot >= parser.Slots {
		return d, false
	}
	return redirect{words[0] == "ASK", slot, words[2]}, true
}
