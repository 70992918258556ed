package simulate

import (
	"bytes"
	"time"

	"respipe/loader/batch"
	"respipe/loader/cluster"
	"respipe/loader/engine"
	"respipe/parser"
)

// handle passes an event to the engine.
func (s *schedule) handle(ev *engine.Event) {
	ev.At = s.now
	before := s.engine.State()
	s.engine.Handle(ev)
	if s.tracing {
		s.trace("%v: %v -> %v", ev.Kind, before, s.engine.State())
	}
	s.perform()
}

// deliver passes replies to the engine.
func (s *schedule) deliver(c *conn, replies []reply) {
	ev := engine.Event{Kind: engine.Replies, Conn: c.id, Count: len(replies)}
	for i, r := range replies {
		for _, record := range r.records {
			s.shown[record] = true
		}
		switch {
		case r.err != "":
			s.causes++
			s.hurt(c, &r)
			if r.record > 0 && s.refusedAt[r.record] == 0 && r.retryable() {
				s.refusedAt[r.record] = s.now
			}
			ev.Errors = append(ev.Errors, engine.ErrorReply{Index: i, Element: -1, Text: []byte(r.err)})
		case r.null:
			ev.Errors = append(ev.Errors, engine.ErrorReply{Index: i, Element: -1})
		}
		for at, err := range r.elements {
			if err != "" {
				ev.Errors = append(ev.Errors, engine.ErrorReply{Index: i, Element: at, Text: []byte(err)})
			}
		}
	}
	if s.tracing {
		s.trace("replies %v: %d %v", c.id, len(replies), replies)
	}
	s.keep(&ev, replies)
	s.handle(&ev)
}

// perform does what the engine asks for.
func (s *schedule) perform() {
	for _, a := range append([]engine.Action(nil), s.engine.Actions()...) {
		switch a.Kind {
		case engine.Submit:
			s.submit(&a)
		case engine.Dial:
			s.dial(a)
		case engine.Close:
			s.close(&a)
		case engine.FetchTopology:
			s.fetch(a.Addresses)
		case engine.Probe:
			s.probe(a)
		case engine.End:
			s.trace("end")
			s.done = true
		}
	}
}

// submit writes a batch.
func (s *schedule) submit(a *engine.Action) {
	c := s.conns[a.Conn]
	if c == nil || c.lost {
		s.fail("a batch was sent to %v, which is closed", a.Conn)
		return
	}
	if s.tracing {
		cmds, _ := parse(a.Batch.RESP)
		text := ""
		for i := range cmds {
			text += " " + string(join(cmds[i].args))
		}
		s.trace("send %v:%s", a.Conn, text)
	}
	cmds, _ := parse(a.Batch.RESP)
	s.began(c, cmds)
	c.write(a.Batch.RESP)
}

func join(args [][]byte) (line []byte) {
	for _, arg := range args {
		line = append(append(line, arg...), '/')
	}
	return line
}

// dial connects to a server, and ends earlier connections there.
func (s *schedule) dial(a engine.Action) {
	sv := s.serverAt(a.Address)
	a.Fence = append([]engine.ConnID(nil), a.Fence...)
	s.after(2*ms+s.within(20*ms), func() {
		if !sv.up() || s.mayFail(10) {
			s.handle(&engine.Event{Kind: engine.DialFailed, Conn: a.Conn})
			return
		}
		fenced := s.fences(len(a.Fence))
		for _, id := range a.Fence {
			if !fenced {
				break
			}
			if old := s.conns[id]; old != nil && old.server == sv {
				old.dead = true
			}
		}
		c := &conn{s: s, id: a.Conn, server: sv}
		cmds, _ := parse(bytes.Join(a.Session, nil))
		for i := range cmds {
			if r := c.execute(&cmds[i]); r.err != "" {
				s.handle(&engine.Event{Kind: engine.DialFailed, Conn: a.Conn})
				return
			}
		}
		s.conns[a.Conn] = c
		s.made = append(s.made, c)
		if s.tracing {
			s.trace("connected %v to %s, fenced %v %v", a.Conn, a.Address, a.Fence, fenced)
		}
		s.handle(&engine.Event{Kind: engine.Connected, Conn: a.Conn, Process: s.process(sv), Fenced: fenced})
	})
}

// close closes a connection; the server may see it late.
func (s *schedule) close(a *engine.Action) {
	c := s.conns[a.Conn]
	if c == nil {
		return
	}
	s.cutOff = s.cutOff || len(c.outbox) > 0
	c.lost = true
	c.harmed = c.harmed || a.Loss != engine.NoLoss
	if s.random.IntN(2) == 0 {
		c.dead = true
	}
}

// fetch asks the servers at these addresses who has which slots.
func (s *schedule) fetch(addresses []string) {
	addresses = append([]string(nil), addresses...)
	s.after(2*ms+s.within(10*ms), func() {
		var views []cluster.View
		for _, address := range addresses {
			if sv := s.serverAt(address); sv.up() {
				views = append(views, s.viewOf(sv))
			}
		}
		s.handle(&engine.Event{Kind: engine.Topology, Views: views})
	})
}

// probe asks a server on another connection whether it is alive.
func (s *schedule) probe(a engine.Action) {
	sv := s.serverAt(a.Address)
	s.after(2*ms+s.within(20*ms), func() {
		if c := s.conns[a.Conn]; !c.lost {
			s.handle(&engine.Event{Kind: engine.Probed, Conn: a.Conn, Alive: sv.up()})
		}
	})
}

// pump gives the engine what the source has, as long as it takes it and the
// source does not wait.
func (s *schedule) pump() {
	for s.now >= s.sourceWaits && s.more() && s.engine.Accepts() {
		if len(s.parts) > 0 {
			part := s.parts[0]
			s.parts = s.parts[1:]
			s.engine.SubmitPart(s.now, part)
			s.perform()
			continue
		}
		rec := &s.input.records[s.read]
		if s.read > 0 && rec.file != s.input.records[s.read-1].file && !s.ended[rec.file] {
			s.ended[rec.file] = true
			s.engine.EndFile(s.now)
			s.perform()
			continue
		}
		s.read++
		if rec.bad {
			s.outcomes[s.read-1] = batch.Refused
			s.engine.Refuse(s.now)
			s.perform()
			continue
		}
		c := &parser.Command{
			File: rec.file,
			Pos:  parser.Pos{File: "input", Line: s.read, Offset: int64(s.read * 10)},
			N:    int64(s.read),
			Last: true,
			Args: rec.args,
			Op:   rec.op,
		}
		if !s.engine.Submit(s.now, c) {
			s.splitUp(c)
		}
		s.perform()
		switch {
		case s.random.IntN(6) == 0: // the shell polls without having to wait
			s.after(s.within(6*ms), func() {})
			return
		case s.random.IntN(25) == 0:
			s.sourceWaits = s.now + s.within(60*ms)
			if s.random.IntN(40) == 0 {
				s.sourceWaits += 3000 * ms
			}
			s.after(s.sourceWaits-s.now, func() {})
		}
	}
	if !s.more() && !s.inputEnded {
		s.inputEnded = true
		s.handle(&engine.Event{Kind: engine.InputEnded})
	}
	if !s.done && (s.engine.Accepts() || s.random.IntN(3) == 0 || !s.moving()) {
		s.handle(&engine.Event{Kind: engine.InputPaused})
	}
}

// more reports whether the source has more.
func (s *schedule) more() bool { return s.read < len(s.input.records) || len(s.parts) > 0 }

// moving reports whether something will happen without the source.
func (s *schedule) moving() bool { return len(s.queue) > 0 }

// arm lets the tick of the engine's deadline happen.
func (s *schedule) arm() {
	d, ok := s.engine.Deadline()
	if !ok || s.done || d == s.armed {
		return
	}
	s.armed = d
	s.after(d-s.now, func() {
		if s.armed == d {
			s.armed = -1
		}
		if now, ok := s.engine.Deadline(); ok && now <= s.now {
			s.handle(&engine.Event{Kind: engine.Tick})
		}
	})
}

// Acknowledged takes commands that were acknowledged.
func (s *schedule) Acknowledged(p engine.Part) {
	for i := p.First; i <= p.Last; i++ {
		s.resolve(p.Batch, i, batch.Acknowledged)
	}
}

// Answered takes how long a batch took.
func (s *schedule) Answered(_ engine.ConnID, commands int, took time.Duration) {
	if commands < 1 || took < 0 {
		s.fail("%d commands were answered in %v", commands, took)
	}
}

// Completed takes what became of a command or transaction.
func (s *schedule) Completed(c *engine.Completion) {
	s.givenUp(c)
	n := -1 // index behind the MULTI of a transaction
	for _, p := range c.Parts {
		for i := p.First; i <= p.Last; i++ {
			outcome := c.Outcome
			if c.Cause == engine.NoCause {
				s.causeless[int(p.Batch.Position(i).Record)] = true
			}
			for _, f := range c.Errors {
				if outcome == batch.Acknowledged && f.Element == n && n >= 0 {
					outcome = batch.Refused
					if c.MayHaveRun() {
						outcome = batch.Unknown
						s.early[int(p.Batch.Position(i).Record)] = true // the transaction has run
					}
				}
			}
			s.resolve(p.Batch, i, outcome)
			n++
		}
	}
}

// resolve notes the outcome of one record.
func (s *schedule) resolve(b *batch.Batch, i int, outcome batch.Outcome) {
	if b.Entries[i].Flags&batch.Own != 0 {
		return
	}
	s.replied(b, i, outcome)
	p := b.Position(i)
	if s.tracing {
		s.trace("record %d %v", p.Record, outcome)
	}
	if p.Line != int(p.Record) || p.Offset != p.Record*10 || p.File != s.input.records[p.Record-1].file {
		s.fail("record %d is at line %d, offset %d", p.Record, p.Line, p.Offset)
	}
	o := &s.outcomes[p.Record-1]
	if sp := s.splits[int(p.Record)]; sp != nil {
		outcome = s.resolvePart(sp, int(p.Record), b, i, outcome)
	} else if *o != batch.Pending {
		s.fail("record %d is %v, and %v before", p.Record, outcome, *o)
	}
	*o = outcome
	if s.engine.State() != engine.Stopping && (outcome == batch.NotSent || outcome == batch.Unknown) {
		s.early[int(p.Record)] = true
	}
}
