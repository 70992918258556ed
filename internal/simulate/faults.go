package simulate

import "time"

// ms is the unit of virtual time.
const ms = time.Millisecond

// mayFail reports, once in n times, that something fails now. When the schedule
// has become calm nothing fails any more.
func (s *schedule) mayFail(n int) bool { return s.now < s.shape.calm && s.random.IntN(n) == 0 }

// within chooses a time shorter than d.
func (s *schedule) within(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d)/int64(ms))) * ms
}

// rest lets a migration stand still halfway until the schedule is calm: some
// keys of a slot are here, some there.
func (s *schedule) rest() {
	group := s.random.IntN(s.input.hot)
	from := s.servers[s.owners[group]]
	to := s.servers[(from.index+1)%nodes]
	to.coming[group], from.leaving[group] = from.index, to.index
	for k := group * keysOfGroup; k < (group+1)*keysOfGroup; k++ {
		if s.random.IntN(2) == 0 {
			s.moveKey(k, from, to)
		}
	}
	end := s.shape.calm
	if s.random.IntN(2) == 0 {
		end += 2500 * ms // nobody waits so long
	}
	s.after(end, func() { s.finishMigration(group, from, to) })
}

// planFaults lets some things go wrong.
func (s *schedule) planFaults() {
	if s.shape.resting && s.shape.cluster {
		s.rest()
	}
	for range s.random.IntN(s.shape.faults + 1) {
		s.after(s.within(600*ms), s.fault)
	}
	if s.random.IntN(5) == 0 {
		s.after(s.within(700*ms), s.interrupt)
		if s.random.IntN(4) == 0 {
			s.after(s.within(900*ms), s.interrupt)
		}
	}
}

// fault lets one thing go wrong.
func (s *schedule) fault() {
	switch s.random.IntN(6) {
	case 4:
		if s.shape.disasters && s.random.IntN(2) == 0 {
			s.restart()
		}
	case 5:
		switch {
		case s.shape.disasters && s.shape.cluster:
			s.failover()
		case s.shape.readonly:
			s.owned()[s.random.IntN(len(s.owned()))].refuses = s.now + s.within(200*ms)
		}
	case 0:
		if s.shape.cluster {
			s.migrate()
		}
	case 1:
		sv := s.servers[s.random.IntN(len(s.servers))]
		sv.busy = s.now + s.within(30*ms)
	case 2:
		s.breakConnection()
	case 3:
		s.breakServer()
	}
}

// breakConnection lets the client lose a connection; the server may go on with
// what is on its way.
func (s *schedule) breakConnection() {
	live := s.live(nil)
	if len(live) == 0 {
		return
	}
	c := live[s.random.IntN(len(live))]
	if s.random.IntN(2) == 0 {
		c.dead = true
	}
	c.lose()
}

// breakServer makes a server unreachable for a while, with its connections.
func (s *schedule) breakServer() {
	sv := s.servers[s.random.IntN(len(s.servers))]
	if s.random.IntN(4) == 0 && sv.up() {
		sv.down = s.now + s.within(200*ms)
		s.kill(sv, &loss{})
	}
}

// live returns the connections to a server, nil for all, that the client has
// not lost, in the order in which they were made.
func (s *schedule) live(sv *server) (live []*conn) {
	for _, c := range s.made {
		if !c.lost && (sv == nil || c.server == sv) {
			live = append(live, c)
		}
	}
	return live
}

// interrupt presses Ctrl-C.
func (s *schedule) interrupt() {
	if !s.done {
		s.stopAsked()
	}
}
