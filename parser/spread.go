package parser

import (
	"encoding/binary"
	"strings"
)

// A placeholder {name...} spreads: it is an argument of its own in a template,
// and becomes as many as its value holds. That value is one slice of bytes as
// any other is, and holds a list of values, which AppendItem puts together.

// spreadMark ends the name of a placeholder that spreads.
const spreadMark = "..."

// SpreadName returns the name of a column without the mark of a spread; ok is
// false if it has none.
func SpreadName(column string) (name string, ok bool) {
	return strings.CutSuffix(column, spreadMark)
}

// AppendItem adds a value to the end of a list. The nil list is the empty one.
func AppendItem(list, value []byte) []byte {
	list = binary.LittleEndian.AppendUint64(list, uint64(len(value)))
	return append(list, value...)
}

// AppendItems appends the values of a list to args. They are views into it.
func AppendItems(args [][]byte, list []byte) [][]byte {
	for len(list) > 0 {
		end := 8 + binary.LittleEndian.Uint64(list)
		args = append(args, list[8:end:end])
		list = list[end:]
	}
	return args
}
