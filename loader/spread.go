package loader

import (
	"bytes"
	"fmt"

	"respipe/parser"
)

// router spreads commands over several pipelines by the slots of their keys.
// Commands on one key always go to the same one, which keeps their order.
type router struct {
	owners *slotMap // of a cluster; nil: one server has all slots
	keys   [][]byte // of the command at hand

	// Of the block that is open, or of the WATCH before it.
	pinned bool // it is known where it goes: to where slot is
	bad    int  // line of a WATCH that was refused, or 0
	slot   int
	mixed  bool // it has keys of other pipelines, too

	withheld []withheld // its commands, while that is not known
	size     int        // of these in bytes
}

// withheld is a command that waits for the first key of its block.
type withheld struct {
	mark  parser.Mark
	pos   parser.Pos
	class parser.Class
	resp  []byte // nil when it has gone
	origin
}

func (t *router) unpin() { t.pinned, t.bad, t.mixed, t.withheld, t.size = false, 0, false, nil, 0 }

// spread takes a command on where there are several pipelines.
func (r *run) spread(c *parser.Command) error {
	t := &r.router
	t.keys = r.opOf(c).AppendKeys(t.keys[:0], c.Args)
	switch {
	case r.block.Open:
		return r.spreadInBlock(c)
	case c.Op.Class == parser.Multi && len(c.Args) == 1:
		return r.openBlock(c)
	case c.Op.Class == parser.Watch && len(t.keys) > 0:
		return r.watch(c)
	case c.Op.Class == parser.Unwatch && t.pinned:
		slot := t.slot
		t.unpin()
		return r.take(slot, c)
	case c.Op.Class == parser.State:
		return r.takeEverywhere(c, r.allPipes)
	case len(t.keys) == 0:
		return r.takeKeyless(c)
	}
	slot := parser.Slot(t.keys[0])
	if other := r.otherKey(slot, t.keys[1:]); other != nil {
		return r.takeWide(c, other)
	}
	return r.take(slot, c)
}

// otherKey returns the first one of keys that is not where slot is: in a
// cluster one with another slot, else with another connection.
func (r *run) otherKey(slot int, keys [][]byte) []byte {
	for _, key := range keys {
		if other := parser.Slot(key); other != slot && (r.router.owners != nil || r.pipeOf(other) != r.pipeOf(slot)) {
			return key
		}
	}
	return nil
}

// takeKeyless takes on a command without keys, which is a barrier.
func (r *run) takeKeyless(c *parser.Command) error {
	if c.Op.Everywhere && len(r.nodes) > 1 {
		return r.takeEverywhere(c, r.masters)
	}
	return r.takeAlone(anywhere, c)
}

// takeAlone takes a command on when all before it is answered, and waits for
// its answer.
func (r *run) takeAlone(slot int, c *parser.Command) error {
	if err := r.settleAll(); err != nil {
		return err
	}
	if err := r.take(slot, c); err != nil {
		return err
	}
	return r.settleAll()
}

// settleAll waits until all that was taken on is answered for good.
func (r *run) settleAll() error {
	if err := r.flush(); err != nil {
		return err
	}
	return r.quiesce()
}

// takeWide takes on a command whose keys, of which other is one, do not all lie
// in one place.
func (r *run) takeWide(c *parser.Command, other []byte) error {
	first := r.router.keys[0]
	switch {
	case r.router.owners == nil:
		return r.takeAlone(parser.Slot(first), c)
	case c.Op.Splits:
		return r.takeSplit(c)
	}
	return r.refuseAt(c.N, c.Pos, differentSlots(first, other), originOf(c, 0))
}

// differentSlots says why a command cannot be sent to a cluster.
func differentSlots(a, b []byte) string {
	return fmt.Sprintf("keys of different slots in one command: %s (slot %d) and %s (slot %d)",
		quoteKey(a), parser.Slot(a), quoteKey(b), parser.Slot(b))
}

// otherSlot says why a command cannot stand in a transaction of a cluster.
func otherSlot(of string, key []byte, slot int) string {
	return fmt.Sprintf("key of another slot than the first one of %s: %s (slot %d, not %d)", of, quoteKey(key), parser.Slot(key), slot)
}

// quoteKey shows a key in a message.
func quoteKey(key []byte) string {
	if len(key) > 60 {
		return fmt.Sprintf("%q...", key[:60])
	}
	return fmt.Sprintf("%q", key)
}

// watch takes on a WATCH. The block behind it goes where the watched keys are.
func (r *run) watch(c *parser.Command) error {
	t := &r.router
	first := t.keys[0]
	if !t.pinned {
		t.pinned, t.slot = true, parser.Slot(first)
	}
	if other := r.otherKey(t.slot, t.keys); other != nil {
		if t.owners != nil {
			t.bad = c.Pos.Line
			return r.refuseAt(c.N, c.Pos, fmt.Sprintf("key of another slot than the first one of what is watched: %s (slot %d, not %d)",
				quoteKey(other), parser.Slot(other), t.slot), originOf(c, 0))
		}
		if err := r.mix(); err != nil {
			return err
		}
	}
	return r.take(t.slot, c)
}

// mix is called before a block touches a key of another connection of its
// server: what is under way there must be answered, and what follows the block
// waits for its end.
func (r *run) mix() error {
	r.router.mixed = true
	return r.settleAll()
}

// openBlock takes on a MULTI. It is held back until a key tells where to.
func (r *run) openBlock(c *parser.Command) error {
	if t := &r.router; t.pinned {
		err := r.take(t.slot, c)
		if t.bad > 0 {
			r.block.Spoil(t.bad)
		}
		return err
	}
	r.takeNote(c)
	r.blockPipe = nil
	r.withhold(c)
	return nil
}

// withhold keeps a command of a block of which it is not known where it goes.
func (r *run) withhold(c *parser.Command) {
	t := &r.router
	resp := parser.AppendCommand(nil, c.Args)
	s := originOf(c, r.openedBy())
	s.text = bytes.Clone(s.text)
	t.withheld = append(t.withheld, withheld{r.markHere(nil), c.Pos, c.Op.Class, resp, s})
	t.size += len(resp) + s.size()
	r.taken(c.Last)
}

// spreadInBlock takes on a command of the block that is open.
func (r *run) spreadInBlock(c *parser.Command) error {
	t := &r.router
	ends := c.Op.Class == parser.Exec || c.Op.Class == parser.Discard && len(c.Args) == 1
	if !t.pinned && len(t.keys) == 0 && !ends && t.size < r.cut {
		if c.Op.Class == parser.State {
			r.takeNote(c)
		}
		r.withhold(c)
		return nil
	}
	if err := r.pin(t.keys); err != nil {
		return err
	}
	if other := r.otherKey(t.slot, t.keys); other != nil {
		if t.owners != nil {
			return r.refuseAt(c.N, c.Pos, otherSlot("its transaction", other, t.slot), originOf(c, 0))
		}
		if err := r.mix(); err != nil {
			return err
		}
	}
	if !ends {
		return r.take(ofBlock, c)
	}
	mixed := t.mixed
	t.unpin()
	err := r.take(ofBlock, c)
	if err == nil && mixed {
		err = r.settleAll()
	}
	return err
}

// pin decides where the block goes that is open: to where the first of keys is;
// without a key, anywhere. What was held back goes there.
func (r *run) pin(keys [][]byte) error {
	t := &r.router
	if t.pinned || r.alone() {
		return nil
	}
	t.pinned, t.slot = true, 0
	if len(keys) > 0 {
		t.slot = parser.Slot(keys[0])
	}
	r.blockPipe = nil
	for i := range t.withheld {
		w := &t.withheld[i]
		at := ofBlock
		if i == 0 {
			at = t.slot // which may move while there is no room
		}
		p, err := r.room(at, w.mark.N, w.pos, len(w.resp)+w.origin.size(), &w.mark)
		if err != nil {
			return err
		}
		if i == 0 {
			r.blockPipe = p
		}
		p.batch.resp = append(p.batch.resp, w.resp...)
		p.batch.add(w.mark.N, w.pos, w.class, 0)
		p.batch.trace(w.origin)
		p.batch.plain = false
		w.resp = nil
		if err := r.cutFull(p); err != nil {
			return err
		}
	}
	t.withheld, t.size = nil, 0
	return nil
}
