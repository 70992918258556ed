package main

import (
	"slices"

	"respipe/parser"
)

// slotCount counts the keys of commands by the hash slots of a cluster.
type slotCount struct {
	keys     [parser.Slots]int64
	crossing int64 // commands with keys in different slots

	inMulti bool
	slot    int // of the command or block at hand, if known
	known   bool
	found   [][]byte
}

// crosses counts the keys of a command. It tells whether they lie in different
// slots, or in another one than those of the block before, so that a cluster
// would refuse the command.
func (k *slotCount) crosses(c *parser.Command) bool {
	if !k.inMulti {
		k.known = false
	}
	switch c.Op.Class {
	case parser.Multi:
		k.inMulti = true
	case parser.Exec, parser.Discard:
		k.inMulti = false
	}
	crosses := false
	k.found = c.Op.AppendKeys(k.found[:0], c.Args)
	for _, key := range k.found {
		slot := parser.Slot(key)
		k.keys[slot]++
		if !k.known {
			k.slot, k.known = slot, true
		}
		crosses = crosses || slot != k.slot
	}
	if crosses {
		k.crossing++
	}
	return crosses
}

// crossing prints a command whose keys lie in different slots.
func (c *console) crossing(cmd *parser.Command) {
	c.printf("%s: keys in different slots [%s]\n", place(cmd.Pos), c.describe.nameAndKeys(cmd.Args))
}

// slots prints the count: in all, and by sixteenths of the slots, which is how
// a cluster of as many nodes would share them.
func (c *console) slots(k *slotCount) {
	const step = parser.Slots / 16
	var keys, used int64
	for _, n := range k.keys {
		keys += n
		if n > 0 {
			used++
		}
	}
	most := slices.Max(k.keys[:])
	c.printf("slots: %d keys in %d slots, at most %d in one (%d); %d commands with keys in different slots\n",
		keys, used, most, slices.Index(k.keys[:], most), k.crossing)
	for from := 0; from < parser.Slots; from += step {
		var n int64
		for _, count := range k.keys[from : from+step] {
			n += count
		}
		if n > 0 {
			c.printf("%9d  in slots %d to %d\n", n, from, from+step-1)
		}
	}
}
