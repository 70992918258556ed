package loader

import (
	"math"
	"sync/atomic"
	"time"

	"respipe/parser"
)

const (
	batchBytes = 64 << 10 // a batch is cut when its RESP is this long
	keepBuffer = 1 << 20  // a larger buffer is not used again
	placeBytes = 24
)

// flags of a place.
const (
	refused uint16 = 1 << iota // nothing was sent for it, and no reply is owed
	own                        // sent on respipe's own account: not counted as a reply
	queued                     // answered QUEUED: one of the elements of the EXEC to come
	again                      // answered, but not for good
	moved                      // sent again in another batch, which counts it
	rerun                      // sent again, and a later command has used its key before
	acked                      // answered, in a batch that is not settled
	piece                      // of a command that counts as one, see split
	unrun                      // of a block that was not executed
	unsure                     // sent and not answered, in a batch that is not settled
)

// place is where one command of a batch came from and where it lies in the
// batch. Numbers are relative to the batch's Mark, so that a command takes 24
// bytes however long the input is.
type place struct {
	offset int64 // in the input
	end    uint32
	record int32
	line   int32
	class  parser.Class
	index  uint8 // among the commands of its record; 255 stands for all from there on
	flags  uint16
}

// endsBlock reports whether the place is a DISCARD of our own.
func (p *place) endsBlock() bool {
	return p.flags&own != 0 && (p.class == parser.Exec || p.class == parser.Discard)
}

// Batch is a run of commands that go to a connection in one write, of one
// input and one database. Run's goroutine fills it, the writer reads its RESP,
// the reader counts its replies and notes its failures; when all its commands
// are settled and its Write has returned it comes back to Run's goroutine,
// which passes it to OnSettled. It is valid during that call.
type Batch struct {
	mark     parser.Mark // of the first place
	file     string
	resp     []byte // nil when it was let go
	places   []place
	failures []Failure

	traced bool    // traces and texts are kept
	traces []trace // parallel to places
	texts  []byte  // source texts; nil when they were let go

	replies []byte // see Config.KeepReplies
	ends    []int  // parallel to places: where the reply of each ends
	backlog int64  // bytes of replies that OnSettled has not seen

	charged int64 // bytes that the window counts

	from   foothold // zero for commands of our own alone
	flying int      // index in checkpoints.flying, and one; 0 when it is not there
	handed int64    // bytes that were handed over before it was begun

	node   *node          // it was handed to
	splits map[int]*split // of the places that are pieces; nil without one

	due   int   // replies owed
	owned int   // of these, to commands of our own and to pieces
	start int64 // bytes that went to the connection before this batch
	sent  time.Time
	phase uint32 // of the tuner
	plain bool   // each place is owed a reply that concerns no other

	settled bool
	repeats int // error replies to commands that had run before
	away    int // commands of the input that were moved

	// unfinished is 2 for a batch that has been handed over: one for the reader
	// that settles it, one for the writer that returns from Write.
	unfinished atomic.Int32
	next       *Batch // of the pieces of a long block
}

// Len returns the number of commands, refused ones included.
func (b *Batch) Len() int { return len(b.places) }

// Pos returns where the record of command i begins.
func (b *Batch) Pos(i int) parser.Pos {
	p := &b.places[i]
	return parser.Pos{File: b.file, Line: b.mark.Line + int(p.line), Offset: p.offset}
}

// N returns the number of the record of command i.
func (b *Batch) N(i int) int64 { return b.mark.N + int64(b.places[i].record) }

// Acknowledged reports whether command i was answered for good and not with an
// error. A command that was sent again in another batch is not, here.
func (b *Batch) Acknowledged(i int) bool {
	outcome := b.Outcome(i)
	return outcome == Ran || outcome == NotRun
}

// Command returns the RESP of command i; nil when nothing was sent for it or
// its bytes were let go, as they are in a block longer than the window.
func (b *Batch) Command(i int) []byte {
	if b.resp == nil || b.places[i].flags&(refused|own) != 0 {
		return nil
	}
	return b.bytesOf(i)
}

func (b *Batch) bytesOf(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = b.places[i-1].end
	}
	return b.resp[start:b.places[i].end]
}

// Failures returns what went wrong, in the order of the commands.
func (b *Batch) Failures() []Failure { return b.failures }

// markOf returns the place of command i as a place to go on from.
func (b *Batch) markOf(i int) parser.Mark {
	m, pos := b.mark, b.Pos(i)
	m.N, m.Line, m.Offset = b.N(i), pos.Line, pos.Offset
	return m
}

// fits reports whether a command at pos can have its place in b.
func (b *Batch) fits(n int64, pos parser.Pos) bool {
	return len(b.places) == 0 ||
		pos.File == b.file && small(n-b.mark.N) && small(int64(pos.Line-b.mark.Line))
}

func small(difference int64) bool {
	return difference >= math.MinInt32 && difference <= math.MaxInt32
}

// add notes a command whose RESP, if any, has just been appended.
func (b *Batch) add(n int64, pos parser.Pos, class parser.Class, flags uint16) {
	b.places = append(b.places, place{
		offset: pos.Offset,
		end:    uint32(len(b.resp)),
		record: int32(n - b.mark.N),
		line:   int32(pos.Line - b.mark.Line),
		class:  class,
		flags:  flags,
	})
	if b.traced {
		b.traces = append(b.traces, trace{})
	}
	b.count(flags)
}

// append appends a command; block is the record of the MULTI before it, or 0.
func (b *Batch) append(c *parser.Command, block int64) {
	if c.Raw != nil {
		b.resp = append(b.resp, c.Raw...)
	} else {
		b.resp = parser.AppendCommand(b.resp, c.Args)
	}
	b.add(c.N, c.Pos, c.Op.Class, 0)
	b.places[len(b.places)-1].index = uint8(min(c.Index, math.MaxUint8))
	if b.traced {
		b.trace(originOf(c, block))
	}
}

// count counts a place with these flags.
func (b *Batch) count(flags uint16) {
	if flags&refused == 0 {
		b.due++
	}
	if flags&(own|piece) != 0 {
		b.owned++
	}
}

// split notes that place i is a piece of s.
func (b *Batch) split(i int, s *split) {
	if b.splits == nil {
		b.splits = map[int]*split{}
	}
	b.splits[i] = s
}

// fail notes what went wrong with command i.
func (b *Batch) fail(i int, text []byte, ours bool) {
	b.failures = append(b.failures, Failure{I: i, Text: b.keepText(text), Ours: ours})
}

// warn notes what is no error in the counts.
func (b *Batch) warn(i int, text string) {
	b.failures = append(b.failures, Failure{I: i, Text: []byte(text), Warning: true})
}

// keepText copies text, unless it says what the last failure said: a flood of
// one error costs no memory for its words.
func (b *Batch) keepText(text []byte) []byte {
	if k := len(b.failures); k > 0 && string(b.failures[k-1].Text) == string(text) {
		return b.failures[k-1].Text
	}
	return append([]byte(nil), text...)
}

// size is how many bytes of commands and source texts b holds.
func (b *Batch) size() int { return len(b.resp) + len(b.texts) }

// cost is how many bytes b keeps.
func (b *Batch) cost() int64 {
	return int64(b.size()+len(b.replies)) + placeBytes*int64(len(b.places)) + traceBytes*int64(len(b.traces))
}

// reset makes b empty, for the commands from mark on.
func (b *Batch) reset(mark parser.Mark, file string) {
	b.mark, b.file = mark, file
	b.resp, b.places, b.failures = b.resp[:0], b.places[:0], b.failures[:0]
	b.due, b.owned, b.start = 0, 0, 0
	b.traces, b.texts = b.traces[:0], b.texts[:0]
	b.replies, b.ends, b.backlog, b.charged = b.replies[:0], b.ends[:0], 0, 0
	b.from = foothold{}
	b.plain, b.next = true, nil
	b.node, b.splits = nil, nil
	b.settled, b.repeats, b.away = false, 0, 0
	b.unfinished.Store(2)
}

// freeList keeps batches for use again. It belongs to Run's goroutine.
type freeList struct {
	spare  []*Batch
	traced bool // its batches keep where their commands come from
}

// get returns a batch with room for so many bytes and commands.
func (l *freeList) get(bytes, commands int) *Batch {
	if n := len(l.spare); n > 0 {
		b := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return b
	}
	b := &Batch{resp: make([]byte, 0, bytes), places: make([]place, 0, commands+commands/16), traced: l.traced}
	if l.traced {
		b.traces, b.texts = make([]trace, 0, cap(b.places)), []byte{}
	}
	return b
}

func (l *freeList) put(b *Batch) {
	if max(cap(b.resp), cap(b.texts), cap(b.replies), cap(b.places)*placeBytes) > keepBuffer || cap(b.failures) > batchBytes {
		return
	}
	clear(b.failures)
	l.spare = append(l.spare, b)
}
