// Package batch holds what formats, the engine and the wire share: the
// position of a record, the outcome of a command, and the batch, a run of
// commands that go to one connection in one write.
//
// A plain command costs no object of its own: it is an Entry, 24 bytes by
// value in its batch, beside its RESP. The commands of a transaction are
// consecutive entries of one batch, or of consecutive batches of one
// connection when the transaction is streamed.
//
// A batch belongs to the engine. Whoever writes it reads RESP from the action
// that submits it until the batch is answered or its connection is closed; an
// observer may read it during the call that passes it.
package batch

import (
	"math"
	"time"
)

// Position is where a record begins.
type Position struct {
	File   int   // index of the input, 0-based
	Line   int   // 1-based
	Offset int64 // 0-based, in bytes
	Record int64 // 1-based, counted over all inputs
}

// Number orders commands as they stand in the input: the record, and the index
// of the command in its record.
type Number uint64

// indexBits is how many bits of a Number are the index in the record.
const indexBits = 24

// NumberOf returns the number of a command of a record. The parts of a command
// that is sent in parts have one number, and no key in common.
func NumberOf(record int64, index int) Number {
	return Number(record)<<indexBits | Number(index&(1<<indexBits-1))
}

// Record returns the number of the record.
func (n Number) Record() int64 { return int64(n >> indexBits) }

// Index returns the index of the command in its record.
func (n Number) Index() int { return int(n & (1<<indexBits - 1)) }

// Outcome is what became of a command or a transaction in the end.
type Outcome uint8

// The outcomes. Pending is no outcome yet.
const (
	Pending      Outcome = iota
	Acknowledged         // the server replied with success, for good
	Refused              // the server replied with an error for good, or respipe refused it: it has not run
	Unknown              // it may have run: sent in full and never answered for good
	NotSent              // the load stopped before it was sent or resent: it has not run
	NotRun               // a transaction whose EXEC was answered nil
)

var outcomeNames = [...]string{"pending", "acknowledged", "refused", "unknown", "not sent", "not run"}

// String returns the word of the reports.
func (o Outcome) String() string { return outcomeNames[o] }

// Flags say what an entry is and what is known of its earlier attempts.
type Flags uint16

// The flags of an entry.
const (
	Own        Flags = 1 << iota // of respipe's own account: counted nowhere
	InTx                         // a command of a transaction
	Begins                       // the MULTI of a transaction
	Ends                         // the EXEC or DISCARD of a transaction
	MayHaveRun                   // an earlier attempt ran or may have run
	Overtaken                    // an earlier attempt was acknowledged, and then a later command on its keys ran
	Copied                       // a copy of a barrier's command: the barrier counts it
	Watches                      // a WATCH
	Watched                      // the MULTI of a transaction that a WATCH guards
	Replaced                     // a DISCARD in the place of the EXEC, or of the end that is missing
	Part                         // of a command that is sent in parts, by the slots of its keys
	Last                         // the last command of its record
)

// Status is what the replies said of an entry. The zero status says nothing: an
// entry without one is queued, in flight or acknowledged, as its place before
// or behind Batch.Answered tells.
type Status uint8

// The statuses of an entry.
const (
	Clean     Status = iota
	Retryable        // answered with a retryable error
	Failed           // answered with an error for good
	Null             // EXEC answered nil
	Removed          // taken out of this batch: it is counted elsewhere
)

// Entry is one command in its batch. Numbers are relative to the batch's Base.
type Entry struct {
	End    uint32 // where its RESP ends in the batch
	Record int32
	Line   int32
	Offset int32
	Index  uint32 // in its record
	Flags  Flags
	Status Status
}

// Failure is an error reply, or what stands for one, to an entry.
type Failure struct {
	Entry   int    // index in the batch
	Element int    // of the reply to an EXEC; -1: the reply itself
	Text    []byte // the server's words
	Kind    uint8  // what the engine makes of them
	Address string // of a redirect
	Node    string // address of the server that has answered
}

// Batch is a run of commands of one input for one connection.
type Batch struct {
	Base     Position // what the entries' numbers are relative to
	RESP     []byte   // nil when it was given back
	Entries  []Entry
	Failures []Failure // in the order of the entries

	Start    int64 // bytes that went to the connection before this batch
	Written  int64 // bytes of RESP that may have reached the server
	Answered int   // replies received
	Sent     bool  // submitted to a connection
	Mixed    bool  // holds more than plain commands of the input in their first attempt
	Held     bool  // not complete although it is answered: see engine.hold
	Charged  int   // bytes that the window counts

	SentAt time.Duration // when it was submitted
	Mark   uint32        // of the window's tuner

	texts   texts   // source texts of the records, where they are kept
	replies replies // where they are kept
}

// Fits reports whether a command at a position can stand in the batch.
func (b *Batch) Fits(p Position) bool {
	if len(b.Entries) == 0 {
		return true
	}
	return p.File == b.Base.File && small(p.Record-b.Base.Record) &&
		small(int64(p.Line-b.Base.Line)) && small(p.Offset-b.Base.Offset)
}

func small(d int64) bool { return d >= math.MinInt32 && d <= math.MaxInt32 }

// Add adds the entry of a command whose RESP has just been appended.
func (b *Batch) Add(p Position, index int, flags Flags) {
	if len(b.Entries) == 0 {
		b.Base = p
	}
	b.Entries = append(b.Entries, Entry{
		End:    uint32(len(b.RESP)),
		Record: int32(p.Record - b.Base.Record),
		Line:   int32(p.Line - b.Base.Line),
		Offset: int32(p.Offset - b.Base.Offset),
		Index:  uint32(index),
		Flags:  flags,
	})
}

// Copy adds an entry of another batch, with its RESP and its text.
func (b *Batch) Copy(from *Batch, i int) {
	e := &from.Entries[i]
	b.RESP = append(b.RESP, from.Command(i)...)
	b.Add(from.Position(i), int(e.Index), e.Flags)
	b.AddText(from.Text(i))
}

// Append adds the entries of another batch that was written right behind this
// one, with what was answered. All of both are answered.
func (b *Batch) Append(from *Batch) {
	n := b.Len()
	for i := range from.Entries {
		b.Copy(from, i)
		b.Entries[n+i].Status = from.Entries[i].Status
		if reply := from.Reply(i); reply != nil {
			b.AddReply(reply)
		}
	}
	for _, f := range from.Failures {
		f.Entry += n
		b.Failures = append(b.Failures, f)
	}
	b.Written += from.Written
	b.Answered += from.Answered
}

// GiveBack lets the RESP and the texts go. The replies stay.
func (b *Batch) GiveBack() { b.RESP, b.texts = nil, texts{} }

// Size returns how many bytes the batch holds beside its entries.
func (b *Batch) Size() int { return len(b.RESP) + b.texts.size() + b.replies.size() }

// Len returns the number of entries.
func (b *Batch) Len() int { return len(b.Entries) }

// Position returns where the record of entry i begins.
func (b *Batch) Position(i int) Position {
	e := &b.Entries[i]
	return Position{
		File:   b.Base.File,
		Line:   b.Base.Line + int(e.Line),
		Offset: b.Base.Offset + int64(e.Offset),
		Record: b.Base.Record + int64(e.Record),
	}
}

// Number returns the number of entry i.
func (b *Batch) Number(i int) Number {
	e := &b.Entries[i]
	return NumberOf(b.Base.Record+int64(e.Record), int(e.Index))
}

// Begin returns where the RESP of entry i begins.
func (b *Batch) Begin(i int) int {
	if i == 0 {
		return 0
	}
	return int(b.Entries[i-1].End)
}

// Command returns the RESP of entry i, nil if it was given back.
func (b *Batch) Command(i int) []byte { return b.Range(i, i) }

// Range returns the RESP of the entries first to last, nil if it was given
// back.
func (b *Batch) Range(first, last int) []byte {
	if b.RESP == nil {
		return nil
	}
	return b.RESP[b.Begin(first):b.Entries[last].End]
}

// Reset makes the batch empty, ready to be filled.
func (b *Batch) Reset() {
	clear(b.Failures)
	*b = Batch{
		RESP: b.RESP[:0], Entries: b.Entries[:0], Failures: b.Failures[:0],
		texts: b.texts.empty(), replies: b.replies.empty(),
	}
}
