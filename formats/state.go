package formats

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math"

	"respipe/parser"
)

// state is what a Source must know, besides the place, to go on from a Mark.
// The columns are not in it: they stand in the file, and are read there again.
type state struct {
	columns uint64 // a digest of them; 0 for none
	quote   int    // the first line with a quote left open; 0 if there was none
	kept
}

// kept is what a reader of one format keeps from record to record.
type kept struct {
	flags flags
	ahead int64  // offset up to which the file has been looked at, where that matters
	cause string // what is wrong there
}

// flags are those of one format.
type flags uint8

// set sets a flag, if it is on.
func (k *kept) set(f flags, on bool) {
	if on {
		k.flags |= f
	}
}

// keeper is a reader that must know more than a place to go on from there.
type keeper interface {
	// kept returns what that is: at the last record, or at the next one.
	kept(next bool) kept
	// goOn makes a new reader know it, whose input stands at the place.
	goOn(kept)
}

// stateVersion is the first byte of every State.
const stateVersion = 1

var errState = errors.New("the state of the place to go on from cannot be read")

// encode returns the State of a Mark.
func (st *state) encode() []byte {
	b := binary.BigEndian.AppendUint64([]byte{stateVersion}, st.columns)
	b = binary.AppendUvarint(b, uint64(st.quote))
	b = binary.AppendUvarint(append(b, byte(st.flags)), uint64(st.ahead))
	return append(b, st.cause...)
}

// decodeState reads the State of a Mark. The error is errState.
func decodeState(b []byte) (st state, err error) {
	const fixed = 1 + 8
	if len(b) < fixed || b[0] != stateVersion {
		return state{}, errState
	}
	st.columns = binary.BigEndian.Uint64(b[1:])
	quote, n := binary.Uvarint(b[fixed:])
	b = b[fixed+max(n, 0):]
	if n <= 0 || quote > math.MaxInt || len(b) == 0 {
		return state{}, errState
	}
	ahead, n := binary.Uvarint(b[1:])
	if n <= 0 || ahead > math.MaxInt64 {
		return state{}, errState
	}
	st.quote = int(quote)
	st.kept = kept{flags: flags(b[0]), ahead: int64(ahead), cause: string(b[1+n:])}
	return st, nil
}

// columnsDigest is the columns of a file, and how its lines end, in short.
func columnsDigest(columns []string, eol byte) uint64 {
	h := fnv.New64a()
	h.Write([]byte{eol})
	for _, name := range columns {
		h.Write(binary.AppendUvarint(nil, uint64(len(name))))
		h.Write([]byte(name))
	}
	return h.Sum64()
}

// Mark is where the record of the last Next begins; after an error that ends
// the reading, where the next one would, or the blanks before it. It does not
// allocate, unless the State has changed.
func (s *Source) Mark() parser.Mark {
	if s.from != nil {
		return s.from.Mark
	}
	n := s.n
	if s.behind {
		n++
	}
	return parser.Mark{N: n, File: s.file, Offset: s.pos.Offset, Line: s.pos.Line, State: s.state()}
}

// state returns the State of the Mark.
func (s *Source) state() []byte {
	now := state{columns: s.columns, quote: s.guard.quoteLine}
	if s.keeper != nil {
		now.kept = s.keeper.kept(s.behind)
	}
	if now.ahead <= s.pos.Offset {
		now.ahead, now.cause = 0, ""
	}
	if now != s.known || s.encoded == nil {
		s.known, s.encoded = now, now.encode()
	}
	return s.encoded
}
