package main

import (
	"bytes"
	"fmt"

	"respipe/parser"
)

// rejected is a record that did not take effect, and why.
type rejected struct {
	keptRecord
	words []byte       // of the server, or ours
	ran   []ranCommand // commands of the record that did take effect
}

// ranCommand is one of several commands of a record.
type ranCommand struct {
	index   int    // among those of the record, 1-based
	command []byte // RESP; nil where it is not known any more
}

// appendReason appends a line of FILE.reasons. Args are those of the command
// that was refused; left says why the record is in no file, or is "".
func (r *rejects) appendReason(dst []byte, x *rejected, args [][]byte, left string) []byte {
	dst = appendMember(append(dst, '{'), "file", []byte(x.pos.File))
	dst = fmt.Appendf(dst, `,"line":%d,"byte":%d,"record":%d`, x.pos.Line, x.pos.Offset, x.number)
	dst = r.appendCommand(dst, args)
	dst = appendMember(append(dst, ','), "error", withoutArguments(x.words))
	for i, ran := range x.ran {
		dst = append(dst, [...]string{`,"ran":[`, ","}[min(i, 1)]...)
		dst = fmt.Appendf(dst, `{"index":%d`, ran.index)
		r.args = parser.ParseRequest(ran.command, r.args[:0])
		dst = append(r.appendCommand(dst, r.args), '}')
	}
	if len(x.ran) > 0 {
		dst = append(dst, ']')
	}
	if left != "" {
		dst = appendMember(append(dst, ','), "left_out", []byte(left))
	}
	return append(dst, "}\n"...)
}

// appendCommand appends name and first key of a command, as far as there are.
func (r *rejects) appendCommand(dst []byte, args [][]byte) []byte {
	const longest = 200 // bytes of a name that is none
	if len(args) == 0 {
		return dst
	}
	op := r.ops.Find(args)
	if !op.Known() {
		return appendMember(append(dst, ','), "command", args[0][:min(len(args[0]), longest)])
	}
	dst = appendMember(append(dst, ','), "command", []byte(op.Name))
	if r.keys = op.AppendKeys(r.keys[:0], args); len(r.keys) > 0 && !isSecret(args) {
		dst = appendMember(append(dst, ','), "key", r.keys[0])
	}
	return dst
}

// appendMember appends a member of a JSON object.
func appendMember(dst []byte, name string, value []byte) []byte {
	dst = append(append(append(dst, '"'), name...), `":`...)
	return parser.AppendJSONText(dst, value)
}

// withoutArguments cuts what a server says behind the words that introduce
// arguments.
func withoutArguments(words []byte) []byte {
	if i := bytes.Index(words, quotesArguments); i >= 0 {
		return append(bytes.Clone(words[:i+len(quotesArguments)]), " ..."...)
	}
	return words
}
