package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"respipe/parser"
)

// quotesArguments stands before the arguments that a server quotes of a
// command it does not know.
var quotesArguments = []byte("with args beginning with:")

// describer makes the text of failures. It shows name and keys of a command;
// its values only when asked, and those of commands that carry passwords never.
type describer struct {
	values bool
	ops    parser.Ops
	args   [][]byte
	keys   [][]byte
}

// failure returns the server's words and the command's name and keys. The
// command is RESP, or nil when it is not known any more.
func (d *describer) failure(words, command []byte) string {
	d.args = parser.ParseRequest(command, d.args[:0])
	secret := len(d.args) > 0 && isSecretive(string(d.args[0]))
	if head, _, found := bytes.Cut(words, quotesArguments); found && (!d.values || secret) {
		words = append(append(bytes.Clone(head), quotesArguments...), " ..."...)
	}
	text := parser.AppendPrintable(nil, words)
	if len(d.args) == 0 {
		return string(text)
	}
	text = append(text, " ["...)
	if d.values && !secret {
		text = d.appendArgs(text, d.args)
	} else {
		text = d.appendNameAndKeys(text, d.args)
	}
	return string(append(text, ']'))
}

// nameAndKeys returns what is shown of a command.
func (d *describer) nameAndKeys(args [][]byte) string { return string(d.appendNameAndKeys(nil, args)) }

func (d *describer) appendNameAndKeys(text []byte, args [][]byte) []byte {
	const shownKeys = 3
	op := d.ops.Find(args)
	if !op.Known() {
		return appendClipped(text, args[0])
	}
	text = append(text, op.Name...)
	d.keys = op.AppendKeys(d.keys[:0], args)
	for _, key := range d.keys[:min(len(d.keys), shownKeys)] {
		text = appendClipped(append(text, ' '), key)
	}
	if more := len(d.keys) - shownKeys; more > 0 {
		text = fmt.Appendf(text, " and %d keys more", more)
	}
	return text
}

func (d *describer) appendArgs(text []byte, args [][]byte) []byte {
	const shownArgs = 20
	for i, arg := range args[:min(len(args), shownArgs)] {
		if i > 0 {
			text = append(text, ' ')
		}
		text = appendClipped(text, arg)
	}
	if more := len(args) - shownArgs; more > 0 {
		text = fmt.Appendf(text, " and %d arguments more", more)
	}
	return text
}

// appendClipped appends at most 200 bytes of an argument.
func appendClipped(text, arg []byte) []byte {
	const most = 200
	text = parser.AppendPrintable(text, arg[:min(len(arg), most)])
	if len(arg) > most {
		text = append(text, "..."...)
	}
	return text
}

// secretive are the commands that may carry a password anywhere.
var secretive = []string{"ACL", "AUTH", "CONFIG", "HELLO", "MIGRATE", "SENTINEL"}

func isSecretive(name string) bool { return slices.Contains(secretive, strings.ToUpper(name)) }
