package parser

import "bytes"

// Retry says what a second run of a command does.
type Retry uint8

// The classes of commands by what a second run does.
const (
	// Overwrites: a second run, together with all that followed the first,
	// leaves what one run leaves. SET, HSET, DEL and all reads.
	Overwrites Retry = iota
	// Derives: it overwrites keys with what it reads from others, so a second
	// run leaves the same only as long as no later command has changed those.
	// COPY, SUNIONSTORE, BITOP.
	Derives
	// NonIdempotent: a second run counts, pushes or moves once more. INCR,
	// APPEND, RENAME and every unknown command.
	NonIdempotent
)

// Retry returns the class of the command with these args. When in doubt, and
// where a command that derives reads a key that it writes, it is
// NonIdempotent.
func (op *Op) Retry(args [][]byte) Retry {
	switch {
	case op.Class > Repeatable: // MULTI, EXEC, SELECT, WATCH: no data by themselves
		return Overwrites
	case op.Repeatable(args):
		return Overwrites
	case op.derives && !repeats(op.AppendKeys(nil, args)):
		return Derives
	}
	return NonIdempotent
}

// repeats reports whether a key stands twice among keys.
func repeats(keys [][]byte) bool {
	for i := range keys {
		for _, other := range keys[:i] {
			if bytes.Equal(keys[i], other) {
				return true
			}
		}
	}
	return false
}
