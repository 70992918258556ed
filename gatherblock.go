package main

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"respipe/loader"
	"respipe/parser"
)

// block is a MULTI and what stands behind it up to its EXEC or DISCARD. One that
// was not executed goes to the rejects as a whole, with nothing between, so that
// it can be loaded again as a whole; of one that was, what failed.
type block struct {
	begun bool           // its MULTI is settled
	fate  loader.Outcome // of the MULTI: Ran says that the block was executed, or discarded as it was meant to be
	db    int            // selected in it so far
	lines []blockLine
	lost  bool   // its text was not kept
	words []byte // why it was not executed
}

// blockLine is a record of a block.
type blockLine struct {
	keptRecord
	words []byte // why it failed itself; nil if it did not
}

// inBlock takes note of a command of a block. What respipe has refused may come
// before the MULTI.
func (g *gatherer) inBlock(b loader.Completed, i int) (err error) {
	n, outcome, class := b.Block(i), b.Outcome(i), b.Class(i)
	k := g.blocks[n]
	if k == nil {
		k = new(block)
		g.blocks[n] = k
	}
	own := class == parser.Discard && b.N(i) == n // that of a block without an end
	if b.N(i) == n && !own {
		k.begun, k.fate, k.db = true, outcome, b.DB()
	}
	switch {
	case own:
		k.words = bytes.Clone(words(b, i))
	case k.begun && k.fate == loader.Ran:
		err = g.executed(k, b, i, outcome)
	case k.begun && k.fate == loader.NotSent, outcome == loader.Elsewhere, outcome == loader.Ran:
	default:
		g.collect(k, b, i)
	}
	if err == nil && (own || class == parser.Exec || class == parser.Discard && outcome != loader.Failed) {
		err = g.endBlock(n, k, !own)
	}
	return err
}

// executed takes note of a command of a block that has run, or was discarded as
// it was meant to be.
func (g *gatherer) executed(k *block, b loader.Completed, i int, outcome loader.Outcome) error {
	if outcome == loader.Failed {
		x := g.keep(b, i)
		x.db = k.db
		return g.files.reject(&rejected{keptRecord: x, words: words(b, i)})
	}
	if b.Class(i) == parser.State {
		if db, ok := selected(b.Command(i)); ok {
			k.db = db
		}
	}
	return nil
}

// collect keeps a command of a block that was not executed. Once a text is not
// there, only what failed itself is kept, and the MULTI.
func (g *gatherer) collect(k *block, b loader.Completed, i int) {
	line := blockLine{keptRecord: g.keep(b, i)}
	line.words = bytes.Clone(words(b, i))
	if b.Class(i) == parser.Exec {
		k.words = line.words
	}
	line.text, line.command = bytes.Clone(line.text), bytes.Clone(line.command[:min(len(line.command), headBytes)])
	k.lost = k.lost || line.text == nil
	if !k.lost || line.words != nil || b.N(i) == b.Block(i) {
		k.lines = append(k.lines, line)
	}
}

// notRun stands before the reason of a block, for those of its records that did
// nothing wrong.
const notRun = "its transaction did not run: "

// endBlock writes a block down that has ended, or whose end will not come: it
// is not whole.
func (g *gatherer) endBlock(n int64, k *block, whole bool) error {
	delete(g.blocks, n)
	if !k.begun || k.fate == loader.NotSent {
		return nil // the load goes on from its MULTI
	}
	slices.SortFunc(k.lines, func(a, b blockLine) int { return cmp.Compare(a.number, b.number) })
	for i := range k.lines {
		line := &k.lines[i]
		line.db, line.follows, line.seals = k.db, i > 0, !whole && i == len(k.lines)-1
		if k.lost {
			line.text, line.left = nil, leftBlock
		}
		if err := g.writeLine(k, line); err != nil {
			return err
		}
	}
	return nil
}

// writeLine writes a record of a block.
func (g *gatherer) writeLine(k *block, line *blockLine) error {
	if k.fate == loader.Unknown {
		return g.files.doubt(&line.keptRecord)
	}
	x := &rejected{keptRecord: line.keptRecord, words: line.words}
	if x.words == nil {
		x.words = append([]byte(notRun), k.words...)
	}
	return g.files.reject(x)
}

func parseDB(text []byte) (db int, ok bool) {
	db, err := strconv.Atoi(string(text))
	return db, err == nil
}
