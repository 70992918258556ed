package engine

// silence is how long a connection has owed a reply.
type silence struct {
	since  Time // of the last reply, or of the command sent when none was owed
	probed bool // a probe has not been answered
	busy   bool // the server answered the probe
}

// begin begins a new silence.
func (s *silence) begin(now Time) { *s = silence{since: now} }

// busyFactor is how many times the timeout a server gets that answers a probe.
const busyFactor = 10

// patience returns when something must be done about the silence of a
// connection; ok is false if there is no such time.
func (c *connection) patience(timeout Time) (t Time, ok bool) {
	if timeout <= 0 || c.phase != ready || c.unanswered == 0 || c.silence.probed {
		return 0, false
	}
	if c.silence.busy {
		timeout *= busyFactor
	}
	return c.silence.since + timeout, true
}

// listen probes the servers whose connections have been silent for the
// timeout, and gives those up that are silent although they were busy for ten
// times as long.
func (p *pool) listen() {
	for _, c := range p.conns {
		t, ok := c.patience(p.e.cfg.Timeout)
		switch {
		case !ok || t > p.e.now:
		case c.silence.busy:
			p.abandon(c, Silent)
		default:
			c.silence.probed = true
			p.e.act(Action{Kind: Probe, Conn: c.id, Address: c.node.address})
		}
	}
}

// abandon closes a connection and takes it for lost.
func (p *pool) abandon(c *connection, why Loss) {
	p.e.act(Action{Kind: Close, Conn: c.id, Loss: why})
	p.e.lose(c, c.submitted)
}

// abandonSilent takes every connection for lost that owes a reply.
func (p *pool) abandonSilent() {
	for _, c := range p.conns {
		if c.unanswered > 0 {
			p.abandon(c, Silent)
		}
	}
}
