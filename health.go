package main

import "respipe/loader"

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

// meanwhile warns of what the server did while the load ran. That keys were
// evicted is said to the quiet, too: what was acknowledged may be gone.
func (c *console) meanwhile(r *loader.Report) {
	if n := loader.Evicted(r.Before, r.After); n > 0 {
		limit := bytesText(float64(r.After.MaxMemory))
		c.printf("WARNING: the server evicted %d keys while this load ran, and what was loaded may be among them: it may use %s, and its policy is %s\n",
			n, limit, r.After.Policy)
	}
	if r.After == nil || r.Before == nil {
		return
	}
	if r.After.SaveFailed && !r.Before.SaveFailed {
		c.warn("a background save of the server failed meanwhile")
	}
	if r.After.AOFFailed && !r.Before.AOFFailed {
		c.warn("the server could not write its append-only file meanwhile")
	}
	if r.After.Role != r.Before.Role {
		c.warn("the server was a %s and is a %s now", r.Before.Role, r.After.Role)
	}
}
