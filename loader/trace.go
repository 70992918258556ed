package loader

import "respipe/parser"

// traceBytes is what a batch keeps of each command besides its place, when it
// is asked to.
const traceBytes = 16

// trace is what else is known of a command. Its record's source text lies in
// the batch, once for all commands of the record that are there.
type trace struct {
	from, to uint32 // of the source text
	index    uint16 // among the commands of its record
	marks    uint8
	block    int32 // records since the MULTI of its block
}

// marks of a trace.
const (
	hasText  uint8 = 1 << iota
	asSent         // the source text is the RESP itself
	lastOf         // its record has no command behind it
	blockade       // it is part of a block, from MULTI to EXEC
)

// origin is where a command comes from: what its trace is made of.
type origin struct {
	text   []byte // of its record; nil where that is not kept
	asSent bool
	index  int
	last   bool
	block  int64 // record of the MULTI of its block; 0 outside of one
}

// originOf returns that of a command that the source of the load has handed
// out; block is the record of the MULTI before it, or 0.
func originOf(c *parser.Command, block int64) origin {
	return origin{text: c.Src, asSent: c.Raw != nil && c.Src != nil, index: c.Index, last: c.Last, block: block}
}

// size is how many bytes are kept of the source text, at most.
func (s *origin) size() int {
	if s.asSent {
		return 0
	}
	return len(s.text)
}

// trace notes where the command that was added last comes from, if the batch
// keeps that.
func (b *Batch) trace(s origin) {
	if !b.traced {
		return
	}
	i := len(b.traces) - 1
	t := &b.traces[i]
	t.index = uint16(min(s.index, 1<<16-1))
	if s.last {
		t.marks |= lastOf
	}
	if s.block > 0 {
		t.marks |= blockade
		t.block = int32(b.N(i) - s.block)
	}
	switch {
	case s.text == nil:
	case s.asSent:
		t.marks |= asSent
	case b.sharesText(i):
		t.marks |= hasText
		t.from, t.to = b.traces[i-1].from, b.traces[i-1].to
	default:
		t.marks |= hasText
		t.from = uint32(len(b.texts))
		b.texts = append(b.texts, s.text...)
		t.to = uint32(len(b.texts))
	}
}

// sharesText reports whether the command before command i has kept the text of
// their record.
func (b *Batch) sharesText(i int) bool {
	return i > 0 && b.traces[i-1].marks&hasText != 0 && b.places[i-1].record == b.places[i].record
}

// originOf returns where command i comes from.
func (b *Batch) originOf(i int) (s origin) {
	if b.traced {
		t := &b.traces[i]
		s = origin{asSent: t.marks&asSent != 0, index: int(t.index), last: t.marks&lastOf != 0, block: b.Block(i)}
		if s.text = b.Src(i); s.asSent {
			s.text = []byte{}
		}
	}
	return s
}

// Src returns the record of command i as it was read, as parser.Command has it.
// It is nil when the RESP of Command is the record, when the text was not kept
// or let go, and without Config.KeepSource.
func (b *Batch) Src(i int) []byte {
	if !b.traced || b.traces[i].marks&hasText == 0 || b.texts == nil {
		return nil
	}
	t := &b.traces[i]
	return b.texts[t.from:t.to:t.to]
}

// Index returns the 0-based index of command i among those of its record, and
// whether it is the last of them. It is known with Config.KeepSource and
// Config.KeepReplies.
func (b *Batch) Index(i int) (index int, last bool) {
	if !b.traced {
		return 0, true
	}
	return int(b.traces[i].index), b.traces[i].marks&lastOf != 0
}

// Block returns the number of the record that opened the block, from MULTI to
// EXEC or DISCARD, which command i is part of; 0 outside of one. It is known
// where Index is.
func (b *Batch) Block(i int) int64 {
	if !b.traced || b.traces[i].marks&blockade == 0 {
		return 0
	}
	return b.N(i) - int64(b.traces[i].block)
}

// Class returns how command i must be treated.
func (b *Batch) Class(i int) parser.Class { return b.places[i].class }

// DB returns the database that was selected before command i, unless its block
// has selected another.
func (b *Batch) DB() int { return b.mark.DB }

// File returns the index of the input that the commands come from.
func (b *Batch) File() int { return b.mark.File }
