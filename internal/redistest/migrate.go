package redistest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// keysAtOnce is how many keys go from node to node at a time.
const keysAtOnce = 5

// MigrateSlot moves a slot from one master to another while both serve it, as
// redis-cli does: keys go a few at a time, and each time it waits for pause, and
// once more when none is left. Meanwhile the old master answers ASK to what it
// does not have any more, and afterwards MOVED.
func (c *Cluster) MigrateSlot(slot int, from, to *Server, pause time.Duration) error {
	if err := to.do("CLUSTER", "SETSLOT", slot, "IMPORTING", c.member(from).id); err != nil {
		return fmt.Errorf("slot %d to %s: %w", slot, to.Port, err)
	}
	if err := from.do("CLUSTER", "SETSLOT", slot, "MIGRATING", c.member(to).id); err != nil {
		return fmt.Errorf("slot %d from %s: %w", slot, from.Port, err)
	}
	if err := moveKeys(slot, from, to, pause); err != nil {
		return fmt.Errorf("keys of slot %d from %s to %s: %w", slot, from.Port, to.Port, err)
	}
	return c.assign(slot, from, to)
}

// assign tells all masters that a slot whose keys have moved is another's now,
// until they know: one that is told late may have claimed it back meanwhile.
func (c *Cluster) assign(slot int, from, to *Server) error {
	c.settling.Lock()
	defer c.settling.Unlock()
	masters, err := c.runningMasters()
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(masters, func(s *Server) bool { return s == to || s == from })
	order := append([]*Server{to, from}, others...) // so that the slot always has a node
	await(func() bool {
		for _, s := range order {
			if err = s.do("CLUSTER", "SETSLOT", slot, "NODE", c.member(to).id); err != nil {
				err = fmt.Errorf("slot %d, told to %s: %w", slot, s.Port, err)
				return true
			}
		}
		err = c.told(slot, c.member(to).id)
		return err == nil
	})
	return err
}

// moveKeys moves the keys of a slot until there are no more.
func moveKeys(slot int, from, to *Server, pause time.Duration) error {
	for {
		time.Sleep(pause)
		keys, err := from.Client().ClusterGetKeysInSlot(from.t.Context(), slot, keysAtOnce).Result()
		if err != nil || len(keys) == 0 {
			return err
		}
		migrate := []any{"MIGRATE", "127.0.0.1", to.Port, "", 0, patience.Milliseconds(), "KEYS"}
		for _, key := range keys {
			migrate = append(migrate, key)
		}
		if err := from.do(migrate...); err != nil {
			return err
		}
	}
}

// MigrateSlots moves slots to and fro by MigrateSlot, each time one at random of
// those given, or of all if none is, to any other master, until ctx ends. The
// last move is brought to its end. It returns how many it has made.
func (c *Cluster) MigrateSlots(ctx context.Context, rng *rand.Rand, pause time.Duration, slots ...int) (moved int, err error) {
	for ctx.Err() == nil {
		slot := rng.IntN(slotCount)
		if len(slots) > 0 {
			slot = slots[rng.IntN(len(slots))]
		}
		from, to, err := c.choose(rng, slot)
		if err != nil {
			return moved, err
		}
		if err := c.MigrateSlot(slot, from, to, pause); err != nil {
			return moved, err
		}
		moved++
	}
	return moved, nil
}

// choose returns the master that has a slot, and any other one.
func (c *Cluster) choose(rng *rand.Rand, slot int) (from, to *Server, err error) {
	v, err := c.view()
	if err != nil {
		return nil, nil, err
	}
	masters, err := c.runningMasters()
	if err != nil {
		return nil, nil, err
	}
	if from = c.server(v.owner(slot)); from == nil || len(masters) < 2 {
		return nil, nil, fmt.Errorf("slot %d cannot move: its owner, or another master, is missing", slot)
	}
	for to = from; to == from; {
		to = masters[rng.IntN(len(masters))]
	}
	return from, to, nil
}
