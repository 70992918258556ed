// Package cluster knows which node of a Redis Cluster has which hash slot, and
// what redirects say. It does no I/O: the views of the nodes are handed to it.
package cluster

import (
	"slices"
	"strings"

	"respipe/parser"
)

// Range is a run of slots that one master has, as CLUSTER SLOTS tells.
type Range struct {
	First, Last int
	Address     string
}

// View is what one node says of the cluster.
type View struct {
	Teller string // address of the node that says it
	Ranges []Range
}

// Normal returns the ranges by slot, neighbours with one master joined, empty
// ones left out. A slot named twice has the master that is named last.
func (v View) Normal() []Range {
	ranges := slices.Clone(v.Ranges)
	slices.SortStableFunc(ranges, func(a, b Range) int { return a.First - b.First })
	out := ranges[:0]
	for _, r := range ranges {
		if r.First > r.Last || r.First < 0 || r.Last >= parser.Slots {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Address == r.Address && out[n-1].Last+1 == r.First {
			out[n-1].Last = r.Last
			continue
		}
		out = append(out, r)
	}
	return out
}

// Agree returns the ranges that all views have in common; ok is false if they
// differ, if there is no range, or if a slot has two masters. One that has none
// is in no range.
func Agree(views []View) (ranges []Range, ok bool) {
	for i, v := range views {
		normal := v.Normal()
		if i > 0 && !slices.Equal(normal, ranges) {
			return nil, false
		}
		ranges = normal
	}
	next := 0
	for _, r := range ranges {
		if r.First < next {
			return nil, false
		}
		next = r.Last + 1
	}
	return ranges, next > 0
}

// Redirect is what MOVED or ASK says.
type Redirect struct {
	Ask     bool
	Slot    int
	Address string // host:port; the host may be empty: that of the node that answered
}

// ParseRedirect reads an error reply; ok is false for others than MOVED and
// ASK.
func ParseRedirect(text []byte) (r Redirect, ok bool) {
	words := strings.Fields(string(text))
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return r, false
	}
	slot, ok := parseSlot(words[1])
	if !ok {
		return r, false
	}
	return Redirect{words[0] == "ASK", slot, words[2]}, true
}

// parseSlot reads the number of a hash slot.
func parseSlot(s string) (slot int, ok bool) {
	if s == "" || len(s) > 5 {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		slot = slot*10 + int(c-'0')
	}
	return slot, slot < parser.Slots
}

// Resolve completes an address that a node has announced, without the brackets
// of an IPv6 host: an empty host, or the "?" of a node that does not know its
// own, is that of the node itself. Servers write IPv6 hosts without brackets,
// so the port is what stands behind the last colon. An address without a port
// is returned as it is.
func Resolve(address, teller string) string {
	host, port, ok := cut(address)
	if !ok {
		return address
	}
	if host == "" || host == "?" {
		if host, _, ok = cut(teller); !ok {
			return address
		}
	}
	return Join(host, port)
}

// cut splits host:port at the last colon and takes the brackets off the host.
func cut(address string) (host, port string, ok bool) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return "", "", false
	}
	host = address[:i]
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	return host, address[i+1:], true
}

// Join puts host and port together, a host with colons in brackets.
func Join(host, port string) string {
	if strings.IndexByte(host, ':') >= 0 {
		return "[" + host + "]:" + port
	}
	return host + ":" + port
}
