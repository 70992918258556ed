package simulate

import (
	"slices"

	"respipe/loader/cluster"
	"respipe/parser"
)

// viewOf returns what a server says of the cluster. The slots between those of
// the keys belong to the group before them.
func (s *schedule) viewOf(sv *server) cluster.View {
	order := slices.Clone(groupsBySlot)
	v := cluster.View{Teller: sv.address()}
	for i, group := range order {
		r := cluster.Range{First: slots[group], Last: parser.Slots - 1, Address: s.servers[sv.view[group]].address()}
		if i == 0 {
			r.First = 0
		}
		if i+1 < len(order) {
			r.Last = slots[order[i+1]] - 1
		}
		v.Ranges = append(v.Ranges, r)
	}
	return v
}

var groupsBySlot = func() []int {
	order := make([]int, groups)
	for g := range order {
		order[g] = g
	}
	slices.SortFunc(order, func(a, b int) int { return slots[a] - slots[b] })
	return order
}()

// serverAt returns the server with an address.
func (s *schedule) serverAt(address string) *server {
	for _, sv := range s.servers {
		if sv.address() == address {
			return sv
		}
	}
	s.fail("no server at %s", address)
	return s.servers[0]
}

// migrate moves a slot to another node, key by key, while the servers learn of
// it at different times.
func (s *schedule) migrate() {
	group := s.random.IntN(groups)
	owner := s.servers[0].view[group]
	masters := s.masters()
	for _, sv := range s.servers {
		if sv.view[group] != owner || sv.leaving[group] >= 0 || sv.master && !sv.up() {
			return
		}
	}
	if len(masters) == 0 {
		return
	}
	to := masters[s.random.IntN(len(masters))]
	from := s.servers[owner]
	if to == from || !from.master {
		return
	}
	s.trace("slot of group %d migrates from %d to %d", group, from.index, to.index)
	to.coming[group], from.leaving[group] = from.index, to.index
	delay := ms * 0
	for k := group * keysOfGroup; k < (group+1)*keysOfGroup; k++ {
		delay += s.within(60 * ms)
		if s.random.IntN(30) == 0 {
			delay += s.within(700 * ms)
		}
		s.after(delay, func() { s.moveKey(k, from, to) })
	}
	s.after(delay+s.within(30*ms), func() { s.finishMigration(group, from, to) })
}

// moveKey moves a key that is there from one server to the other.
func (s *schedule) moveKey(k int, from, to *server) {
	if from.leaving[groupOf(k)] != to.index || from.kinds[k] == missing {
		return
	}
	s.trace("key %s moves from %d to %d", names[k], from.index, to.index)
	to.kinds[k], from.kinds[k] = from.kinds[k], missing
}

// finishMigration gives the slot to the new owner; the others learn of it later.
func (s *schedule) finishMigration(group int, from, to *server) {
	if from.leaving[group] != to.index {
		return
	}
	for k := group * keysOfGroup; k < (group+1)*keysOfGroup; k++ {
		s.moveKey(k, from, to)
	}
	to.view[group], to.coming[group] = to.index, -1
	s.moved[group] = true
	s.after(s.within(40*ms), func() { from.view[group], from.leaving[group] = to.index, -1 })
	for _, sv := range s.servers {
		if sv == from || sv == to {
			continue
		}
		lag := s.within(80 * ms)
		if s.random.IntN(10) == 0 {
			lag += 900 * ms
		}
		s.after(lag, func() { sv.view[group] = to.index })
	}
}

// masters returns the servers that are masters.
func (s *schedule) masters() (masters []*server) {
	for _, sv := range s.servers {
		if sv.master {
			masters = append(masters, sv)
		}
	}
	return masters
}
