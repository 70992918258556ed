package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"respipe/parser"
)

// goOn returns the command line that loads what is left: the user's own, from
// the record on that is the oldest not settled, in the database selected
// there, and without passwords.
func (e *ending) goOn() string {
	if e.settings.exactlyOnce != "" || e.settings.checkpoint != "" {
		return e.sameLine()
	}
	return e.commandLine(e.report.Position)
}

// fromStart returns the command line that loads the same again.
func (e *ending) fromStart() string {
	if e.settings.checkpoint != "" {
		return "rm " + shellQuote(e.settings.checkpoint) + " && " + e.sameLine()
	}
	return e.commandLine(parser.Mark{N: e.settings.input.Skip + 1, DB: e.settings.server.db})
}

// sameLine returns the user's own command line.
func (e *ending) sameLine() string {
	words := []string{"respipe"}
	for _, o := range e.given.options {
		if o.name != "pass" {
			words = append(words, o.shell()...)
		}
	}
	return strings.Join(append(words, e.given.operands()...), " ")
}

// commandLine returns the user's own command line from a place on.
func (e *ending) commandLine(at parser.Mark) string {
	done := max(at.N-1, 0)
	words := []string{"respipe"}
	if e.given.command != "load" {
		words = append(words, e.given.command)
	}
	for _, o := range e.given.options {
		if replaced[o.name] || o.name == "after" && e.report.Errors > 0 {
			continue // not every record went in, and none of the rest can change that
		}
		if o.name == "rejects" || o.name == "replies" { // those of this load stay
			o.value = beside(o.value, at.N, reasonsSuffix, unknownSuffix)
		}
		words = append(words, o.shell()...)
	}
	words = append(words, "--skip", strconv.FormatInt(done, 10))
	if limit := e.settings.input.Limit; limit >= 0 {
		left := max(limit-(done-e.settings.input.Skip), 0)
		words = append(words, "--limit", strconv.FormatInt(left, 10))
	}
	if expect := e.settings.load.Expect; expect > 0 {
		left := max(expect-(done-e.settings.input.Skip), 0)
		words = append(words, "--expect", strconv.FormatInt(left, 10))
	}
	if at.DB != 0 || e.settings.server.db != 0 {
		words = append(words, "-n", strconv.Itoa(at.DB))
	}
	return strings.Join(append(words, e.given.operands()...), " ")
}

// replaced are the options that are left out: those that goOn writes anew, and
// passwords.
var replaced = map[string]bool{"skip": true, "limit": true, "expect": true, "db": true, "pass": true}

// shell returns an option as words for a shell. A value that holds a password
// is shown without it.
func (o *option) shell() []string {
	value := o.value
	switch o.name {
	case "url":
		value = withoutPassword(value)
	case "cmd", "after":
		if name, _, _ := strings.Cut(value, " "); isSecretive(name) {
			value = name + " ..."
		}
	}
	switch {
	case !o.takesValue:
		return []string{o.typed}
	case strings.HasPrefix(value, "-") && len(o.typed) > 2:
		return []string{o.typed + "=" + shellQuote(value)}
	}
	return []string{o.typed, shellQuote(value)}
}

// operands returns the FILEs as words for a shell.
func (l *commandLine) operands() []string {
	var words []string
	for _, file := range l.files {
		if len(words) == 0 && strings.HasPrefix(file, "-") && file != "-" {
			words = append(words, "--")
		}
		words = append(words, shellQuote(file))
	}
	return words
}

func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "redis://..."
	}
	if u.User = url.User(u.User.Username()); u.User.Username() == "" {
		u.User = nil
	}
	return u.String()
}

// shellQuote writes a word as a POSIX shell reads it; one with control
// characters, as bash does.
func shellQuote(word string) string {
	switch {
	case word != "" && strings.Trim(word, safe) == "":
		return word
	case printable(word) != word:
		return "$" + dollarQuoted(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// safe are the characters that mean nothing to a shell.
const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,@%+=-"

func dollarQuoted(word string) string {
	var text strings.Builder
	for i := range len(word) {
		switch c := word[i]; {
		case c == '\'' || c == '\\':
			text.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&text, `\x%02x`, c)
		default:
			text.WriteByte(c)
		}
	}
	return "'" + text.String() + "'"
}
