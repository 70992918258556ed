package parser

import (
	"fmt"
	"slices"
	"strings"
)

// Columns are the columns that templates ask for, in the order of first use.
// Templates know them by their index.
type Columns struct {
	Names []string
}

// Index returns the index of name and adds it where it is new.
func (c *Columns) Index(name string) int {
	if i := slices.Index(c.Names, name); i >= 0 {
		return i
	}
	c.Names = append(c.Names, name)
	return len(c.Names) - 1
}

// Template is text with places for values, made by ParseTemplate. It never
// changes.
type Template struct {
	parts  []part // at least one; no two texts in a row
	spread bool   // it is one placeholder, whose value is a list
}

// part is literal text or a placeholder.
type part struct {
	text   []byte
	column int // -1 for text
}

// ParseTemplate reads one argument with placeholders, and adds the columns it
// asks for to cols.
//
//	template    = { text | "{{" | "}}" | placeholder | tag }
//	tag         = "{" { text | "{{" | "}}" | placeholder } "}"
//	placeholder = "{" name "}" | "{" name "..." "}"
//	text, name  = one or more bytes without braces
//
// A doubled brace is always one literal brace, read from the left. A single
// opening brace begins a placeholder if the next brace closes, and a hash tag,
// which keeps its braces, if the next one opens:
//
//	user:{id}                user:7
//	{user:{id}}:profile      {user:7}:profile
//	{{{id}}}                 {7}
//	{{id}}                   {id}, no placeholder
//
// A name that ends in three dots spreads a list, see AppendItem: it must be all
// of the argument. Whatever else is in a name is for the reader of the records.
//
// An error names the piece from the offending brace on.
func ParseTemplate(text string, cols *Columns) (*Template, error) {
	t := &Template{}
	tag := "" // from the open hash tag on
	for rest := text; rest != ""; {
		next := nextBrace(rest, 1)
		switch {
		case rest[0] != '{' && rest[0] != '}':
			t.addText(rest[:next])
			rest = rest[next:]
		case strings.HasPrefix(rest[1:], rest[:1]):
			t.addText(rest[:1])
			rest = rest[2:]
		case rest[0] == '}' && tag == "":
			return nil, fmt.Errorf("a brace closes that did not open: %.40q (a literal one is written twice)", rest)
		case rest[0] == '}':
			t.addText("}")
			tag, rest = "", rest[1:]
		case next == len(rest):
			return nil, fmt.Errorf("a brace is left open: %.40q", rest)
		case next == 1:
			return nil, fmt.Errorf("a placeholder without a name: %.40q", rest)
		case rest[next] == '}':
			if err := t.addPlaceholder(rest[:next+1], text, cols); err != nil {
				return nil, err
			}
			rest = rest[next+1:]
		case tag != "":
			return nil, fmt.Errorf("braces nested too deep: %.40q", tag)
		default:
			t.addText("{")
			tag, rest = rest, rest[1:]
		}
	}
	if tag != "" {
		return nil, fmt.Errorf("a brace is left open: %.40q", tag)
	}
	if len(t.parts) == 0 {
		t.addText("")
	}
	return t, nil
}

// nextBrace returns the index of the first brace of s from on, or its length.
func nextBrace(s string, from int) int {
	if n := strings.IndexAny(s[from:], "{}"); n >= 0 {
		return from + n
	}
	return len(s)
}

// addText adds literal text to the end.
func (t *Template) addText(text string) {
	if n := len(t.parts); n > 0 && t.parts[n-1].column < 0 {
		t.parts[n-1].text = append(t.parts[n-1].text, text...)
		return
	}
	t.parts = append(t.parts, part{text: []byte(text), column: -1})
}

// addPlaceholder adds a placeholder, which stands in text, to the end.
func (t *Template) addPlaceholder(placeholder, text string, cols *Columns) error {
	column := placeholder[1 : len(placeholder)-1]
	name, spread := SpreadName(column)
	switch {
	case name == "":
		return fmt.Errorf("a placeholder without a name: %.40q", placeholder)
	case spread && placeholder != text:
		return fmt.Errorf("a spread is an argument of its own: %.40q", placeholder)
	}
	t.parts = append(t.parts, part{column: cols.Index(column)})
	t.spread = spread
	return nil
}

// Literal returns the text of a template without placeholders; ok is false if
// it has one.
func (t *Template) Literal() (text string, ok bool) {
	if len(t.parts) == 1 && t.parts[0].column < 0 {
		return string(t.parts[0].text), true
	}
	return "", false
}

// Column returns the column of a template that is one placeholder and nothing
// else, -1 of any other.
func (t *Template) Column() int {
	if len(t.parts) == 1 {
		return t.parts[0].column
	}
	return -1
}

// Spreads reports whether the template is a placeholder whose value is a list,
// which is for Expand only.
func (t *Template) Spreads() bool { return t.spread }

// Columns returns the columns that the template uses, each once, in order of
// first use.
func (t *Template) Columns() []int {
	var columns []int
	for _, p := range t.parts {
		if p.column >= 0 && !slices.Contains(columns, p.column) {
			columns = append(columns, p.column)
		}
	}
	return columns
}

// Append appends the template with the values of one record, parallel to the
// columns, to dst. Missing is -1, or the first column whose value is nil: then
// dst is returned as it was.
func (t *Template) Append(dst []byte, vals [][]byte) (out []byte, missing int) {
	out = dst
	for i := range t.parts {
		p := &t.parts[i]
		text := p.text
		if p.column >= 0 {
			if text = vals[p.column]; text == nil {
				return dst, p.column
			}
		}
		out = append(out, text...)
	}
	return out, -1
}
