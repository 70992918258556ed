package loader

import (
	"encoding/json"

	"respipe/parser"
)

// A transaction whose reply was lost may have been committed: the position tells
// that. Which of its records the server refused, nothing tells: the reply to
// EXEC did, and the server keeps no copy. These records are unconfirmed. Each
// position therefore says up to where the replies had been seen when it was
// written, and which records before are unconfirmed, so that every later run
// knows them, too.

// Confirmed is up to where the replies of a load were seen.
type Confirmed struct {
	Mark     parser.Mark // as Position.Mark
	Commands int         // as Position.Commands
	Input    json.RawMessage
}

func (c *Confirmed) reach() reach { return reach{c.Mark.N, c.Commands} }

// Unconfirmed is the records of a load that are unconfirmed.
type Unconfirmed struct {
	Records int64 // exact, however many ranges there were
	// Ranges are in the order of the input. They hold every unconfirmed record;
	// one may hold others, too: then its Records is less than its length.
	Ranges []UnconfirmedRange
}

// UnconfirmedRange is a part of the input with unconfirmed records.
type UnconfirmedRange struct {
	First, Last RecordPos
	Records     int64 // unconfirmed records in it
}

// RecordPos is the number of a record, and where it begins.
type RecordPos struct {
	N    int64  `json:"n"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// Pos returns where the record begins; the byte offset is not kept.
func (p RecordPos) Pos() parser.Pos { return parser.Pos{File: p.File, Line: p.Line} }

// A position is written with every transaction: what it says of unconfirmed
// records is bounded. Behind these bounds the last range grows to hold the next.
const (
	maxRanges     = 64
	maxRangeNames = 64 << 10 // bytes of all file names in ranges
)

// add adds a range behind all others, or to the last one where they touch. The
// ranges are copied: a position that holds the old ones does not change.
func (u *Unconfirmed) add(r UnconfirmedRange) {
	last := len(u.Ranges) - 1
	ranges := append([]UnconfirmedRange(nil), u.Ranges...)
	switch {
	case last < 0, r.First.N > ranges[last].Last.N+1 && last+1 < maxRanges && u.names()+len(r.First.File)+len(r.Last.File) <= maxRangeNames:
		ranges = append(ranges, r)
	default:
		if r.First.N == ranges[last].Last.N { // the commands of one record, in two transactions
			r.Records--
		}
		ranges[last].Last = r.Last
		ranges[last].Records += r.Records
	}
	u.Ranges = ranges
	u.Records += r.Records
}

// names returns how many bytes the file names of all ranges have.
func (u *Unconfirmed) names() (n int) {
	for _, r := range u.Ranges {
		n += len(r.First.File) + len(r.Last.File)
	}
	return n
}

// unconfirmedRange marks the commands of a transaction as unknown, except for
// those that were refused for sure, and returns the range of their records; one
// without records if there are none.
func (t *transaction) unconfirmedRange() (r UnconfirmedRange) {
	for _, b := range t.batches {
		failed := failedPlaces(b)
		for i := range b.places {
			p := &b.places[i]
			if p.flags&(refused|own) != 0 || failed[i] {
				continue
			}
			p.flags |= unsure
			at := RecordPos{b.N(i), b.file, b.Pos(i).Line}
			if r.Records == 0 {
				r.First = at
			}
			if r.Records == 0 || at.N != r.Last.N {
				r.Records++
			}
			r.Last = at
		}
	}
	return r
}

// confirmedJSON is a Confirmed as it is written.
type confirmedJSON struct {
	placeJSON
	Input json.RawMessage `json:"input,omitempty"`
}

// unconfirmedJSON is an Unconfirmed as it is written.
type unconfirmedJSON struct {
	Records int64       `json:"records"`
	Ranges  []rangeJSON `json:"ranges"`
}

type rangeJSON struct {
	First   RecordPos `json:"first"`
	Last    RecordPos `json:"last"`
	Records int64     `json:"records"`
}

func (c *Confirmed) json() *confirmedJSON {
	if c == nil {
		return nil
	}
	return &confirmedJSON{placeOf(c.Mark, c.Commands), c.Input}
}

func (j *confirmedJSON) confirmed() *Confirmed {
	if j == nil {
		return nil
	}
	return &Confirmed{Mark: j.mark(), Commands: j.Commands, Input: j.Input}
}

func (u *Unconfirmed) json() *unconfirmedJSON {
	if u.Records == 0 {
		return nil
	}
	j := &unconfirmedJSON{Records: u.Records}
	for _, r := range u.Ranges {
		j.Ranges = append(j.Ranges, rangeJSON(r))
	}
	return j
}

func (j *unconfirmedJSON) unconfirmed() (u Unconfirmed) {
	if j == nil {
		return u
	}
	u.Records = j.Records
	for _, r := range j.Ranges {
		u.Ranges = append(u.Ranges, UnconfirmedRange(r))
	}
	return u
}

// valid reports whether what was read can have been written: ranges in the order
// of the input, and the count that of all.
func (u *Unconfirmed) valid() bool {
	var n, last int64
	for _, r := range u.Ranges {
		if r.First.N <= last || r.Last.N < r.First.N || r.Records < 1 || r.Records > r.Last.N-r.First.N+1 {
			return false
		}
		n += r.Records
		last = r.Last.N
	}
	return n == u.Records && len(u.Ranges) <= maxRanges
}
