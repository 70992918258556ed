package main

import (
	"bytes"
	"maps"
	"slices"

	"respipe/loader"
	"respipe/parser"
)

// gatherer puts together what became of each record: its commands may settle at
// different times, on several connections. What did not take effect goes to
// the rejects.
type gatherer struct {
	files   *rejects
	layouts *layouts
	records map[int64]*gathered // of which not all commands are settled, by number
	blocks  map[int64]*block    // that have not ended, by the number of the MULTI
	spare   []*gathered
}

func newGatherer(files *rejects, layouts *layouts) *gatherer {
	return &gatherer{files: files, layouts: layouts, records: map[int64]*gathered{}, blocks: map[int64]*block{}}
}

// settled takes note of a batch.
func (g *gatherer) settled(b loader.Completed) error {
	isCommands := g.layouts.of(b.File()).format == commandsFormat
	for i := 0; i < b.Len(); {
		if n := allRan(b, i); n > 0 {
			i += n
			continue
		}
		var err error
		switch index, last := b.Index(i); {
		case isCommands && b.Block(i) > 0:
			err = g.inBlock(b, i)
		case index == 0 && last:
			err = g.alone(b, i)
		default:
			err = g.part(b, i, last)
		}
		if err != nil {
			return err
		}
		i++
	}
	return nil
}

// allRan returns how many commands the record that begins with command i has,
// if all of them are here, in no block, and have run; else 0.
func allRan(b loader.Completed, i int) (n int) {
	for want := 0; i+n < b.Len(); want++ {
		index, last := b.Index(i + n)
		if index != want || b.N(i+n) != b.N(i) || b.Block(i+n) > 0 || b.Outcome(i+n) != loader.Ran {
			return 0
		}
		n++
		if last {
			return n
		}
	}
	return 0
}

// alone takes note of a record that is one command.
func (g *gatherer) alone(b loader.Completed, i int) error {
	switch b.Outcome(i) {
	case loader.Failed, loader.NotRun:
		return g.files.reject(&rejected{keptRecord: g.keep(b, i), words: words(b, i)})
	case loader.Unknown:
		x := g.keep(b, i)
		return g.files.doubt(&x)
	}
	return nil
}

// gathered is what is known of a record of several commands.
type gathered struct {
	record keptRecord // of the first command that did not run
	told   bool       // there is one
	words  []byte

	seen, total int  // commands; total is 0 until it is known
	failed      bool // one of them, or was not run
	unknown     bool
	notSent     bool
	ran         []ranSpan
	arena       []byte // holds texts and commands
}

// ranSpan is a command that has run, with where it lies in the arena.
type ranSpan struct{ index, from, to int }

// headBytes is what is kept of a command, enough for name and key of most.
const headBytes = 512

// part takes note of one of several commands.
func (g *gatherer) part(b loader.Completed, i int, last bool) error {
	outcome := b.Outcome(i)
	if outcome == loader.Elsewhere {
		return nil
	}
	r := g.records[b.N(i)]
	if r == nil {
		r = g.blank()
		g.records[b.N(i)] = r
	}
	index, _ := b.Index(i)
	if last {
		r.total = index + 1
	}
	if r.seen++; outcome == loader.Ran {
		command := b.Command(i)
		command = command[:min(len(command), headBytes)]
		from := len(r.arena)
		r.arena = append(r.arena, command...)
		r.ran = append(r.ran, ranSpan{index, from, len(r.arena)})
	} else {
		g.missed(r, b, i, outcome)
	}
	if r.seen < r.total || r.total == 0 {
		return nil
	}
	return g.close(b.N(i), r)
}

// missed takes note of a command that has not run, or may not have.
func (g *gatherer) missed(r *gathered, b loader.Completed, i int, outcome loader.Outcome) {
	r.failed = r.failed || outcome == loader.Failed || outcome == loader.NotRun
	r.unknown = r.unknown || outcome == loader.Unknown
	r.notSent = r.notSent || outcome == loader.NotSent
	why := words(b, i)
	if r.told && (why == nil || r.words != nil) {
		return
	}
	r.told, r.words = true, bytes.Clone(why)
	r.record = g.keep(b, i)
	r.record.text, r.record.command = bytes.Clone(r.record.text), bytes.Clone(r.record.command)
}

// close decides about a record of which all is known that will be.
func (g *gatherer) close(n int64, r *gathered) (err error) {
	delete(g.records, n)
	switch {
	case r.unknown:
		err = g.files.doubt(&r.record)
	case r.notSent, r.total == 0 || r.seen < r.total: // the load goes on from here, or from before
	case r.failed:
		x := &rejected{keptRecord: r.record, words: r.words}
		for _, s := range r.ran {
			x.ran = append(x.ran, ranCommand{s.index + 1, r.arena[s.from:s.to]})
		}
		err = g.files.reject(x)
	}
	*r = gathered{ran: r.ran[:0], arena: r.arena[:0]}
	g.spare = append(g.spare, r)
	return err
}

func (g *gatherer) blank() *gathered {
	n := len(g.spare)
	if n == 0 {
		return &gathered{}
	}
	r := g.spare[n-1]
	g.spare = g.spare[:n-1]
	return r
}

// finish is called when nothing more will be settled.
func (g *gatherer) finish() error {
	for _, n := range slices.Sorted(maps.Keys(g.records)) {
		if err := g.close(n, g.records[n]); err != nil {
			return err
		}
	}
	for _, n := range slices.Sorted(maps.Keys(g.blocks)) {
		if err := g.endBlock(n, g.blocks[n], false); err != nil {
			return err
		}
	}
	return nil
}

// keep returns the record of command i. Its bytes are those of the batch.
func (g *gatherer) keep(b loader.Completed, i int) keptRecord {
	x := keptRecord{pos: b.Pos(i), number: b.N(i), layout: g.layouts.of(b.File()), db: b.DB(), text: b.Src(i), command: b.Command(i)}
	if x.layout.format != commandsFormat {
		return x
	}
	if x.text == nil {
		x.text = b.Command(i)
	}
	if x.isRESP = isRequest(x.text); x.isRESP && x.text[len(x.text)-1] != '\n' {
		x.text = append(bytes.Clone(x.text), '\n')
	}
	return x
}

// isRequest reports whether the text of a record is RESP, and no line.
func isRequest(text []byte) bool {
	return len(text) > 1 && text[0] == '*' && text[1] >= '0' && text[1] <= '9'
}

// words returns why command i failed, or did not run; nil where that is told of
// another.
func words(b loader.Completed, i int) []byte {
	for _, f := range b.Failures() {
		if f.I == i {
			return f.Text
		}
	}
	return nil
}

// selected returns the database that a command selects.
func selected(command []byte) (db int, ok bool) {
	args := parser.ParseRequest(command, nil)
	if len(args) != 2 || !bytes.EqualFold(args[0], []byte("SELECT")) {
		return 0, false
	}
	return parseDB(args[1])
}
