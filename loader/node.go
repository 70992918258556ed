package loader

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"respipe/parser"
)

// node is a server process and the pipelines to it.
type node struct {
	addr      string
	server    *Server // as the last connection was greeted
	pipes     []*pipeline
	slot      int // one that it has, or had
	wait      int // replicas that are waited for, see Config.WaitReplicas
	report    *NodeReport
	latencies *hdrhistogram.Histogram
	acked     stretch // that it has acknowledged
}

// open makes the pipelines of a load. The first connection, by which it was
// found out who answers, is one of them unless that is a cluster.
func (r *run) open(g *greeting) error {
	switch {
	case g.info.Mode == "cluster":
		g.nc.Close()
		return r.openCluster(g.addr)
	case r.cfg.Cluster:
		g.nc.Close()
		return &ConnectError{Err: fmt.Errorf("%s is no node of a cluster", g.addr), Hint: "leave out -c: a cluster is recognised by itself"}
	}
	n, made := &node{addr: g.addr}, []*greeting{g}
	if r.bringUpWithin(g) != nil { // earlier runs may have come into another database
		g.nc.Close()
		made = nil // the next one tells why
	}
	if err := r.fill(n, made...); err != nil {
		return err
	}
	r.nodes = []*node{n}
	return nil
}

// enoughReplicas returns an error if a server has fewer replicas at the start
// than are to be waited for.
func (r *run) enoughReplicas(s *Server) error {
	if s.Health == nil || s.Health.Replicas >= r.cfg.WaitReplicas {
		return nil
	}
	return &ConnectError{Err: fmt.Errorf("%s has %d replicas, and %d are to be waited for", s.Addr, s.Health.Replicas, r.cfg.WaitReplicas)}
}

// fill makes the connections to a new node, but for those that are there. At
// the start it waits for the node as Run does for the first one.
func (r *run) fill(n *node, made ...*greeting) error {
	for len(made) < max(r.cfg.Connections, 1) {
		one := func() (*greeting, error) { return r.connectTo(n.addr) }
		g, err := one()
		if err != nil && r.rep.Server == nil {
			g, err = r.beginWith(one)
		}
		if err != nil {
			for _, g := range made {
				g.nc.Close()
			}
			return err
		}
		made = append(made, g)
	}
	r.newRow(n, &made[0].info)
	for _, g := range made {
		p := &pipeline{node: n}
		n.pipes = append(n.pipes, p)
		r.pipes = append(r.pipes, p)
		r.attach(p, g)
	}
	return nil
}

// targetOf returns the pipeline for a unit that is sent again.
func (r *run) targetOf(u *unit) *pipeline {
	p := u.w.p
	switch {
	case r.alone():
		return p
	case len(u.keys) > 0:
		return r.pipeOf(parser.Slot(u.keys[0]))
	case u.open && p == r.blockPipe && r.block.Open && r.router.pinned: // its keys are still to come
		return r.pipeOf(r.router.slot)
	case p.conn.closed && r.router.owners != nil:
		return r.pipeOf(p.node.slot) // its successor
	}
	return p
}

// stretch is a part of the input.
type stretch struct {
	first, last parser.Pos
	commands    int64
}

// add adds a batch of which so many commands were acknowledged.
func (s *stretch) add(b *Batch, commands int64) {
	if commands <= 0 {
		return
	}
	if s.commands == 0 {
		s.first = b.Pos(0)
	}
	s.last = b.Pos(b.Len() - 1)
	s.commands += commands
}

// fellOver notes that another process answers in place of a node: what that
// had acknowledged may be gone.
func (r *run) fellOver(n *node) {
	if n.acked.commands > 0 {
		r.rep.AtRisk = append(r.rep.AtRisk, Risk{n.addr, n.acked.first, n.acked.last, n.acked.commands})
	}
	n.acked = stretch{}
}

// replicated reports whether the servers have replicas that succeed them: then
// a load goes on with another process.
func (r *run) replicated() bool { return r.router.owners != nil || r.cfg.Master != nil }

// newRow begins a row of the report for the process that is n now.
func (r *run) newRow(n *node, s *Server) {
	n.describe()
	n.report, n.latencies = &NodeReport{Server: s}, newLatencies()
	r.rep.Nodes = append(r.rep.Nodes, n.report)
}

// describe completes the row of n.
func (n *node) describe() {
	if n.report != nil {
		n.report.DelayP50, n.report.DelayP99 = latencyAt(n.latencies, 50), latencyAt(n.latencies, 99)
	}
}

// opOf returns what is known of a command; of one that the table does not have,
// what the server tells.
func (r *run) opOf(c *parser.Command) *parser.Op {
	if !c.Op.Known() {
		c.Op = r.learned.find(strings.ToUpper(string(c.Args[0])), r.askForKeys)
	}
	return c.Op
}

// mostUnknown is how many commands the server is asked for in vain. A file that
// holds no commands has a new name in each line.
const mostUnknown = 100

// learned is what the server has told of commands that the table does not have.
type learned struct {
	ops     map[string]*parser.Op
	unknown int       // of these, that it does not know or may not tell
	control *greeting // the connection on which it is asked, or nil
}

// find returns what is known of a command, and asks the server where its keys
// stand if that is not known yet. Of one that the server does not know it is
// taken that it has no keys.
func (l *learned) find(name string, ask func(string) (parser.Value, error)) *parser.Op {
	if op := l.ops[name]; op != nil {
		return op
	}
	op := parser.Learned(name, 0, 0, 0)
	if l.unknown == mostUnknown {
		return op
	}
	if v, err := ask(name); err == nil && len(v.Elems) == 1 && len(v.Elems[0].Elems) >= 6 {
		var place [3]int // first, last, step
		for i := range place {
			place[i], _ = strconv.Atoi(string(v.Elems[0].Elems[3+i].Text))
		}
		op = parser.Learned(name, place[0], place[1], place[2])
	} else {
		l.unknown++
	}
	if l.ops == nil {
		l.ops = map[string]*parser.Op{}
	}
	l.ops[name] = op
	return op
}

func (r *run) askForKeys(name string) (v parser.Value, err error) {
	return r.learned.ask(r.ctx, r.cfg, r.nodes[0].addr, name)
}

// ask asks a server for a command on the control connection, which it makes if
// there is none, or if the one that there was has been closed for being idle.
func (l *learned) ask(ctx context.Context, cfg Config, addr, name string) (v parser.Value, err error) {
	for {
		used := l.control != nil
		if !used {
			if l.control, err = connect(ctx, cfg, addr); err != nil {
				return v, err
			}
		}
		if v, err = l.control.askWithin(ctx, "COMMAND", "INFO", name); err == nil {
			return v, nil
		}
		l.close() // its answer may still come
		if !used {
			return v, err
		}
	}
}

// close closes the control connection.
func (l *learned) close() {
	if l.control != nil {
		l.control.nc.Close()
		l.control = nil
	}
}
