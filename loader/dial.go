package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"respipe/loader/engine"
	"respipe/loader/wire"
	"respipe/loader/wire/reply"
	"respipe/parser"
)

// fence names a lost connection that must be ended on its server before
// anything is sent again.
type fence struct {
	client int64 // its id there
	server *Server
}

// order is a connection that the engine asks for.
type order struct {
	id      engine.ConnID
	address string
	fences  []fence
	session [][]byte // commands that restore the session state
}

// dial makes a connection, in another goroutine unless it is the first one of
// the load.
func (l *connections) dial(a *engine.Action) {
	o := order{id: a.Conn, address: a.Address, session: a.Session}
	for _, id := range a.Fence {
		if k := l.all[id.Place-1]; k != nil && k.id == id {
			o.fences = append(o.fences, fence{k.client, k.node.server})
		}
	}
	if g := l.spare; g != nil && g.addr == a.Address {
		l.spare = nil
		go l.s.events.tell(func(*shell) { l.connected(o, g, true) }, func() { g.nc.Close() })
		return
	}
	ctx, cfg := l.s.ctx, l.s.dialConfig()
	go func() {
		g, fenced, err := o.connect(ctx, cfg)
		l.s.events.tell(func(s *shell) {
			if err != nil {
				s.connections.failedToDial(o, err)
				return
			}
			s.connections.connected(o, g, fenced)
		}, func() {
			if g != nil {
				g.nc.Close()
			}
		})
	}()
}

// connect makes the connection, ends the lost ones on the server and restores
// the session state. Fenced says that none of the lost ones can still run.
func (o *order) connect(ctx context.Context, cfg Config) (g *greeting, fenced bool, err error) {
	if g, err = connect(ctx, cfg, o.address); err != nil {
		return nil, false, err
	}
	err = g.within(ctx, func() error {
		if fenced, err = o.fence(g); err != nil {
			return err
		}
		for _, command := range o.session {
			if err := g.must(string(parser.ParseRequest(command, nil)[0]), command); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		g.nc.Close()
		return nil, false, err
	}
	return g, fenced, nil
}

// fence ends lost connections on the server: a proxy may have kept them, and what
// they still hold would run behind what is sent now. A server that was started
// again has ended them.
func (o *order) fence(g *greeting) (fenced bool, err error) {
	fenced = true
	for _, f := range o.fences {
		if f.client == 0 || g.info.RunID != f.server.RunID {
			continue
		}
		v, err := g.ask("CLIENT", "KILL", "ID", strconv.FormatInt(f.client, 10))
		if err != nil {
			return false, err
		}
		fenced = fenced && v.Kind != '-'
	}
	return fenced, nil
}

// failedToDial tells the engine that a connection could not be made.
func (l *connections) failedToDial(o order, err error) {
	if l.s.tally.cluster && !slices.Contains(l.s.cfg.Addrs, o.address) {
		err = unreachable(err, o.address, l.teller)
	}
	l.failed = err
	bad, ok := errors.AsType[*ConnectError](err)
	l.s.handle(&engine.Event{Kind: engine.DialFailed, Conn: o.id, Permanent: ok && !bad.Temporary && l.s.ctx.Err() == nil})
}

// connected gives the engine a connection.
func (l *connections) connected(o order, g *greeting, fenced bool) {
	if l.s.tally.cluster && g.info.Role == "replica" {
		g.nc.Close()
		l.failedToDial(o, &ConnectError{Err: errors.New(g.addr + " is a replica now"), Temporary: true})
		return
	}
	n := l.node(o.address, g)
	k := &connection{id: o.id, node: n, client: g.info.ID}
	k.conn = wire.New(g.nc, l.s.events.waker, wire.Options{
		Lazy: l.s.cfg.Window == WindowMax, Keep: keepOf(l.s.cfg), KeepBytes: int(l.s.cfg.WindowBytes),
	})
	for len(l.all) < int(o.id.Place) {
		l.all = append(l.all, nil)
	}
	if l.all[o.id.Place-1] != nil {
		l.again++
	}
	l.all[o.id.Place-1] = k
	l.s.tally.several = l.s.tally.cluster || len(l.all) > 1
	if !fenced {
		l.s.note("warning: the old connection could not be ended: that the order was kept cannot be vouched for")
	}
	l.s.handle(&engine.Event{Kind: engine.Connected, Conn: o.id, Process: g.info.RunID, Fenced: fenced})
}

// keepOf returns how many bytes of each reply are kept.
func keepOf(cfg *Config) int {
	if cfg.KeepReplies == KeepAll {
		return reply.KeepAll
	}
	return cfg.KeepReplies
}

// node returns the server at an address, which has answered.
func (l *connections) node(address string, g *greeting) *serverNode {
	for _, n := range l.nodes {
		if n.address == address {
			if n.server.RunID != g.info.RunID && n.server.RunID != "" && g.info.RunID != "" {
				l.restarted(n, g)
			}
			n.server, n.dialled = &g.info, g.addr
			return n
		}
	}
	n := &serverNode{address: address, dialled: g.addr, server: &g.info, latency: newLatencies()}
	n.report = &NodeReport{Server: &g.info}
	l.nodes = append(l.nodes, n)
	l.s.rep.Nodes = append(l.s.rep.Nodes, n.report)
	return n
}

// restarted notes that another process answers at a node than before: with
// sentinels it has its own row in the report.
func (l *connections) restarted(n *serverNode, g *greeting) {
	if !l.s.replicated() {
		l.s.rep.Restarted = true
		if l.s.cfg.OnDisconnect == Resend {
			l.s.note("warning: " + anotherProcess)
		}
		return
	}
	if n.report.Replies > 0 {
		l.former = append(l.former, n.dialled)
	}
	n.report = &NodeReport{Server: &g.info}
	l.s.rep.Nodes = append(l.s.rep.Nodes, n.report)
}

const anotherProcess = "the server that answers now is another process: what was acknowledged may be gone"

// probe asks the server of a connection on another one whether it answers.
func (l *connections) probe(id engine.ConnID) {
	k := l.find(id)
	if k == nil {
		return
	}
	ctx, cfg, addr := l.s.ctx, *l.s.cfg, k.node.dialled
	go func() {
		err := answers(ctx, cfg, addr)
		l.s.events.tell(func(s *shell) { s.connections.probed(id, err == nil) }, func() {})
	}()
}

// probed tells the engine what became of a probe.
func (l *connections) probed(id engine.ConnID, alive bool) {
	k := l.find(id)
	if k == nil {
		return
	}
	if k.busy = alive; alive {
		timeout := l.s.cfg.Timeout
		l.s.note(fmt.Sprintf("no reply for %v, but the server answers PING: it is busy, and has %v", timeout, patience*timeout))
	}
	l.s.handle(&engine.Event{Kind: engine.Probed, Conn: id, Alive: alive})
}

// masterIs takes what the sentinels name as the master: connections to other
// servers are given up. A server whose place another one was given may take
// commands for some seconds, all of which will be gone.
func (l *connections) masterIs(addr string) {
	for _, k := range l.all {
		if k != nil && k.conn != nil && k.node.dialled != addr {
			l.lose(k, fmt.Errorf("the sentinels name %s as the master now", addr))
		}
	}
}

// watchMaster asks every second who the master is, until the context ends.
func (s *shell) watchMaster(ctx context.Context) {
	ticker := time.NewTicker(askMasterEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if addr, err := s.cfg.Master(ctx); err == nil {
			s.events.tell(func(s *shell) { s.connections.masterIs(addr) }, func() {})
		}
	}
}

// replicated reports whether another process in the place of a server is what a
// failover leaves.
func (s *shell) replicated() bool { return s.cfg.Master != nil || s.tally.cluster }
