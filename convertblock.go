package main

import (
	"regexp"

	"respipe/loader"
	"respipe/parser"
)

// openBlock is the MULTI that a converter has written last, while it is open.
type openBlock struct {
	open    bool
	file    int
	mark    parser.Mark
	pos     parser.Pos
	spoiled int // line of the first record that was refused in it, or 0
}

// take takes note of a command that is about to be written. Of the EXEC of a
// block in which a record was refused it returns the line of that record: it
// must not be written. Else it returns 0.
func (b *openBlock) take(c *parser.Command, src loader.Source) (spoiled int) {
	switch alone := len(c.Args) == 1; {
	case c.Op.Class == parser.Exec && b.open:
		spoiled = b.spoiled
		*b = openBlock{}
	case c.Op.Class == parser.Discard && alone:
		*b = openBlock{}
	case c.Op.Class == parser.Multi && alone && !b.open:
		*b = openBlock{open: true, file: c.File, mark: src.Mark(), pos: c.Pos}
	}
	return spoiled
}

// spoil notes that the record on line was refused.
func (b *openBlock) spoil(line int) {
	if b.open && b.spoiled == 0 {
		b.spoiled = line
	}
}

// kinds groups errors that say the same but for numbers.
type kinds struct {
	list  []*loader.Kind
	byKey map[string]*loader.Kind
}

var numbers = regexp.MustCompile(`[0-9]+`)

// count counts an error and returns its number in its kind.
func (k *kinds) count(pos parser.Pos, text string) int64 {
	const most = 200 // what is new then shares the last one
	key := numbers.ReplaceAllString(text, "0")
	kind := k.byKey[key]
	switch {
	case kind != nil:
	case len(k.list) == most:
		kind = k.list[most-1]
		kind.Text = "other errors"
	default:
		kind = &loader.Kind{Text: text, First: pos}
		k.list = append(k.list, kind)
		if k.byKey == nil {
			k.byKey = map[string]*loader.Kind{}
		}
		k.byKey[key] = kind
	}
	kind.Count++
	return kind.Count
}
