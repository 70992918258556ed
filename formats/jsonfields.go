package formats

import (
	"fmt"

	"respipe/parser"
)

// field returns what the record has in the i-th of the columns asked for.
func (r *jsonReader) field(i int) ([]byte, error) {
	name := r.want.Names[i]
	value := r.columns[i].find(r.members, &r.items)
	switch _, spread := parser.SpreadName(name); {
	case value == nil, spread && value[0] == 'n':
		return nil, nil
	case spread && value[0] != '[':
		return nil, fmt.Errorf("{%s} is no array", name)
	case spread:
		return r.list(value), nil
	case r.want.JSON && i >= r.want.Text:
		return r.source(value), nil
	}
	return r.text(value), nil
}

// addMembers adds all members of the record to its fields.
func (r *jsonReader) addMembers() {
	for _, m := range r.members {
		var name, value []byte
		if r.scratch, name = unquote(r.scratch, m.name); r.want.leavesOut(name) {
			continue
		}
		if r.want.JSON {
			value = r.source(m.value)
		} else {
			value = r.text(m.value)
		}
		r.names, r.fields = append(r.names, name), append(r.fields, value)
	}
}

// text returns a value as it goes into a command; nil for null.
func (r *jsonReader) text(value []byte) (text []byte) {
	switch value[0] {
	case 'n':
		return nil
	case '"':
		r.scratch, text = unquote(r.scratch, value)
		return text
	}
	return r.source(value)
}

// source returns a value as JSON without blanks.
func (r *jsonReader) source(value []byte) []byte {
	if value[0] != '{' && value[0] != '[' {
		return value
	}
	from := len(r.scratch)
	r.scratch = appendCompact(r.scratch, value)
	return r.scratch[from:len(r.scratch):len(r.scratch)]
}

// list returns the values of an array, put together by AppendItem; nil if there
// are none, or one of them is null.
func (r *jsonReader) list(value []byte) []byte {
	from := len(r.lists)
	r.items.enter(value)
	for item := r.items.next(); item != nil; item = r.items.next() {
		text := r.text(item)
		if text == nil {
			return nil
		}
		r.lists = parser.AppendItem(r.lists, text)
	}
	if len(r.lists) == from {
		return nil
	}
	return r.lists[from:len(r.lists):len(r.lists)]
}
