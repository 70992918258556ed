package loader

import (
	"slices"

	"respipe/parser"
)

// slotMap says which node has each slot of a cluster. It is read for each
// command, at random places: two bytes a slot stay in the processor's cache.
type slotMap struct {
	at    [parser.Slots]uint16 // index in nodes, and one; 0 for a slot that nobody has
	nodes []*node              // some may have no slots any more
}

// of returns the node that has a slot, or nil.
func (m *slotMap) of(slot int) *node {
	if i := m.at[slot]; i > 0 {
		return m.nodes[i-1]
	}
	return nil
}

// set gives a slot to a node.
func (m *slotMap) set(slot int, n *node) {
	i := slices.Index(m.nodes, n)
	if i < 0 {
		i = len(m.nodes)
		m.nodes = append(m.nodes, n)
	}
	m.at[slot], n.slot = uint16(i+1), slot
}

// holders returns the nodes that have slots.
func (m *slotMap) holders() map[*node]bool {
	has := map[*node]bool{}
	for _, i := range m.at {
		if i > 0 {
			has[m.nodes[i-1]] = true
		}
	}
	return has
}
