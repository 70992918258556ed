package loader

import (
	"errors"
	"fmt"
	"slices"

	"respipe/parser"
)

// openCluster makes the pipelines to all masters of the cluster that the node
// at addr belongs to.
func (r *run) openCluster(addr string) error {
	t, err := r.readTopology(addr)
	if err != nil {
		return err
	}
	if err := r.adopt(t); err != nil {
		return err
	}
	masters := "masters"
	if len(t.masters) == 1 {
		masters = "master"
	}
	r.note(fmt.Sprintf("cluster of %d %s: loading into all of them", len(t.masters), masters))
	return nil
}

// adopt makes a topology the one of this load, and connects to masters that
// are new. Nodes that have no slots any more stay until prune.
func (r *run) adopt(t *topology) error {
	masters := make([]*node, len(t.masters))
	for i, addr := range t.masters {
		n, err := r.nodeAt(addr)
		if err != nil {
			return unreachable(err, addr, t.from)
		}
		masters[i] = n
	}
	owners := new(slotMap)
	for slot, i := range t.owner {
		if i > 0 {
			owners.set(slot, masters[i-1])
		}
	}
	r.router.owners = owners
	return nil
}

// unreachable adds to the error that a node could not be connected to where its
// address comes from.
func unreachable(err error, addr, from string) error {
	bad, ok := errors.AsType[*ConnectError](err)
	if !ok || addr == from {
		return err
	}
	return &ConnectError{
		Err:       fmt.Errorf("a node of the cluster cannot be reached at %s, the address that %s announces: %w", addr, from, bad.Err),
		Hint:      "--node-address " + addr + "=HOST:PORT tells where it can be reached from here",
		Temporary: bad.Temporary,
	}
}

// nodeAt returns the node with an address; to a new one it connects.
func (r *run) nodeAt(addr string) (*node, error) {
	for _, n := range r.nodes {
		if n.addr == addr {
			return n, nil
		}
	}
	n := &node{addr: addr}
	if err := r.fill(n); err != nil {
		return nil, err
	}
	r.nodes = append(r.nodes, n)
	return n, nil
}

// prune leaves nodes that have no slots any more. Nothing may be under way.
func (r *run) prune() {
	owners := r.router.owners
	if owners == nil {
		return
	}
	has := owners.holders()
	needed := func(p *pipeline) bool { return busy(p) || r.block.Open && p == r.blockPipe }
	drop := func(n *node) bool { return !has[n] && !slices.ContainsFunc(n.pipes, needed) }
	for _, p := range r.pipes {
		if drop(p.node) {
			p.node.describe()
			r.leave(p)
		}
	}
	r.pipes = slices.DeleteFunc(r.pipes, func(p *pipeline) bool { return drop(p.node) })
	r.nodes = slices.DeleteFunc(r.nodes, drop)
}

// busy reports whether p must not be left.
func busy(p *pipeline) bool {
	return p.batch != nil || p.unanswered > 0 || p.kept > 0 || p.redo || p.down != nil || p.sentOpen
}

// anyTopology asks the nodes of the cluster, but for one, until one tells.
func (r *run) anyTopology(but *node) (t *topology, err error) {
	for _, n := range r.nodes {
		if n != but {
			if t, err = r.readTopology(n.addr); err == nil {
				return t, nil
			}
		}
	}
	for _, addr := range r.cfg.Addrs {
		if t, err = r.readTopology(addr); err == nil {
			return t, nil
		}
	}
	return nil, err
}

// follow looks at the redirects among what was refused for now: where a slot
// has moved, the topology is read again. All says whether everything was
// redirected, so that a pause would serve nothing. The error says that a node
// cannot be reached, or does not know of its slots yet: what would be sent there
// now might be refused in part, and its order lost.
func (r *run) follow(work []*salvage) (all bool, err error) {
	all = true
	var moved []redirect
	for _, w := range work {
		for _, f := range w.all {
			for _, failure := range f.failures {
				d, ok := parseRedirect(failure.Text)
				switch {
				case failure.Warning || f.places[failure.I].flags&again == 0:
				case !ok:
					all = false
				case !d.ask:
					d.addr = announced(d.addr, w.p.node.addr)
					moved = append(moved, d)
				}
			}
		}
	}
	if len(moved) > 0 {
		err = r.moveSlots(moved)
	}
	return all, err
}

// redirects is what has been decided about the slots and keys of the units that
// are sent again in one go.
type redirects struct {
	waiting map[int]bool         // slots of which a unit waits until they have moved
	asked   map[string]*pipeline // keys that are with the node that imports their slot
}

func newRedirects() *redirects { return &redirects{map[int]bool{}, map[string]*pipeline{}} }

// importer returns the pipeline that a unit is sent to, and whether it must ask:
// a command that the owner of its slot has answered ASK goes to the node that
// imports the slot, unless one before it waits until all of the slot has moved.
// A later command on its key follows it there, so that it does not overtake it
// on the way to the owner; a transaction or a command of several keys cannot,
// as some may still lie with the owner, and makes the slot wait.
func (r *run) importer(u *unit, known *redirects) (to *pipeline, asks bool) {
	owner := r.targetOf(u)
	if r.router.owners == nil {
		return owner, false
	}
	if p := known.importerOf(u); p != nil {
		return p, true
	}
	d, ok := u.ask()
	if ok && !known.waiting[d.slot] && owner == u.w.p {
		if n, err := r.nodeAt(announced(d.addr, u.w.p.node.addr)); err == nil {
			p := n.pipeOf(d.slot)
			for _, key := range u.keys {
				known.asked[string(key)] = p
			}
			return p, true
		}
	}
	if u.fornow || len(u.parts) > 1 || len(u.keys) > 1 {
		for _, key := range u.keys {
			known.waiting[parser.Slot(key)] = true
		}
	}
	return owner, false
}

// importerOf returns where the one key of a command is that an earlier one has
// asked for; nil if none has, or if the slot is waited for.
func (known *redirects) importerOf(u *unit) *pipeline {
	if len(u.parts) != 1 || len(u.keys) != 1 || known.waiting[parser.Slot(u.keys[0])] {
		return nil
	}
	return known.asked[string(u.keys[0])]
}

// mostHops is how many nodes may say, one after the other, that the next one has
// a slot.
const mostHops = 5

// moveSlots brings the topology up to date after some slots have moved. Only
// what the new owner says itself counts.
func (r *run) moveSlots(moved []redirect) error {
	told, owners := map[string]*topology{}, map[int]string{}
	for _, d := range moved {
		addr, err := r.ownerOf(d, told)
		if err != nil {
			return err
		}
		owners[d.slot] = addr
	}
	for slot, addr := range owners { // what is read later may say less of others
		n, err := r.nodeAt(addr)
		if err != nil {
			return err
		}
		r.router.owners.set(slot, n)
	}
	return nil
}

// ownerOf asks the node that a redirect names who has the slot, and the one that
// this names, until one names itself. Told is what nodes have told already.
func (r *run) ownerOf(d redirect, told map[string]*topology) (addr string, err error) {
	addr = d.addr
	for range mostHops {
		t := told[addr]
		if t == nil {
			if t, err = r.readTopology(addr); err == nil {
				err = r.adopt(t)
			}
			if err != nil {
				return "", err
			}
			told[addr] = t
		}
		next := t.master(d.slot)
		if next == addr {
			return addr, nil
		}
		if next == "" {
			break
		}
		addr = next
	}
	return "", fmt.Errorf("the nodes do not agree on who has slot %d", d.slot)
}
