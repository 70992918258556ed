package loader

import (
	"strconv"
	"strings"

	"respipe/parser"
)

// node is a server process and the pipelines to it.
type node struct {
	addr   string
	server *Server // as the last connection was greeted
	pipes  []*pipeline
}

// open makes the pipelines of a load, the first of them with the connection
// that was made to find out who answers.
func (r *run) open(g *greeting) error {
	n := &node{addr: g.addr}
	r.nodes = []*node{n}
	r.pipe(n, g)
	if err := r.fill(n); err != nil {
		return err
	}
	r.rep.Server = &g.info
	return nil
}

// pipe adds a pipeline to n.
func (r *run) pipe(n *node, g *greeting) {
	p := &pipeline{node: n}
	n.pipes = append(n.pipes, p)
	r.pipes = append(r.pipes, p)
	r.attach(p, g)
}

// fill makes the connections to n that are missing.
func (r *run) fill(n *node) error {
	for len(n.pipes) < max(r.cfg.Connections, 1) {
		g, err := connect(r.ctx, r.cfg, n.addr)
		if err != nil {
			return err
		}
		if err := r.bringUp(g); err != nil {
			g.nc.Close()
			return err
		}
		r.pipe(n, g)
	}
	return nil
}

// targetOf returns the pipeline for a unit that p had.
func (r *run) targetOf(p *pipeline, u *unit) *pipeline {
	if len(u.keys) > 0 {
		return r.pipeOf(parser.Slot(u.keys[0]))
	}
	return p
}

// opOf returns what is known of a command; of one that the table does not have,
// what the server tells.
func (r *run) opOf(c *parser.Command) *parser.Op {
	if c.Op.Known() {
		return c.Op
	}
	name := strings.ToUpper(string(c.Args[0]))
	op := r.learned[name]
	if op == nil {
		op = r.learn(name)
		if r.learned == nil {
			r.learned = map[string]*parser.Op{}
		}
		r.learned[name] = op
	}
	c.Op = op
	return op
}

// learn asks the server where the keys of a command stand, on a connection of
// its own. Of one that it does not know, or may not tell, it is taken that it
// has none.
func (r *run) learn(name string) *parser.Op {
	op := parser.Learned(name, 0, 0, 0)
	g, err := connect(r.ctx, r.cfg, r.nodes[0].addr)
	if err != nil {
		return op
	}
	defer g.nc.Close()
	v, err := g.ask("COMMAND", "INFO", name)
	if err != nil || len(v.Elems) != 1 || len(v.Elems[0].Elems) < 6 {
		return op
	}
	var place [3]int // first, last, step
	for i := range place {
		place[i], _ = strconv.Atoi(string(v.Elems[0].Elems[3+i].Text))
	}
	return parser.Learned(name, place[0], place[1], place[2])
}
