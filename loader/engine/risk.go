package engine

import (
	"slices"

	"respipe/loader/batch"
	"respipe/loader/cluster"
)

// Range is a part of the input.
type Range struct {
	First, Last batch.Position
	Replies     int64 // to its commands
}

// add extends the range by the entries first to last of a batch, but for commands
// of our own, which may stand anywhere.
func (r *Range) add(b *batch.Batch, first, last int) {
	if !b.Mixed {
		r.extend(b, first, last)
		return
	}
	for i := first; i <= last; i++ {
		if b.Entries[i].Flags&batch.Own == 0 {
			r.extend(b, i, i)
		}
	}
}

func (r *Range) extend(b *batch.Batch, first, last int) {
	from, to := b.Position(first), b.Position(last)
	if r.Replies == 0 || from.Record < r.First.Record {
		r.First = from
	}
	if r.Replies == 0 || to.Record > r.Last.Record {
		r.Last = to
	}
	r.Replies += int64(last - first + 1)
}

// Risk is a part of the input that a server has answered and may have lost.
type Risk struct {
	Address string
	Range   Range
}

// risk knows what servers may have lost: what a process has answered, when
// another one answers in its place.
type risk struct {
	e      *Engine
	found  []Risk
	unsure bool // a lost connection could not be ended on its server
}

// restarted notes which process answers at a node. It reports whether the load
// must stop, as that is another one than before. Where the process is not known
// the plan has decided: nothing that must not run twice was in flight.
func (r *risk) restarted(n *node, process string) bool {
	if process == "" {
		return false // the next one that is known is compared with the last
	}
	before := n.process
	n.process = process
	if before == "" || before == process || n.answered.Replies == 0 {
		return false
	}
	r.add(n)
	return r.e.cfg.OnDisconnect != Resend && !r.e.cfg.Failover
}

// failedOver looks for nodes whose slots other nodes have now, and to which a
// connection was lost: they have not given their slots away, they were replaced.
// One that gives all of them away after a loss looks the same, and is taken for
// replaced, too; the node that comes back after it was cut off does. The load
// continues and says in the end what may be gone.
func (r *risk) failedOver(next []cluster.Range) {
	for _, n := range r.e.pool.nodes {
		gone := !slices.ContainsFunc(next, func(rg cluster.Range) bool { return rg.Address == n.address })
		if gone && n.lost && !n.away && n.answered.Replies > 0 {
			r.add(n)
		}
	}
}

// add notes what a node has answered as at risk.
func (r *risk) add(n *node) {
	r.found = append(r.found, Risk{n.address, n.answered})
	n.answered = Range{}
}

// answered returns what the present process of each node has answered.
func (r *risk) answered() (all []Risk) {
	for _, n := range r.e.pool.nodes {
		if n.answered.Replies > 0 {
			all = append(all, Risk{n.address, n.answered})
		}
	}
	return all
}

// row is a row of persistent errors of one node, without another reply between
// them.
type row struct {
	count int
	first place
}

// note notes a reply that is a persistent error.
func (r *row) note(p place) {
	if r.count == 0 || p.Record < r.first.Record {
		r.first = p
	}
	r.count++
}

// rejecting returns the node that answers every command with a persistent
// error, nil if there is none.
func (p *pool) rejecting() *node {
	for _, n := range p.nodes {
		if limit := p.e.cfg.PersistentErrors; limit > 0 && n.row.count >= limit {
			return n
		}
	}
	return nil
}
