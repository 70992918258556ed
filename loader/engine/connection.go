package engine

import (
	"slices"

	"respipe/loader/batch"
)

// phase is where a connection stands.
type phase uint8

const (
	down    phase = iota // lost, or never made
	dialing              // a Dial has not been answered
	ready                // handshake done
)

// node is a server of the load.
type node struct {
	address string
	process string // the run id of the process that answered last
	conns   []*connection
	away    bool // it has no slot any more
	lost    bool // a connection to it was lost

	answered Range // what it has answered since its process is known
	row      row
}

// connection is one of the connections to a node. It outlives the loss of what
// it stands for: the next dial gives it a new generation.
type connection struct {
	id    ConnID // of the connection that is there, or of the last one
	node  *node
	phase phase

	filling    *batch.Batch   // not submitted yet; nil without one
	flight     []*batch.Batch // submitted and not complete, oldest first
	unanswered int            // replies owed
	answered   int64          // replies received since the load began
	submitted  int64          // bytes since the connection was made
	unfenced   []ConnID       // lost ones that may still run on the server
	streams    []*stream      // transactions sent in parts that are not complete
	silence    silence
}

// load is how many commands of the connection count in the window.
func (c *connection) load() int {
	n := c.unanswered
	if c.filling != nil {
		n += c.filling.Len()
	}
	return n
}

// lose notes that the connection is gone after the socket took so many bytes.
func (c *connection) lose(written int64) {
	for _, b := range c.flight {
		b.Written = min(b.Written, written-b.Start)
	}
	if c.phase == ready {
		c.unfenced = append(c.unfenced, c.id)
		c.node.lost = true
	}
	c.phase, c.unanswered, c.silence = down, 0, silence{}
}

// forgetOwn forgets the commands of our own that a lost connection owes a reply
// to: the next one does not.
func (c *connection) forgetOwn(l *log) {
	c.flight = slices.DeleteFunc(c.flight, func(b *batch.Batch) bool {
		if b.Len() > 1 || b.Entries[0].Flags != batch.Own {
			return false
		}
		l.put(b)
		return true
	})
}

// pool holds the nodes of the load and the connections to them.
type pool struct {
	e     *Engine
	nodes []*node
	conns []*connection // by Place - 1
}

// node returns the node at an address, a new one if there is none yet.
func (p *pool) node(address string) *node {
	for _, n := range p.nodes {
		if n.address == address {
			return n
		}
	}
	n := &node{address: address}
	p.nodes = append(p.nodes, n)
	for range max(p.e.cfg.Connections, 1) {
		c := &connection{id: ConnID{Place: int32(len(p.conns) + 1)}, node: n}
		p.conns = append(p.conns, c)
		n.conns = append(n.conns, c)
	}
	return n
}

// tellers returns the addresses of the nodes to ask for the topology: those that
// have slots, as one that has none any more may know nothing of the others. If
// none of them has answered last time, all that were ever known.
func (p *pool) tellers(unheard bool) (addresses []string) {
	for _, n := range p.nodes {
		if !n.away || unheard {
			addresses = append(addresses, n.address)
		}
	}
	if unheard {
		addresses = append(addresses, p.e.cfg.Addresses...)
	}
	return addresses
}

// known returns the node at an address if there is a connection to it.
func (p *pool) known(address string) *node {
	for _, n := range p.nodes {
		if n.address == address && !n.away {
			return n
		}
	}
	return nil
}

// find returns the connection with an id, nil if it is of an earlier
// generation.
func (p *pool) find(id ConnID) *connection {
	if id.Place < 1 || int(id.Place) > len(p.conns) {
		return nil
	}
	if c := p.conns[id.Place-1]; c.id == id {
		return c
	}
	return nil
}

// dial asks for the connections that are missing. It reports whether none is.
func (p *pool) dial() bool {
	complete := true
	for _, c := range p.conns {
		if c.node.away || c.phase == ready {
			continue
		}
		complete = false
		if c.phase == down {
			p.dialOne(c)
		}
	}
	return complete
}

func (p *pool) dialOne(c *connection) {
	c.forgetOwn(&p.e.log)
	c.phase = dialing
	c.id.Generation++
	c.submitted = 0
	p.e.act(Action{
		Kind: Dial, Conn: c.id, Address: c.node.address,
		Fence: c.unfenced, Session: p.e.session.restore(),
	})
}

// complete reports whether every connection to a node with slots is ready.
func (p *pool) complete() bool {
	for _, c := range p.conns {
		if !c.node.away && c.phase != ready {
			return false
		}
	}
	return true
}

// quiet reports whether no reply is owed.
func (p *pool) quiet() bool {
	for _, c := range p.conns {
		if c.unanswered > 0 {
			return false
		}
	}
	return true
}

// close closes a connection on our side, without counting it as lost.
func (p *pool) close(c *connection) {
	if c.phase != down {
		p.e.act(Action{Kind: Close, Conn: c.id})
	}
	c.phase, c.unanswered, c.silence = down, 0, silence{}
}

// leave closes the connections to nodes that have no slot any more. Those that
// were lost are ended if the node is needed again.
func (p *pool) leave() {
	for _, c := range p.conns {
		if c.node.away {
			p.close(c)
		}
	}
}
