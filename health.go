package main

import (
	"strings"

	"respipe/loader"
)

// nearlyFull is the share of its memory limit from which on a server is.
const nearlyFull = 0.95

// condition warns of what the server says of itself before a load.
func (c *console) condition(h *loader.Health) {
	if h == nil {
		return
	}
	if h.MaxMemory > 0 && float64(h.UsedMemory) > nearlyFull*float64(h.MaxMemory) {
		c.warn("the server is nearly full: %s of %s are used, and its policy is %s",
			bytesText(float64(h.UsedMemory)), bytesText(float64(h.MaxMemory)), h.Policy)
	}
	if h.SaveFailed {
		c.warn("the server's last background save failed")
	}
	if h.AOFFailed {
		c.warn("the server could not write its append-only file")
	}
}

// mayEvict warns of a server that may evict the position of a load that runs
// exactly once: a run that finds none loads everything again.
func (c *console) mayEvict(h *loader.Health) {
	if c.exactly == "" || h == nil || h.MaxMemory == 0 || !strings.HasPrefix(h.Policy, "allkeys-") {
		return
	}
	c.warn("the server may evict any key, as its policy is %s: if it evicts respipe:%s between two runs, the next run loads everything again; with a volatile policy or noeviction the key stays",
		h.Policy, printable(c.exactly))
}

// meanwhile warns of what the servers did while the load ran.
func (c *console) meanwhile(r *loader.Report) {
	for _, n := range r.Nodes {
		c.changed(n.Server, n.After)
	}
}

// changed warns of what one server did. That keys were evicted is said to the
// quiet, too: what was acknowledged may be gone.
func (c *console) changed(s *loader.Server, after *loader.Health) {
	before := s.Health
	if n := loader.Evicted(before, after); n > 0 {
		c.printf("WARNING: the server %s evicted %d keys while this load ran, and what was loaded may be among them: it may use %s, and its policy is %s\n",
			s.Addr, n, bytesText(float64(after.MaxMemory)), after.Policy)
	}
	if after == nil || before == nil {
		return
	}
	if after.SaveFailed && !before.SaveFailed {
		c.warn("a background save of the server %s failed meanwhile", s.Addr)
	}
	if after.AOFFailed && !before.AOFFailed {
		c.warn("the server %s could not write its append-only file meanwhile", s.Addr)
	}
	if after.Role != before.Role {
		c.warn("the server %s was a %s and is a %s now", s.Addr, before.Role, after.Role)
	}
}
