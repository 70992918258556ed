package loader

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"

	"respipe/loader/cluster"
	"respipe/loader/engine"
)

// fetchTopology asks the nodes of a cluster, all at once, who has which slots.
func (s *shell) fetchTopology(addresses []string) {
	addresses = slices.Clone(addresses)
	ctx, cfg := s.ctx, *s.cfg
	cfg.CountKeys = false
	go func() {
		views, err := viewsOf(ctx, cfg, addresses)
		s.events.tell(func(s *shell) {
			if err != nil {
				s.connections.failed = err
			}
			if len(views) > 0 {
				s.connections.teller = views[0].Teller
			}
			s.handle(&engine.Event{Kind: engine.Topology, Views: views})
		}, func() {})
	}()
}

// viewsOf returns the views of the nodes that answer, and the error of one that
// does not.
func viewsOf(ctx context.Context, cfg Config, addresses []string) (views []cluster.View, failed error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, address := range addresses {
		all.Go(func() {
			v, err := viewOf(ctx, cfg, address)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			views = append(views, v)
		})
	}
	all.Wait()
	return views, failed
}

// viewOf asks one node. The error is a *ConnectError, or the cause of the
// context.
func viewOf(ctx context.Context, cfg Config, address string) (cluster.View, error) {
	view := cluster.View{Teller: address}
	g, err := connect(ctx, cfg, address)
	if err != nil {
		return view, err
	}
	defer g.nc.Close()
	v, err := g.askWithin(ctx, "CLUSTER", "SLOTS")
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return view, &ConnectError{Err: fmt.Errorf("%s does not tell the slots of its cluster: %w", address, err), Temporary: true}
	}
	for _, s := range v.Elems { // first slot, last slot, master, replicas: each host, port, ...
		if len(s.Elems) < 3 || len(s.Elems[2].Elems) < 2 {
			continue
		}
		master := s.Elems[2].Elems
		host, port := string(master[0].Text), string(master[1].Text)
		view.Ranges = append(view.Ranges, cluster.Range{
			First: int(number(string(s.Elems[0].Text))), Last: int(number(string(s.Elems[1].Text))),
			Address: cluster.Resolve(net.JoinHostPort(host, port), address),
		})
	}
	if len(view.Ranges) == 0 {
		return view, &ConnectError{Err: fmt.Errorf("the cluster of %s has no slots yet", address), Temporary: true}
	}
	return view, nil
}
