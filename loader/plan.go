package loader

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"respipe/parser"
)

// A flight is what was handed over and is not settled. When something of it
// must be sent again, because an answer was not final or because the
// connection broke, the plan says what else must be, so that commands on one
// key still take effect in the order of the input. It is the one place where
// this is decided, for all connections at once: when slots have moved, commands
// on one key lie in the flights of two nodes.
//
// Sent again is what was refused for now, what was never answered, and every
// later command that shares a key with one of these. Of the later ones some
// have run: where such a one is not repeatable, the command that was refused
// for now stays refused. What was never answered is sent again though it may
// have run, so it must be repeatable, too.
type plan struct {
	units    []*unit
	unsure   []*unit // not repeatable, and may have run
	gone     bool    // bytes that would have to be sent again are not kept
	anything bool
}

// unit is what is sent again as a whole: a command, or a block from its MULTI
// to its EXEC.
type unit struct {
	w          *salvage // whose flight it is from
	parts      []part
	fate       fate // of a block: of its EXEC
	open       bool // a block without its end
	failed     bool // answered with an error
	fornow     bool // and that was not final
	final      bool // a part was refused for good: the block will never run
	repeatable bool
	keys       [][]byte
	everything bool // touches keys that cannot be told, or all

	why   string // a part that was refused for now stays refused
	send  bool
	rerun bool // a later unit has used one of its keys
}

type part struct {
	b        *Batch
	i        int
	answered bool
}

// newPlan looks at flights. Its units are in the order of the input, but for a
// transaction without its end, which is the last.
func newPlan(work ...*salvage) *plan {
	p := &plan{}
	for _, w := range work {
		p.collect(w)
	}
	slices.SortStableFunc(p.units, (*unit).compare)
	p.keepRefused()
	p.choose()
	p.foresee()
	for _, u := range p.units {
		if !u.send {
			continue
		}
		p.anything = true
		p.gone = p.gone || u.parts[0].b.resp == nil
		if u.fate == unknown && !u.repeatable {
			p.unsure = append(p.unsure, u)
		}
	}
	return p
}

// first returns the number of the first record that is sent again, 0 for none.
func (p *plan) first() int64 {
	for _, u := range p.units {
		if u.send {
			return u.parts[0].b.N(u.parts[0].i)
		}
	}
	return 0
}

// compare is negative if u stands before v.
func (u *unit) compare(v *unit) int {
	if u.open != v.open {
		if u.open {
			return 1
		}
		return -1
	}
	a, b := u.parts[0], v.parts[0]
	return cmp.Or(cmp.Compare(a.b.N(a.i), b.b.N(b.i)), cmp.Compare(a.b.places[a.i].index, b.b.places[b.i].index))
}

// collect makes the units of a flight.
func (p *plan) collect(w *salvage) {
	var ops parser.Ops
	var open *unit
	first := len(p.units)
	for _, f := range w.all {
		failed := failedPlaces(f.Batch)
		for i := range f.places {
			flags, class := f.places[i].flags, f.places[i].class
			ends := f.places[i].endsBlock()
			if flags&(refused|moved) != 0 || flags&own != 0 && !ends {
				continue
			}
			u := open
			if u == nil {
				u = &unit{w: w, repeatable: true}
				p.units = append(p.units, u)
			}
			u.take(part{f.Batch, i, i < f.got}, failed[i], &ops)
			u.fate = fateOf(i < f.got, f.start+int64(f.places[i].end) <= w.written)
			switch {
			case open == nil && class == parser.Multi && !failed[i]:
				open, u.open = u, true
			case class == parser.Discard, ends:
				if u.fate == unknown {
					u.fate = notSent // nothing runs, whatever became of it
				}
				open, u.open = nil, false
			case class == parser.Exec:
				open, u.open = nil, false
			}
		}
	}
	if open != nil {
		open.fate = notSent // without its end it did not run
	}
	for _, u := range p.units[first:] {
		if w.lossy && u.fate == gotReply && !u.failed {
			u.fate = unknown
		}
		switch {
		case u.parts[0].b.resp == nil:
			u.stays("a block longer than half the window is not kept")
		case u.final:
			u.stays("its block was refused for another reason, too")
		case u.halfBlock():
			u.stays("it is only a part of a block")
		}
	}
}

// stays makes the unit stay refused.
func (u *unit) stays(why string) {
	if u.fornow {
		u.fornow, u.why = false, why
	}
}

// halfBlock reports whether the unit is the MULTI or the EXEC of what is no
// block: alone it must not be sent again.
func (u *unit) halfBlock() bool {
	class := u.parts[0].b.places[u.parts[0].i].class
	return len(u.parts) == 1 && (class == parser.Multi || class == parser.Exec)
}

// take adds a command to the unit.
func (u *unit) take(p part, failed bool, ops *parser.Ops) {
	u.parts = append(u.parts, p)
	b, place := p.b, &p.b.places[p.i]
	isEnd := place.class == parser.Exec || place.class == parser.Discard
	u.failed = u.failed || failed
	u.fornow = u.fornow || place.flags&again != 0
	u.final = u.final || failed && place.flags&again == 0 && !isEnd
	if b.resp == nil || place.flags&own != 0 {
		return
	}
	args := parser.ParseRequest(b.bytesOf(p.i), nil)
	op := ops.Find(args)
	switch op.Class {
	case parser.Multi, parser.Exec, parser.Discard, parser.Unwatch:
		return
	case parser.Watch, parser.State:
	default:
		u.repeatable = u.repeatable && (op.Repeatable(args) || failed && op.Known() && !op.Unsafe)
	}
	before := len(u.keys)
	u.keys = op.AppendKeys(u.keys, args)
	u.everything = u.everything || len(u.keys) == before && !op.LeavesKeys()
}

// failedPlaces returns the places of b that the server answered with an error.
func failedPlaces(b *Batch) map[int]bool {
	failed := make(map[int]bool, len(b.failures))
	for _, f := range b.failures {
		if !f.Warning && !f.Ours {
			failed[f.I] = true
		}
	}
	return failed
}

// keySet is a set of keys that may be all of them.
type keySet struct {
	keys map[string]struct{}
	some bool // not empty
	all  bool
}

func (s *keySet) add(u *unit) {
	s.some = true
	s.all = s.all || u.everything
	if s.keys == nil {
		s.keys = make(map[string]struct{})
	}
	for _, key := range u.keys {
		s.keys[string(key)] = struct{}{}
	}
}

func (s *keySet) touches(u *unit) bool {
	if !s.some || s.all || u.everything {
		return s.some
	}
	for _, key := range u.keys {
		if _, ok := s.keys[string(key)]; ok {
			return true
		}
	}
	return false
}

// keepRefused goes from the last unit to the first and finds those that were
// refused for now and must stay so: behind each of them one has run that would
// have to run twice.
func (p *plan) keepRefused() {
	var once keySet
	for i := len(p.units) - 1; i >= 0; i-- {
		u := p.units[i]
		twice := once.touches(u)
		switch {
		case u.fate != gotReply:
		case u.fornow:
			if twice {
				u.stays("a later command on its key has run and cannot run twice")
			}
		case twice || !u.repeatable:
			once.add(u)
		}
	}
}

// choose goes from the first unit to the last and takes what must be sent.
func (p *plan) choose() {
	var sent keySet
	for _, u := range p.units {
		u.send = u.fate != gotReply || u.fornow || sent.touches(u)
		if u.send {
			sent.add(u)
		}
	}
}

// foresee finds the units whose keys a later one has written already, or may
// have: that they are of another type now is no error.
func (p *plan) foresee() {
	var written keySet
	for i := len(p.units) - 1; i >= 0; i-- {
		u := p.units[i]
		u.rerun = u.send && written.touches(u)
		if u.fate == unknown || u.fate == gotReply && !u.failed {
			written.add(u)
		}
	}
}

// explain adds to the words of a command that stays refused why it does.
func (u *unit) explain() {
	for _, part := range u.parts {
		if u.why == "" || part.b.places[part.i].flags&again == 0 {
			continue
		}
		for j := range part.b.failures {
			if f := &part.b.failures[j]; f.I == part.i && !f.Warning {
				f.Text = fmt.Appendf(nil, "%s (not sent again: %s)", f.Text, u.why)
			}
		}
	}
}

// ask returns the redirect of a command that another node takes once; of a
// block, none: it waits until its slot has moved.
func (u *unit) ask() (d redirect, ok bool) {
	if len(u.parts) != 1 || !u.fornow {
		return d, false
	}
	part := u.parts[0]
	for _, f := range part.b.failures {
		if f.I == part.i && !f.Warning {
			d, ok = parseRedirect(f.Text)
		}
	}
	return d, ok && d.ask
}

// commandsOfLost counts what is sent again of lost connections.
func (p *plan) commandsOfLost() (n int) {
	for _, u := range p.units {
		if u.send && u.w.lost {
			n += len(u.parts)
		}
	}
	return n
}

var temporaryWords = [][]byte{
	[]byte("LOADING"), []byte("BUSY"), []byte("TRYAGAIN"), []byte("CLUSTERDOWN"), []byte("MASTERDOWN"),
	[]byte("MOVED"), []byte("ASK"),
}

// isTemporary reports whether an error reply says that the command was not
// executed and may be later. An EXEC quotes what kept it from running.
func isTemporary(text []byte) bool {
	if _, why, ok := bytes.Cut(text, []byte("because of: ")); ok && bytes.HasPrefix(text, []byte("EXECABORT ")) {
		text = why
	}
	word, _, _ := bytes.Cut(text, []byte(" "))
	for _, w := range temporaryWords {
		if bytes.Equal(word, w) {
			return true
		}
	}
	return false
}

func isWrongType(text []byte) bool { return bytes.HasPrefix(text, []byte("WRONGTYPE ")) }
