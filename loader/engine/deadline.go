package engine

// Deadline returns when the next Tick is due; ok is false if nothing waits for
// the time to pass. It is a function of the state alone, to be asked after
// every event: so no timer can be forgotten, and none set twice.
func (e *Engine) Deadline() (t Time, ok bool) {
	switch e.state {
	case Running, Barrier, Finishing:
		t, ok := e.window.deadline(e.pool.firstPatience())
		if held, waits := e.holds.deadline(); waits {
			return earlier(held)(t, ok)
		}
		return t, ok
	case Draining:
		return earlier(e.repair.drained)(e.pool.firstPatience())
	case Connecting:
		return e.repair.until, e.repair.step == pausing
	case Repairing:
		if e.repair.step == pausing {
			return min(e.repair.until, e.repair.giveUp), true
		}
		if e.repair.step == resending {
			return earlier(e.repair.giveUp)(e.pool.firstPatience())
		}
		return e.pool.firstPatience()
	case Stopping:
		return earlier(e.stop.deadline)(e.pool.firstPatience())
	}
	return 0, false
}

// firstPatience returns the time of the connection that must be looked after
// first.
func (p *pool) firstPatience() (first Time, ok bool) {
	for _, c := range p.conns {
		if t, due := c.patience(p.e.cfg.Timeout); due && (!ok || t < first) {
			first, ok = t, true
		}
	}
	return first, ok
}

// earlier returns a function that replaces a time by t if there is none, or t
// is earlier.
func earlier(t Time) func(Time, bool) (Time, bool) {
	return func(other Time, ok bool) (Time, bool) {
		if ok && other < t {
			return other, true
		}
		return t, true
	}
}
