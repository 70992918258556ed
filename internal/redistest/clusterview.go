package redistest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// slotCount is the number of hash slots of a cluster.
const slotCount = 16384

// view is what one node says about all nodes, in the order of their ids.
type view []node

// node is a line of CLUSTER NODES.
type node struct {
	id      string
	master  string   // the id of its master; "" for a master
	epoch   string   // of its slots: the higher one wins
	unknown bool     // they have not shaken hands yet
	slots   [][2]int // the first and the last of each range
}

// parseView reads the answer to CLUSTER NODES.
func parseView(text string) (view, error) {
	var v view
	for line := range strings.Lines(text) {
		n, err := parseNode(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		v = append(v, n)
	}
	slices.SortFunc(v, func(a, b node) int { return strings.Compare(a.id, b.id) })
	return v, nil
}

// parseNode reads the fields of a line: id, address, flags, master, when pinged
// and when answered, epoch, link, and slots.
func parseNode(fields []string) (node, error) {
	if len(fields) < 8 {
		return node{}, fmt.Errorf("%d fields", len(fields))
	}
	flags := strings.Split(fields[2], ",")
	n := node{id: fields[0], epoch: fields[6], unknown: slices.Contains(flags, "handshake")}
	if slices.Contains(flags, "slave") {
		n.master = fields[3]
	}
	for _, text := range fields[8:] {
		if strings.HasPrefix(text, "[") { // a slot on its way
			continue
		}
		slots, err := parseRange(text)
		if err != nil {
			return node{}, err
		}
		n.slots = append(n.slots, slots)
	}
	return n, nil
}

// parseRange reads 7 or 0-5460.
func parseRange(text string) (slots [2]int, err error) {
	first, last, ranged := strings.Cut(text, "-")
	if !ranged {
		last = first
	}
	for i, number := range []string{first, last} {
		if slots[i], err = strconv.Atoi(number); err != nil {
			return slots, err
		}
	}
	if slots[0] < 0 || slots[1] < slots[0] || slots[1] >= slotCount {
		return slots, fmt.Errorf("no range of slots")
	}
	return slots, nil
}

// find returns the node that has an id; an empty one if none has.
func (v view) find(id string) node {
	i, found := slices.BinarySearchFunc(v, id, func(n node, id string) int { return strings.Compare(n.id, id) })
	if !found {
		return node{}
	}
	return v[i]
}

// owner returns the id of the master that has a slot, "" if none has.
func (v view) owner(slot int) string {
	for _, n := range v {
		for _, slots := range n.slots {
			if slots[0] <= slot && slot <= slots[1] {
				return n.id
			}
		}
	}
	return ""
}

// count returns how many slots a node has.
func (n node) count() int {
	sum := 0
	for _, slots := range n.slots {
		sum += slots[1] - slots[0] + 1
	}
	return sum
}

// same tells whether two nodes see the same masters, replicas and slots.
func (v view) same(other view) bool {
	return slices.EqualFunc(v, other, func(a, b node) bool {
		return a.id == b.id && a.master == b.master && slices.Equal(a.slots, b.slots)
	})
}

// view returns how a running master sees the cluster.
func (c *Cluster) view() (view, error) {
	for _, s := range c.nodes() {
		if s.Running() && s.says("role:master") {
			return c.viewOf(s)
		}
	}
	return nil, errors.New("no master of the cluster runs")
}

func (c *Cluster) viewOf(s *Server) (view, error) {
	text, err := s.Client().ClusterNodes(c.t.Context()).Result()
	if err != nil {
		return nil, err
	}
	return parseView(text)
}

// told returns nil when all masters know who owns a slot, and with what epoch: a
// node that did not would give itself the same one at the next move, and one of
// the two would lose what it has got.
func (c *Cluster) told(slot int, owner string) error {
	masters, err := c.runningMasters()
	epochs := map[string]bool{}
	for _, s := range masters {
		v, err := c.viewOf(s)
		if err != nil {
			return err
		}
		if v.owner(slot) != owner {
			return fmt.Errorf("node %s does not know the owner of slot %d", s.Port, slot)
		}
		epochs[v.find(owner).epoch] = true
	}
	if err == nil && len(epochs) != 1 {
		err = fmt.Errorf("the masters see different epochs of the owner of slot %d", slot)
	}
	return err
}

// runningMasters returns the masters as they are now, with slots or without.
func (c *Cluster) runningMasters() (masters []*Server, err error) {
	v, err := c.view()
	for _, n := range v {
		if s := c.server(n.id); n.master == "" && s != nil && s.Running() {
			masters = append(masters, s)
		}
	}
	return masters, err
}

// ready returns nil when every node that runs knows all, serves all slots, which
// are with masters that run, and has its master's data if it is a replica.
func (c *Cluster) ready() error {
	return c.survey(func(view) error { return nil })
}

// agreed is ready, and all see the same.
func (c *Cluster) agreed() error {
	var first view
	return c.survey(func(v view) error {
		if first == nil {
			first = v
		}
		if !first.same(v) {
			return errors.New("two nodes see different masters, replicas or slots")
		}
		return nil
	})
}

// survey asks all nodes that run, and check what each of them sees.
func (c *Cluster) survey(check func(view) error) error {
	for _, s := range c.nodes() {
		if !s.Running() {
			continue
		}
		v, err := c.report(s)
		if err == nil {
			err = check(v)
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", s.Port, err)
		}
	}
	return nil
}

// report returns how a node sees the cluster, or why it is not ready.
func (c *Cluster) report(s *Server) (view, error) {
	v, err := c.viewOf(s)
	if err != nil {
		return nil, err
	}
	if want := len(c.nodes()); len(v) != want || slices.ContainsFunc(v, func(n node) bool { return n.unknown }) {
		return nil, fmt.Errorf("it does not know all of %d nodes", want)
	}
	served := 0
	for _, n := range v {
		if owner := c.server(n.id); owner != nil && owner.Running() {
			served += n.count()
		}
	}
	if served != slotCount {
		return nil, fmt.Errorf("%d slots are with masters that run", served)
	}
	info, err := s.Client().ClusterInfo(c.t.Context()).Result()
	if err != nil || !hasLine(info, "cluster_state:ok") {
		return nil, fmt.Errorf("the cluster's state is not ok (%v)", err)
	}
	if s.says("role:slave") && !s.says("master_link_status:up") {
		return nil, errors.New("it has not its master's data")
	}
	return v, nil
}
