package redistest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// Cluster is a Redis Cluster of one test. Its methods may be called in any
// goroutine, and besides each other: what goes wrong in them fails the test, but
// does not end it, unless redis-server or redis-cli cannot be run.
type Cluster struct {
	t testing.TB

	mu       sync.Mutex // guards what AddMaster changes
	masters  []*Server
	replicas []*Server
	members  map[*Server]member

	settling sync.Mutex // held while a slot changes its owner
}

// member is what a cluster knows of a node beyond its address.
type member struct {
	id  string
	bus string // the port on which nodes talk to each other
}

// StartCluster starts a cluster of redis-server processes as Start does, each
// with these args. Masters have all slots, spread evenly, and replicas are
// spread over the masters. It returns when all nodes agree on that and every
// replica has its master's data. A master that is gone for a second is replaced
// by a replica of it, if there is one.
func StartCluster(t testing.TB, masters, replicas int, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, members: map[*Server]member{}}
	for range masters {
		c.masters = append(c.masters, c.start(args))
	}
	for range replicas {
		c.replicas = append(c.replicas, c.start(args))
	}
	if err := c.form(); err != nil {
		t.Fatalf("the nodes become no cluster: %v", err)
	}
	c.Settle()
	return c
}

// start starts a node that knows no other.
func (c *Cluster) start(args []string) *Server {
	c.t.Helper()
	var bus string
	s := start(c.t, func(s *Server) []string {
		bus = FreePort(c.t)
		return append(s.options("--cluster-enabled", "yes", "--cluster-port", bus,
			"--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0",
			"--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0"), args...)
	})
	id, err := s.Client().ClusterMyID(c.t.Context()).Result()
	s.must(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[s] = member{id, bus}
	return s
}

// form makes a cluster of the nodes.
func (c *Cluster) form() error {
	for i, s := range c.nodes() { // before it knows any other
		if err := s.do("CLUSTER", "SET-CONFIG-EPOCH", i+1); err != nil {
			return err
		}
	}
	for _, s := range c.nodes() {
		if err := c.meetAll(s); err != nil {
			return err
		}
	}
	n := len(c.masters)
	for i, s := range c.masters {
		if err := s.do("CLUSTER", "ADDSLOTSRANGE", i*slotCount/n, (i+1)*slotCount/n-1); err != nil {
			return err
		}
	}
	for i, s := range c.replicas {
		var err error
		if !await(func() bool { // until it knows its master
			err = s.do("CLUSTER", "REPLICATE", c.member(c.masters[i%n]).id)
			return err == nil
		}) {
			return err
		}
	}
	return nil
}

// meetAll has a node meet all the others: quicker than hearing of them.
func (c *Cluster) meetAll(s *Server) error {
	for _, other := range c.nodes() {
		if other == s {
			continue
		}
		if err := s.do("CLUSTER", "MEET", "127.0.0.1", other.Port, c.member(other).bus); err != nil {
			return err
		}
	}
	return nil
}

// Masters returns the nodes that began as masters, those of AddMaster behind
// the others.
func (c *Cluster) Masters() []*Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.masters)
}

// Replicas returns the nodes that began as replicas, the first one of the first
// master.
func (c *Cluster) Replicas() []*Server { return slices.Clone(c.replicas) }

// nodes returns all nodes, masters first.
func (c *Cluster) nodes() []*Server { return append(c.Masters(), c.replicas...) }

func (c *Cluster) member(s *Server) member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[s]
}

// server returns the node that has an id; nil if none has.
func (c *Cluster) server(id string) *Server {
	for _, s := range c.nodes() {
		if c.member(s).id == id {
			return s
		}
	}
	return nil
}

// CLI is CLI of a node that runs; redis-cli follows where the cluster sends it.
func (c *Cluster) CLI(args ...string) string {
	c.t.Helper()
	for _, s := range c.nodes() {
		if s.Running() {
			return s.CLI(append([]string{"-c"}, args...)...)
		}
	}
	c.t.Fatal("no node of the cluster runs")
	return ""
}

// Owner returns the master that has a slot now; nil if none has.
func (c *Cluster) Owner(slot int) *Server {
	c.t.Helper()
	v, err := c.view()
	c.must(err)
	return c.server(v.owner(slot))
}

// ReplicaOf returns a running replica that a master has now; nil if it has none.
func (c *Cluster) ReplicaOf(master *Server) *Server {
	c.t.Helper()
	for _, s := range c.replicasOf(master) {
		return s
	}
	return nil
}

func (c *Cluster) replicasOf(master *Server) (running []*Server) {
	c.t.Helper()
	v, err := c.view()
	c.must(err)
	for _, n := range v {
		if s := c.server(n.id); n.master == c.member(master).id && s.Running() {
			running = append(running, s)
		}
	}
	return running
}

// AddMaster starts a master without slots, and returns when all nodes know it.
func (c *Cluster) AddMaster(args ...string) *Server {
	c.t.Helper()
	added := c.start(args)
	c.mu.Lock()
	c.masters = append(c.masters, added)
	c.mu.Unlock()
	c.must(c.meetAll(added))
	c.await("a new node is not known to all", c.ready)
	return added
}

// Failover kills a master and returns the replica that has taken its place,
// when all other nodes have seen that and serve all slots again; nil if there is
// no such replica. What the replica was made to hold is lost, see Server.Hold.
func (c *Cluster) Failover(master *Server) (promoted *Server) {
	c.t.Helper()
	replicas := c.replicasOf(master)
	master.Kill()
	for _, replica := range replicas {
		replica.mourn()
	}
	c.await("no replica has taken the master's place", c.ready)
	for _, replica := range replicas {
		if replica.says("role:master") {
			return replica
		}
	}
	c.t.Errorf("no replica of %s has become a master", master.Port)
	return nil
}

// Settle waits until all nodes that run agree on masters, replicas and slots and
// serve all slots, and every replica has its master's data.
func (c *Cluster) Settle() {
	c.t.Helper()
	c.await("the nodes do not agree", c.agreed)
}

// await fails the test if check does not come to say nil.
func (c *Cluster) await(fault string, check func() error) {
	c.t.Helper()
	var err error
	if !await(func() bool { err = check(); return err == nil }) {
		c.must(fmt.Errorf("%s: %w", fault, err))
	}
}

// must fails the test, in any goroutine, if there is an error.
func (c *Cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Error(err)
	}
}
