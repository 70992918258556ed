package parser

// Class says how a command must be treated on its way to the server.
type Class uint8

const (
	Write        Class = iota // may give another result when it runs twice; every unknown command
	Repeatable                // run twice in a row it leaves what one run leaves; all reads
	State                     // changes the connection: SELECT, AUTH, CLIENT SETNAME
	Multi                     // MULTI
	Exec                      // EXEC
	Discard                   // DISCARD
	Watch                     // WATCH
	Unwatch                   // UNWATCH
	Refused                   // breaks one command, one reply: SUBSCRIBE, MONITOR, QUIT, CLIENT REPLY
	RefusedAlone              // the same, but harmless between MULTI and EXEC: WAIT, WAITAOF
)

// Op is what the table of commands knows about one command. It is shared and
// never changed.
type Op struct {
	Name   string    // upper case; of a subcommand "CLIENT REPLY"; "" for an unknown command
	Class  Class     // of its plain form, see Repeatable
	Unsafe bool      // not plain data: it administers, destroys or runs code
	Keys   []KeySpec // where its keys stand; nil for a keyless command

	Splits     bool // in a cluster it may be sent in pieces, by the slots of its keys
	Everywhere bool // in a cluster it goes to every master

	subs    map[string]*Op // by upper-case name; nil if it has none
	unless  []string       // options, upper case, with which it is not repeatable
	options []option       // those whose arguments might be taken for a keyword of Keys
	timeout timeout
	script  bool // its first argument is code, or names some
	derives bool // it overwrites keys with what it reads from others
}

// Unknown is the Op of every command that the table does not have.
var Unknown = &Op{Class: Write}

// Learned returns an Op for a command that the table does not have, from what
// a server's COMMAND says of it: the indexes of its first and last key, which
// may count from the end, and the step from key to key.
func Learned(name string, first, last, step int) *Op {
	op := &Op{Name: name, Class: Write}
	switch {
	case first <= 0 || step <= 0:
	case last < 0:
		op.Keys = []KeySpec{{First: first, Last: last, Step: step}}
	default:
		for i := first; i <= min(last, first+maxLearned*step); i += step {
			op.Keys = append(op.Keys, KeySpec{First: i, Step: 1})
		}
	}
	return op
}

const maxLearned = 64 // keys of a learned command that count from the front

// Known reports whether the table has the command.
func (op *Op) Known() bool { return op.Name != "" }

// LeavesKeys reports whether the command has nothing to do with any key: PING,
// PUBLISH. Of one that is not known, or administers, or runs code, it is taken
// that it may touch all.
func (op *Op) LeavesKeys() bool {
	return op.Known() && op.Class <= Repeatable && op.Keys == nil && !op.Unsafe && !op.script
}

// AppendKeys appends the keys among args, the name and arguments of this
// command, to dst. They are views into args. Of malformed arguments it finds
// the keys it can.
func (op *Op) AppendKeys(dst, args [][]byte) [][]byte {
	for i := range op.Keys {
		dst = op.Keys[i].appendKeys(dst, args, op.options)
	}
	return dst
}

// Repeatable reports whether the command with these args may safely run once
// more, together with all that followed it. When in doubt it may not.
func (op *Op) Repeatable(args [][]byte) bool {
	if op.Class != Repeatable {
		return false
	}
	for _, option := range op.unless {
		if indexFold(args, 2, option) >= 0 {
			return false
		}
	}
	return true
}

// Blocks reports whether the command with these args waits for ever: a
// blocking command whose timeout is zero. A timeout that is no number does not
// count, as the server refuses it.
func (op *Op) Blocks(args [][]byte) bool {
	i := op.timeout.index(args)
	return 0 < i && i < len(args) && isZero(args[i])
}

// timeout is where the timeout of a blocking command stands; the zero value is
// for a command that never waits.
type timeout struct {
	keyword string // it stands behind this word, an option in front of STREAMS
	at      int    // its index, negative from the end; with keyword, where the search for that begins
}

// index returns the index of the timeout in args, or 0 if there is none. It
// may lie behind the end of args.
func (t timeout) index(args [][]byte) int {
	switch {
	case t.keyword != "":
		if streams := indexFold(args, t.at, "STREAMS"); streams >= 0 {
			args = args[:streams]
		}
		return indexFold(args, t.at, t.keyword) + 1
	case t.at < 0:
		return len(args) + t.at
	}
	return t.at
}

// isZero reports whether the server reads b as the number zero: by strtold,
// hexadecimal included.
func isZero(b []byte) bool {
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	exponent := byte('e')
	if len(b) > 2 && b[0] == '0' && lower(b[1]) == 'x' {
		b, exponent = b[2:], 'p'
	}
	digits, dots := 0, 0
	for len(b) > 0 && (b[0] == '0' || b[0] == '.') {
		if b[0] == '0' {
			digits++
		} else {
			dots++
		}
		b = b[1:]
	}
	if digits == 0 || dots > 1 {
		return false
	}
	return len(b) == 0 || lower(b[0]) == exponent && isInteger(b[1:])
}

// isInteger reports whether b is a decimal integer, with a sign or without.
func isInteger(b []byte) bool {
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// indexFold returns the first index from on of an argument that is word, an
// upper-case word, in either letter case; -1 if there is none.
func indexFold(args [][]byte, from int, word string) int {
	for i := from; i < len(args); i++ {
		if equalFold(args[i], word) {
			return i
		}
	}
	return -1
}

// equalFold reports whether b is word, an upper-case word, in either letter
// case of ASCII.
func equalFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if upper(c) != word[i] {
			return false
		}
	}
	return true
}

// upper returns the upper case of an ASCII letter, and any other byte as it is.
func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}

// lower is the reverse of upper.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
