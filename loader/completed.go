package loader

import (
	"respipe/loader/batch"
	"respipe/loader/engine"
	"respipe/parser"
)

// Completed is a run of commands whose outcomes are final, in the order of the
// input, of one input and one database. It is valid during the call of
// Config.OnSettled that gets it, and so are its bytes.
type Completed interface {
	// Len returns the number of commands, refused ones included.
	Len() int
	// Pos returns where the record of command i begins, and N its number.
	Pos(i int) parser.Pos
	N(i int) int64
	// Index returns the 0-based index of command i among those of its record, and
	// whether it is the last of them. It is known with Config.KeepSource and
	// Config.KeepReplies.
	Index(i int) (index int, last bool)
	// Block returns the number of the record of the MULTI of the transaction that
	// command i is part of; 0 outside of one. It is known where Index is.
	Block(i int) int64
	// Class returns how command i must be treated.
	Class(i int) parser.Class
	// DB returns the database that was selected before the first command, and
	// File the index of the input.
	DB() int
	File() int
	// Outcome returns what became of command i, and Acknowledged whether it was
	// answered for good and not with an error.
	Outcome(i int) Outcome
	Acknowledged(i int) bool
	// Failures returns what went wrong, in the order of the commands.
	Failures() []Failure
	// Command returns the RESP of command i; nil when nothing was sent for it, or
	// its bytes were given back.
	Command(i int) []byte
	// Src returns the record of command i as it was read; nil when the RESP of
	// Command is the record, when the text was given back, and without
	// Config.KeepSource.
	Src(i int) []byte
	// Reply returns the reply to command i, up to Config.KeepReplies bytes of it;
	// nil if there is none.
	Reply(i int) []byte
}

// view is the Completed of one completion of the engine: entries of one batch,
// or of several, of a streamed transaction.
type view struct {
	parts    []engine.Part
	files    []string // names of the inputs
	db       int
	outcomes []Outcome // of the entries; nil: each is Ran
	failures []Failure
	block    int64 // record of the MULTI of a transaction, or 0
	op       func(args [][]byte) *parser.Op
	endless  bool // a transaction without an end: its last entry stands for that
	reply    []byte
	parted   *refusedRecord // a command sent in parts, as it stands in the input
	args     [][]byte
}

// at returns the batch and the entry that command i is.
func (v *view) at(i int) (*batch.Batch, int) {
	for _, p := range v.parts {
		n := p.Last - p.First + 1
		if i < n {
			return p.Batch, p.First + i
		}
		i -= n
	}
	panic("loader: no such command")
}

func (v *view) Len() (n int) {
	for _, p := range v.parts {
		n += p.Last - p.First + 1
	}
	return n
}

func (v *view) Pos(i int) parser.Pos {
	if v.isEnd(i) {
		i = 0
	}
	p := positionAt(v.at(i))
	return parser.Pos{File: v.files[p.File], Line: p.Line, Offset: p.Offset}
}

func (v *view) N(i int) int64 {
	if v.isEnd(i) {
		i = 0
	}
	return positionAt(v.at(i)).Record
}

func positionAt(b *batch.Batch, i int) batch.Position { return b.Position(i) }

// isEnd reports whether command i stands for the end that its transaction lacks.
func (v *view) isEnd(i int) bool { return v.endless && i == v.Len()-1 }

func (v *view) Index(i int) (index int, last bool) {
	b, at := v.at(i)
	return int(b.Entries[at].Index), b.Entries[at].Flags&batch.Last != 0
}

func (v *view) Block(int) int64 { return v.block }

func (v *view) Class(i int) parser.Class {
	b, at := v.at(i)
	switch flags := b.Entries[at].Flags; {
	case v.isEnd(i):
		return parser.Discard
	case flags&batch.Replaced != 0:
		return parser.Exec
	case flags&batch.Begins != 0:
		return parser.Multi
	}
	if v.args = parser.ParseRequest(b.Command(at), v.args[:0]); len(v.args) == 0 {
		return parser.Write
	}
	return v.op(v.args).Class
}

func (v *view) DB() int   { return v.db }
func (v *view) File() int { return v.parts[0].Batch.Base.File }

func (v *view) Outcome(i int) Outcome {
	switch {
	case v.isEnd(i):
		return Failed
	case v.outcomes == nil:
		return Ran
	}
	return v.outcomes[i]
}

func (v *view) Acknowledged(i int) bool {
	outcome := v.Outcome(i)
	return outcome == Ran || outcome == NotRun
}

func (v *view) Failures() []Failure { return v.failures }

func (v *view) Command(i int) []byte {
	if v.parted != nil {
		return nil
	}
	b, at := v.at(i)
	if b.Entries[at].Flags&(batch.Own|batch.Replaced) != 0 || b.RESP == nil {
		return nil
	}
	if resp := b.Command(at); len(resp) > 0 {
		return resp
	}
	return nil
}

func (v *view) Src(i int) []byte {
	if v.parted != nil {
		return v.parted.text
	}
	b, at := v.at(i)
	return b.Text(at)
}

func (v *view) Reply(i int) []byte {
	if v.parted != nil {
		return v.reply
	}
	b, at := v.at(i)
	if b.Entries[at].Flags&(batch.Own|batch.Replaced) != 0 {
		return nil
	}
	return b.Reply(at)
}
