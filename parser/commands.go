package parser

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// longestName bounds the names that are looked up, in bytes. A test holds that
// the table has no longer one.
const longestName = 32

//go:embed commands.txt
var commandsText string

// commands is the table of commands, by upper-case name.
var commands = sync.OnceValue(func() map[string]*Op {
	table, err := parseCommands(commandsText)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return table
})

// Ops finds commands in the table and remembers the last name, as most
// commands of an input are alike. The zero value is ready. It is not for
// concurrent use.
type Ops struct {
	name [longestName]byte // the last one found, as it was written
	n    int               // its length
	op   *Op               // its Op; nil before the first
}

// Find returns what the table knows about the command args, in either letter
// case: of its subcommand where the table has that, Unknown where it does not
// have the name.
func (o *Ops) Find(args [][]byte) *Op {
	if len(args) == 0 || len(args[0]) > longestName {
		return Unknown
	}
	if o.op == nil || string(o.name[:o.n]) != string(args[0]) {
		o.n = copy(o.name[:], args[0])
		o.op = find(commands(), args[0])
		if o.op == nil {
			o.op = Unknown
		}
	}
	if o.op.subs == nil || len(args) == 1 {
		return o.op
	}
	if sub := find(o.op.subs, args[1]); sub != nil {
		return sub
	}
	return o.op
}

// find looks a name up in either letter case; nil if it is not there.
func find(table map[string]*Op, name []byte) *Op {
	if len(name) > longestName {
		return nil
	}
	var buf [longestName]byte
	for i, c := range name {
		buf[i] = upper(c)
	}
	return table[string(buf[:len(name)])]
}

// parseCommands reads the table; commands.txt describes its lines.
func parseCommands(text string) (map[string]*Op, error) {
	table := map[string]*Op{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		op, err := parseOp(words)
		if err == nil {
			err = enter(table, op)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", strings.TrimSpace(line), err)
		}
	}
	return table, nil
}

// enter adds op to the table: a subcommand under its container, which must
// stand before it.
func enter(table map[string]*Op, op *Op) error {
	name := op.Name
	if container, sub, ok := strings.Cut(name, " "); ok {
		up := table[container]
		if up == nil {
			return fmt.Errorf("subcommand before its container")
		}
		if up.subs == nil {
			up.subs = map[string]*Op{}
		}
		table, name = up.subs, sub
	}
	if table[name] != nil {
		return fmt.Errorf("twice in the table")
	}
	table[name] = op
	return nil
}

// parseOp reads the words of one line: name, class and attributes.
func parseOp(words []string) (*Op, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("no class")
	}
	class, ok := classNames[words[1]]
	if !ok {
		return nil, fmt.Errorf("unknown class %q", words[1])
	}
	op := &Op{Name: strings.Replace(words[0], "|", " ", 1), Class: class}
	for _, word := range words[2:] {
		if err := op.set(word); err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
	}
	return op, nil
}

// classNames are the classes as the table writes them.
var classNames = map[string]Class{
	"write":         Write,
	"repeatable":    Repeatable,
	"state":         State,
	"multi":         Multi,
	"exec":          Exec,
	"discard":       Discard,
	"watch":         Watch,
	"unwatch":       Unwatch,
	"refused":       Refused,
	"refused-alone": RefusedAlone,
}

// set reads one attribute.
func (op *Op) set(word string) error {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "unsafe":
		op.Unsafe = true
	case "script":
		op.script = true
	case "derives":
		op.derives = true
	case "splits":
		op.Splits = true
	case "everywhere":
		op.Everywhere = true
	case "unless":
		op.unless = strings.Split(value, ",")
	case "options":
		for text := range strings.SplitSeq(value, ",") {
			name, arguments, _ := strings.Cut(text, ":")
			n, err := strconv.Atoi(arguments)
			if err != nil {
				return err
			}
			op.options = append(op.options, option{name, n})
		}
	case "timeout":
		at, keyword, _ := strings.Cut(value, ":")
		n, err := strconv.Atoi(at)
		op.timeout = timeout{keyword: keyword, at: n}
		return err
	case "keys":
		for spec := range strings.SplitSeq(value, ",") {
			k, err := parseKeySpec(spec)
			if err != nil {
				return err
			}
			op.Keys = append(op.Keys, k)
		}
	default:
		return fmt.Errorf("unknown attribute")
	}
	return nil
}

// parseKeySpec reads one specification: [FROM:KEYWORD+][#]FIRST[..LAST|..half][/STEP][?].
func parseKeySpec(s string) (KeySpec, error) {
	k := KeySpec{Step: 1}
	var errs [4]error
	if head, rest, ok := strings.Cut(s, "+"); ok {
		from, keyword, _ := strings.Cut(head, ":")
		k.Keyword, s = keyword, rest
		k.From, errs[0] = strconv.Atoi(from)
	}
	s, k.Filled = strings.CutSuffix(s, "?")
	s, k.Count = strings.CutPrefix(s, "#")
	if head, step, ok := strings.Cut(s, "/"); ok {
		s = head
		k.Step, errs[1] = strconv.Atoi(step)
	}
	first, last, ranged := strings.Cut(s, "..")
	if k.Half = last == "half"; ranged && !k.Half {
		k.Last, errs[2] = strconv.Atoi(last)
	}
	k.First, errs[3] = strconv.Atoi(first)
	for _, err := range errs {
		if err != nil {
			return k, err
		}
	}
	if k.First < 1 || k.From < 0 || k.Last > 0 || k.Step < 1 {
		return k, fmt.Errorf("a place that cannot be")
	}
	return k, nil
}
