package engine

// onAttach takes a connection that was made.
func onAttach(e *Engine, ev *Event) {
	c := e.pool.find(ev.Conn)
	if c == nil || c.phase != dialing {
		return
	}
	e.risk.unsure = e.risk.unsure || len(c.unfenced) > 0 && !ev.Fenced
	c.phase, c.unfenced = ready, c.unfenced[:0]
	if e.risk.restarted(c.node, ev.Process) {
		e.stop.begin(ReasonRestarted)
		return
	}
	e.advance()
}

// onRedial takes a dial that has failed: the nodes may have changed.
func onRedial(e *Engine, ev *Event) {
	c := e.pool.find(ev.Conn)
	if c == nil || c.phase != dialing {
		return
	}
	c.phase = down
	switch {
	case e.state != Connecting && e.state != Repairing || e.repair.step != redialing:
	case ev.Permanent:
		e.stop.begin(ReasonUnreachable)
	default:
		e.repair.pause()
	}
}

// onCloseLate closes a connection that nobody waits for any more.
func onCloseLate(e *Engine, ev *Event) {
	e.act(Action{Kind: Close, Conn: ev.Conn})
	if c := e.pool.find(ev.Conn); c != nil {
		c.phase = down
	}
}

// onReplies takes replies while nothing is wrong.
func onReplies(e *Engine, ev *Event) {
	c := e.pool.find(ev.Conn)
	if c == nil {
		return
	}
	if e.log.answer(c, ev) && !e.holds.answered(c) {
		e.repair.start()
		return
	}
	e.repair.idle, e.repair.pauses = 0, 0
	e.log.completeHead(c)
	e.progress()
}

// onDrainedReplies takes replies while nothing new is sent.
func onDrainedReplies(e *Engine, ev *Event) {
	if c := e.pool.find(ev.Conn); c != nil {
		e.log.answer(c, ev)
		e.advance()
	}
}

// onLost takes the loss of a connection.
func onLost(e *Engine, ev *Event) {
	c := e.pool.find(ev.Conn)
	if c == nil || c.phase != ready {
		return
	}
	if ev.Mismatched {
		e.stop.begin(ReasonMismatched)
	}
	e.lose(c, ev.Written)
}

// onTopology takes what the nodes say of the cluster.
func onTopology(e *Engine, ev *Event) {
	if e.repair.step == fetching {
		e.repair.topology(ev.Views)
	}
}

// onProbed takes what became of a probe: a server that is alive is busy, one
// that is not has been lost.
func onProbed(e *Engine, ev *Event) {
	c := e.pool.find(ev.Conn)
	if c == nil || !c.silence.probed {
		return
	}
	c.silence.probed, c.silence.busy = false, true
	if !ev.Alive {
		e.pool.abandon(c, Silent)
	}
}

// onTick does what its time has come for.
func onTick(e *Engine, _ *Event) {
	switch {
	case e.state == Stopping && e.now >= e.stop.deadline:
		e.stop.finish()
		return
	case e.state == Draining && e.now >= e.repair.drained:
		e.pool.abandonSilent()
		return
	case e.state == Connecting || e.state == Repairing:
		e.repair.tick()
	}
	e.window.tick(e.now)
	if e.state != Stopping {
		e.holds.tick()
	}
	if e.state != Done {
		e.pool.listen()
	}
}

// onFlush sends what was taken, as the source has to wait.
func onFlush(e *Engine, _ *Event) {
	e.window.paused(e.now)
	e.log.flush()
}

// onInputEnded takes the end of the input.
func onInputEnded(e *Engine, _ *Event) {
	e.ended = true
	e.window.fed(e.now)
	e.stop.sourceEnds()
	if e.state == Running {
		e.state = Finishing
		e.advance()
	}
}

// onStopAsked stops the load; asked a second time it does not wait for any
// server, nor for the end of a record.
func onStopAsked(e *Engine, _ *Event) {
	switch {
	case e.state == Stopping:
		e.stop.finish()
	case e.stop.asked:
		if e.stop.begin(ReasonAsked); e.state == Stopping {
			e.stop.finish()
		}
	default:
		e.stop.asked = true
		e.stop.ask(ReasonAsked)
	}
}
