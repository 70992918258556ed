package simulate

import "slices"

// restart ends a process. Another one answers at once, with what the first one
// had saved.
func (s *schedule) restart() {
	sv := s.servers[s.random.IntN(len(s.servers))]
	if !sv.master || !sv.up() || s.migrates(sv) {
		return
	}
	sv.process++
	l := s.lose(sv)
	s.trace("server %d is restarted", sv.index)
	s.kill(sv, l)
}

// failover ends a master for a while; its replica takes over with what it had
// got. The servers learn of it at different times.
func (s *schedule) failover() {
	sv := s.servers[s.random.IntN(len(s.owned()))]
	if !sv.master || !sv.up() || s.migrates(sv) || sv.index >= nodes {
		return
	}
	replica := s.servers[sv.index+nodes]
	l := s.lose(sv)
	l.failover = true
	s.trace("server %d is gone, server %d takes over", sv.index, replica.index)
	sv.master = false
	sv.down = s.now + 250*ms + s.within(600*ms) // until after the others know
	s.kill(sv, l)
	s.after(s.within(150*ms), func() {
		replica.master, replica.down = true, 0
		replica.kinds, replica.order = sv.kinds, sv.order
		for record := range sv.scripts {
			replica.scripts[record] = true
		}
		sv.kinds, sv.order = [keyCount]kind{}, nil
		owned := sv.view
		for _, other := range s.servers {
			lag := s.within(80 * ms)
			if other == replica {
				lag = 0
			}
			s.after(lag, func() { s.learn(other, owned, sv, replica) })
		}
	})
}

// learn lets a server learn that another one has the slots of a third.
func (s *schedule) learn(other *server, owned [groups]int, from, to *server) {
	for group, owner := range owned {
		if owner == from.index {
			s.moved[group] = true
			other.view[group] = to.index
		}
	}
}

// nodes is how many masters a cluster has; the replica of each stands so many
// places behind it.
const nodes = 3

// owned returns the masters of the beginning.
func (s *schedule) owned() []*server { return s.servers[:len(s.shape.config.Addresses)] }

// migrates reports whether a slot comes to or leaves a server, or the servers do
// not agree on those that it has.
func (s *schedule) migrates(sv *server) bool {
	for group := range groups {
		for _, other := range s.servers {
			if (other.view[group] == sv.index) != (sv.view[group] == sv.index) {
				return true
			}
			if other.leaving[group] == sv.index || other.coming[group] == sv.index {
				return true
			}
		}
		if sv.leaving[group] >= 0 || sv.coming[group] >= 0 {
			return true
		}
	}
	return false
}

// kill breaks the connections to a server.
func (s *schedule) kill(sv *server, l *loss) {
	for _, c := range s.live(sv) {
		c.dead = true
		s.after(s.within(20*ms), func() {
			if !c.lost && !s.done {
				l.seen = true
			}
			c.lose()
		})
	}
}

// lose takes back the last executions of a server: nobody else has got them.
func (s *schedule) lose(sv *server) *loss {
	n, l := 0, &loss{known: sv.told}
	sv.losses = append(sv.losses, l)
	s.disasters++
	if s.random.IntN(3) > 0 && len(sv.order) > 0 {
		n = s.random.IntN(min(len(sv.order), 12) + 1)
	}
	for range n {
		a := sv.order[len(sv.order)-1]
		sv.order = sv.order[:len(sv.order)-1]
		h := s.history[a.key]
		i := len(h) - 1
		for i >= 0 && h[i] != a.record {
			i--
		}
		if i < 0 || s.servers[sv.view[groupOf(a.key)]] != sv && s.shape.cluster {
			continue // of a slot that it has given away since
		}
		s.history[a.key] = slices.Delete(h, i, i+1)
		sv.kinds[a.key] = a.before
		s.trace("  record %d on key %s is lost", a.record, names[a.key])
		s.lost[a.record] = l
	}
	return l
}
