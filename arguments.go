package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"respipe/formats"
)

// commandLine is what the user typed, taken apart.
type commandLine struct {
	program string // name under which respipe was called
	command string // "load", "convert" or "help"
	options []option
	files   []string
	help    bool // --help: nothing else counts
}

// option is one option as the user typed it.
type option struct {
	name       string // its long name, without dashes
	typed      string // "-p", "--port"
	value      string
	takesValue bool
}

// words returns the line as package cli reads it: command, options, FILEs.
func (l *commandLine) words() []string {
	switch {
	case l.help && l.command == "convert":
		return []string{l.program, "help", l.command}
	case l.help:
		return []string{l.program, "help"}
	}
	words := []string{l.program, l.command}
	for _, o := range l.options {
		word := "--" + o.name
		if o.takesValue {
			word += "=" + o.value
		}
		words = append(words, word)
	}
	return append(append(words, "--"), l.files...)
}

// commands are what the first word may be.
var commands = []string{"load", "convert", "help"}

// arrange takes a command line apart. Options may stand before and after
// FILEs, as --name value, --name=value, -n value, -nvalue; -- ends them. The
// error is a *formats.UsageError.
func arrange(args []string) (*commandLine, error) {
	line := &commandLine{program: filepath.Base(args[0]), command: "load"}
	rest := args[1:]
	if len(rest) > 0 && slices.Contains(commands, rest[0]) {
		line.command, rest = rest[0], rest[1:]
	}
	flags := optionsOf(line.command)
	for len(rest) > 0 {
		word := rest[0]
		rest = rest[1:]
		switch {
		case word == "--":
			line.files = append(line.files, rest...)
			return line, nil
		case word == "-" || !strings.HasPrefix(word, "-"):
			line.files = append(line.files, word)
		default:
			o, attached, err := parseOption(word, flags)
			if err != nil {
				return nil, err
			}
			if o.takesValue && !attached {
				if len(rest) == 0 || isOption(rest[0], flags) {
					return nil, &formats.UsageError{Msg: o.typed + " needs a value", Hint: "a value that looks like an option is written " + o.typed + "=VALUE"}
				}
				o.value, rest = rest[0], rest[1:]
			}
			line.options = append(line.options, o)
			line.help = line.help || o.name == "help"
		}
	}
	return line, nil
}

// parseOption reads one word; attached tells that it held the value, too.
func parseOption(word string, flags []cli.Flag) (o option, attached bool, err error) {
	name, value, attached := strings.Cut(strings.TrimLeft(word, "-"), "=")
	flag := find(name, flags)
	if !strings.HasPrefix(word, "--") && len(name) > 1 {
		if flag != nil {
			return o, false, &formats.UsageError{Msg: "no option " + word[:1+len(name)], Hint: "did you mean --" + name + "?"}
		}
		name, value, attached = word[1:2], word[2:], true // -p6379
		flag = find(name, flags)
	}
	if flag == nil || len(name) == 1 && strings.HasPrefix(word, "--") {
		return o, false, unknownOption(word, flags)
	}
	o = option{name: flag.Names()[0], typed: dashed(name), value: value, takesValue: takesValue(flag)}
	if attached && !o.takesValue {
		return o, false, &formats.UsageError{Msg: o.typed + " takes no value"}
	}
	return o, attached, nil
}

// isOption tells whether word is an option in full, so that it is hardly meant
// as the value of the one before. Negative numbers are values.
func isOption(word string, flags []cli.Flag) bool {
	name, dashes := strings.CutPrefix(word, "-")
	if !dashes || name == "" || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	long, isLong := strings.CutPrefix(name, "-")
	long, _, _ = strings.Cut(long, "=")
	return find(long, flags) != nil && isLong == (len(long) > 1)
}

func unknownOption(word string, flags []cli.Flag) error {
	word, _, _ = strings.Cut(word, "=") // a value may be a password
	usage := &formats.UsageError{Msg: "unknown option " + word}
	if name := strings.TrimLeft(word, "-"); find(name, flags) == nil && find(name, optionsOf("load")) != nil {
		return &formats.UsageError{Msg: "convert has no option " + word, Hint: "it sends nothing: what concerns the server is for load"}
	}
	if near := cli.SuggestFlag(flags, strings.TrimLeft(word, "-"), true); near != "" {
		usage.Hint = "did you mean " + near + "?"
	}
	return usage
}

func find(name string, flags []cli.Flag) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool { return f.(cli.DocGenerationFlag).TakesValue() }

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
