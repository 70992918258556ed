package parser

import (
	"errors"
	"fmt"
)

// CommandTemplate is a command with places for values, made by ParseCommand. It
// never changes.
type CommandTemplate struct {
	op   *Op
	args []*Template
}

// ParseCommand reads a command line with placeholders, and adds the columns it
// asks for to cols. The line is split by SplitArgs before ParseTemplate looks
// for placeholders in each argument, so a value never becomes two of them.
//
// The command's name, that of its subcommand, and the script of EVAL and its
// kin must be literal, lest data choose what runs. A command of class Refused
// is an error; those that only now and then break one command, one reply are
// left to the caller.
func ParseCommand(line string, cols *Columns) (*CommandTemplate, error) {
	words, _, err := SplitArgs(nil, nil, []byte(line))
	if err != nil {
		return nil, fmt.Errorf("%w: %.40q", err, line)
	}
	if len(words) == 0 {
		return nil, errors.New("an empty command")
	}
	c := &CommandTemplate{}
	for _, word := range words {
		t, err := ParseTemplate(string(word), cols)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, t)
	}
	literal := c.literal()
	c.op = new(Ops).Find(literal)
	switch needed := c.needed(); {
	case len(literal) < needed:
		return nil, fmt.Errorf("what chooses the command must be literal: %.40q", words[len(literal)])
	case c.op.Class == Refused:
		return nil, fmt.Errorf("%s breaks one command, one reply", c.op.Name)
	}
	return c, nil
}

// literal returns the leading arguments that have no placeholder.
func (c *CommandTemplate) literal() [][]byte {
	var args [][]byte
	for _, t := range c.args {
		text, ok := t.Literal()
		if !ok {
			break
		}
		args = append(args, []byte(text))
	}
	return args
}

// needed returns how many leading arguments must be literal.
func (c *CommandTemplate) needed() int {
	if len(c.args) > 1 && (c.op.script || c.op.subs != nil) {
		return 2
	}
	return 1
}

// Op returns what the table knows about the command.
func (c *CommandTemplate) Op() *Op { return c.op }

// Expand appends the arguments with the values of one record, parallel to the
// columns, to args. An argument that is one placeholder is the value itself, or
// the values of a list where it spreads; a literal one belongs to the template
// and must not be changed; and others are put together at the end of arena,
// where they stay valid when arena grows.
// Missing is -1, or the first column whose value is nil: then args and arena
// are returned as they were.
func (c *CommandTemplate) Expand(args [][]byte, arena []byte, vals [][]byte) (outArgs [][]byte, outArena []byte, missing int) {
	outArgs, outArena = args, arena
	for _, t := range c.args {
		arg := t.parts[0].text
		if column := t.Column(); column >= 0 {
			arg = vals[column]
			if arg == nil {
				return args, arena, column
			}
			if t.spread {
				outArgs = AppendItems(outArgs, arg)
				continue
			}
		} else if len(t.parts) > 1 {
			start := len(outArena)
			if outArena, missing = t.Append(outArena, vals); missing >= 0 {
				return args, arena, missing
			}
			arg = outArena[start:len(outArena):len(outArena)]
		}
		outArgs = append(outArgs, arg)
	}
	return outArgs, outArena, -1
}
