package loader

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"respipe/parser"
)

// connect dials addr and greets. A server that knows no HELLO, or hangs up on
// it, gets a second connection with AUTH and SELECT alone. The error is a
// *ConnectError, or the cause of ctx.
func connect(ctx context.Context, cfg Config, addr string) (*greeting, error) {
	within := ctx
	if cfg.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, cfg.ConnectTimeout)
		defer cancel()
	}
	g, err := login(within, cfg, addr)
	if err == nil {
		return g, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if bad, ok := errors.AsType[*ConnectError](err); ok {
		return nil, bad
	}
	if isTimeout(err) {
		err = fmt.Errorf("no answer within %v: %w", cfg.ConnectTimeout, err)
	}
	return nil, &ConnectError{Err: err, Temporary: true}
}

// login dials addr, or the master that the sentinels name, and greets.
func login(ctx context.Context, cfg Config, addr string) (*greeting, error) {
	if cfg.Master != nil {
		var err error
		if addr, err = cfg.Master(ctx); err != nil {
			return nil, err
		}
	}
	g, err := greet(ctx, cfg, addr, (*greeting).hello)
	if errors.Is(err, errNoHello) {
		g, err = greet(ctx, cfg, addr, (*greeting).auth)
	}
	if err == nil && cfg.Master != nil && g.info.Role == "replica" {
		g.nc.Close()
		return nil, &ConnectError{Err: fmt.Errorf("the sentinels name %s, which is a replica", addr), Temporary: true}
	}
	return g, err
}

// connectFirst makes the connection that a load begins with, to the first
// address that answers. With WaitReady it waits for a server that is not up or
// not ready, and says once what for.
func (r *run) connectFirst() (*greeting, error) {
	return r.beginWith(r.connectAny)
}

// beginWith begins with the first connection that try makes.
func (r *run) beginWith(try func() (*greeting, error)) (*greeting, error) {
	said := false
	return r.connectWithin(r.cfg.WaitReady, try, func(err error) {
		if !said {
			r.note(fmt.Sprintf("waiting up to %v for the server: %v", r.cfg.WaitReady, err))
			said = true
		}
	})
}

// connectAny connects to the first address that answers; the error is that of
// the first.
func (r *run) connectAny() (g *greeting, first error) {
	for _, addr := range r.cfg.Addrs {
		g, err := connect(r.ctx, r.cfg, addr)
		if err == nil {
			return g, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// connectWithin tries until it succeeds, something is wrong that waiting does
// not mend, or the time is over.
func (r *run) connectWithin(limit time.Duration, try func() (*greeting, error), failed func(error)) (*greeting, error) {
	begun := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, longPause/2) {
		g, err := try()
		if err == nil {
			return g, nil
		}
		bad, ok := errors.AsType[*ConnectError](err)
		left := limit - time.Since(begun)
		if !ok || !bad.Temporary || left <= 0 {
			return nil, err
		}
		failed(err)
		select {
		case <-time.After(min(pause, left)):
		case <-r.ctx.Done():
			return nil, context.Cause(r.ctx)
		}
	}
}

// connectAgain makes a connection in place of the lost one of p.
func (r *run) connectAgain(p *pipeline) (*greeting, error) {
	g, err := r.connectWithin(max(r.cfg.RetryFor, time.Millisecond), func() (*greeting, error) { return r.rejoin(p) }, func(error) {})
	if err != nil && r.ctx.Err() != nil {
		r.interrupt()
	}
	return g, err
}

// rejoin tries once to make a connection in place of the lost one of p. In a
// cluster another node may have succeeded that of p: then there is none, and
// the topology is the new one.
func (r *run) rejoin(p *pipeline) (*greeting, error) {
	g, err := r.replace(p)
	if r.router.owners == nil || err == nil && g.info.Role != "replica" {
		return g, err
	}
	if err == nil {
		g.nc.Close()
		err = &ConnectError{Err: errors.New(p.node.addr + " is a replica now"), Temporary: true}
	}
	t, unknown := r.anyTopology(p.node)
	if unknown != nil || t.has(p.node.addr) {
		return nil, err
	}
	return nil, r.adopt(t)
}

// replace tries once to make a connection to the same server process, unless
// Resend goes on with any. It ends the old connection there, so that nothing of
// it still runs, and brings the new one into the state that the old one was in.
func (r *run) replace(p *pipeline) (*greeting, error) {
	g, err := connect(r.ctx, r.cfg, p.node.addr)
	if err != nil {
		return nil, err
	}
	err = r.sameProcess(g, p.node.server)
	if err == nil {
		err = r.restore(g, p)
	}
	if err != nil {
		g.nc.Close()
		if _, ok := errors.AsType[*ConnectError](err); !ok { // this connection broke, too
			err = &ConnectError{Err: g.explain(err), Temporary: true}
		}
		return nil, err
	}
	return g, nil
}

// sameProcess returns an error if another process answers than before.
func (r *run) sameProcess(g *greeting, old *Server) error {
	var err error
	switch {
	case g.info.RunID == "" || old.RunID == "":
		err = errors.New("whether the same server process answers cannot be told, as INFO is forbidden")
	case g.info.RunID != old.RunID:
		r.rep.Restarted = true
		err = errors.New("the server that answers now is another process: what was acknowledged may be gone")
	default:
		return nil
	}
	if r.replicated() && g.info.RunID != "" && old.RunID != "" {
		r.rep.Restarted = false
		return nil // what that means is in the report
	}
	if r.cfg.OnDisconnect == Resume {
		return &ConnectError{Err: err}
	}
	r.note("warning: " + err.Error())
	return nil
}

// restore ends the old connection of p and does on the new one what was done
// there.
func (r *run) restore(g *greeting, p *pipeline) error {
	if r.cfg.ConnectTimeout > 0 {
		g.nc.SetDeadline(time.Now().Add(r.cfg.ConnectTimeout))
		defer g.nc.SetDeadline(time.Time{})
	}
	if p.node.server.RunID == g.info.RunID {
		if err := r.endOld(g, p); err != nil {
			return err
		}
	}
	if err := r.bringUp(g); err != nil {
		return err
	}
	for _, watch := range p.conn.block.watch {
		if err := g.must("WATCH", watch); err != nil {
			return err
		}
	}
	return nil
}

// bringUp does on a new connection what has changed the others since the load
// began.
func (r *run) bringUp(g *greeting) error {
	for _, s := range r.state {
		if err := g.must(s.op.Name, s.resp); err != nil {
			return err
		}
	}
	if r.db == r.cfg.DB {
		return nil
	}
	words := [][]byte{[]byte("SELECT"), []byte(strconv.Itoa(r.db))}
	return g.must("SELECT", parser.AppendCommand(nil, words))
}

// connectTo tries once to make one more connection to a node.
func (r *run) connectTo(addr string) (*greeting, error) {
	g, err := connect(r.ctx, r.cfg, addr)
	if err != nil {
		return nil, err
	}
	if err = r.bringUpWithin(g); err == nil {
		return g, nil
	}
	g.nc.Close()
	return nil, err
}

// bringUpWithin is bringUp on a connection of which nothing bounds the time.
func (r *run) bringUpWithin(g *greeting) error {
	return g.within(r.ctx, func() error { return r.bringUp(g) })
}

// must does a command without which the new connection is of no use.
func (g *greeting) must(name string, command []byte) error {
	v, err := g.exchange(command)
	if err == nil && v.Kind == '-' {
		err = notReady(v, fmt.Errorf("%s cannot be done on the new connection: %s", name, v.Text))
	}
	return err
}

// endOld ends the old connection on the server: a proxy may have kept it, and
// what it still holds would run behind what is sent now.
func (r *run) endOld(g *greeting, p *pipeline) error {
	if p.id == 0 {
		return nil
	}
	v, err := g.ask("CLIENT", "KILL", "ID", strconv.FormatInt(p.id, 10))
	if err != nil {
		return err
	}
	if v.Kind == '-' {
		r.rep.OrderUnsure = true
		r.note(fmt.Sprintf("warning: the old connection could not be ended (%s): that the order was kept cannot be vouched for", v.Text))
	}
	return nil
}
