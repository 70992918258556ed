package loader

import (
	"context"
	"fmt"
	"time"
)

const askMasterEvery = time.Second

// watchMaster asks every second who is master now, until the context ends: a
// server whose place another one was given may go on taking commands for some
// seconds, all of which will be gone.
func (r *run) watchMaster(ctx context.Context) {
	ticker := time.NewTicker(askMasterEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if addr, err := r.cfg.Master(ctx); err == nil {
			r.mail.put(event{kind: named, addr: addr})
		}
	}
}

// masterNamed leaves connections to others than the master.
func (r *run) masterNamed(addr string) {
	for _, p := range r.pipes {
		if p.node.addr != addr && p.down == nil {
			p.conn.abort(fmt.Errorf("the sentinels name %s as the master now", addr))
		}
	}
}

// stillMaster looks, when all is answered, whether it was the master who did.
func (r *run) stillMaster() {
	if r.cfg.Master == nil || r.lost != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), max(r.cfg.ConnectTimeout, time.Second))
	defer cancel()
	addr, err := r.cfg.Master(ctx)
	for _, n := range r.nodes {
		if err == nil && n.addr != addr && n.wait == 0 {
			r.fellOver(n)
		}
	}
}
