package main

import (
	"bytes"
	"strconv"

	"respipe/loader"
	"respipe/parser"
)

// block is a MULTI and what stands behind it up to its EXEC or DISCARD. One that
// was not executed goes to the rejects as a whole, with nothing between, so that
// it can be loaded again as a whole; of one that was, what failed.
type block struct {
	fate  loader.Outcome // of the MULTI: Ran says that the block was executed
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

// inBlock takes note of a command of a block.
func (g *gatherer) inBlock(b *loader.Batch, i int) error {
	n := b.Block(i)
	outcome := b.Outcome(i)
	k := g.blocks[n]
	if k == nil {
		k = &block{fate: outcome, db: b.DB()}
		g.blocks[n] = k
	}
	own := b.Class(i) == parser.Discard && b.N(i) == n // that of a block without an end
	var err error
	switch {
	case own:
		k.words = bytes.Clone(words(b, i))
	case k.fate == loader.Ran:
		err = g.executed(k, b, i, outcome)
	case k.fate != loader.NotSent && outcome != loader.Elsewhere && outcome != loader.Ran:
		g.collect(k, b, i, outcome)
	}
	if err == nil && (own || b.Class(i) == parser.Exec || b.Class(i) == parser.Discard && outcome != loader.Failed) {
		err = g.endBlock(n, k, !own)
	}
	return err
}

// executed takes note of a command of a block that has run, or was discarded as
// it was meant to be.
func (g *gatherer) executed(k *block, b *loader.Batch, i int, outcome loader.Outcome) error {
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
func (g *gatherer) collect(k *block, b *loader.Batch, i int, outcome loader.Outcome) {
	line := blockLine{keptRecord: g.keep(b, i)}
	line.db = k.db
	line.words = bytes.Clone(words(b, i))
	if b.Class(i) == parser.Exec {
		k.words = line.words
	}
	line.text, line.command = bytes.Clone(line.text), bytes.Clone(line.command[:min(len(line.command), headBytes)])
	line.follows = len(k.lines) > 0
	if line.text == nil {
		k.lost = true
	}
	if !k.lost || line.words != nil || !line.follows {
		k.lines = append(k.lines, line)
	}
}

// notRun stands before the reason of a block, for those of its records that did
// nothing wrong.
const notRun = "its block did not run: "

// endBlock writes a block down that has ended, or whose end will not come: it
// is not whole.
func (g *gatherer) endBlock(n int64, k *block, whole bool) error {
	delete(g.blocks, n)
	for i := range k.lines {
		line := &k.lines[i]
		if k.lost {
			line.text, line.left = nil, leftBlock
		}
		line.seals = !whole && i == len(k.lines)-1
		if k.fate == loader.Unknown {
			if err := g.files.doubt(&line.keptRecord); err != nil {
				return err
			}
			continue
		}
		x := &rejected{keptRecord: line.keptRecord, words: line.words}
		if x.words == nil {
			x.words = append([]byte(notRun), k.words...)
		}
		if err := g.files.reject(x); err != nil {
			return err
		}
	}
	return nil
}

func parseDB(text []byte) (db int, ok bool) {
	db, err := strconv.Atoi(string(text))
	return db, err == nil
}
