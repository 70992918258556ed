package formats

import (
	"bytes"
	"strconv"
	"strings"
)

// jsonMember is a member of an object, as source text.
type jsonMember struct {
	name  []byte // with its quotes
	value []byte
}

// jsonColumn is a column as a template asks for it: the name of a member or a
// path into one, as a.b[0].c. Where a record has a member of just that name,
// dots and all, that is meant and no path.
type jsonColumn struct {
	name  []byte
	path  []jsonStep // at least two; nil if name is no path
	seen  int        // index of the member in the record where it was found last
	first int        // the same for the first step of the path
}

// jsonStep goes from a value to one that it holds: a member of an object, or
// an element of an array.
type jsonStep struct {
	member []byte // nil for an element
	index  int
}

// newColumn makes a column of what stands in a template.
func newColumn(name string) jsonColumn {
	return jsonColumn{name: []byte(name), path: parsePath(name)}
}

// parsePath returns the steps of a path; nil if it is a name and no path.
//
//	path = name ( "." name | "[" digits "]" ) { "." name | "[" digits "]" }
func parsePath(s string) []jsonStep {
	var path []jsonStep
	for rest := "." + s; rest != ""; {
		end := strings.IndexAny(rest[1:], ".[") + 1
		if end == 0 {
			end = len(rest)
		}
		step := jsonStep{member: []byte(rest[1:end])}
		if rest[0] == '[' {
			index, err := strconv.ParseUint(strings.TrimSuffix(rest[1:end], "]"), 10, 31)
			if err != nil || rest[end-1] != ']' {
				return nil
			}
			step = jsonStep{index: int(index)}
		} else if end == 1 {
			return nil
		}
		path = append(path, step)
		rest = rest[end:]
	}
	if len(path) < 2 {
		return nil
	}
	return path
}

// find returns the value of the column in a record, as source text; nil if it
// has none. It goes through values by the items lent to it.
func (c *jsonColumn) find(members []jsonMember, it *jsonItems) []byte {
	value := member(members, c.name, &c.seen)
	if value != nil || c.path == nil {
		return value
	}
	value = member(members, c.path[0].member, &c.first)
	for _, step := range c.path[1:] {
		if value == nil {
			return nil
		}
		value = step.from(it, value)
	}
	return value
}

// member returns the value of a member, nil if there is none. Seen is where to
// look first.
func member(members []jsonMember, name []byte, seen *int) []byte {
	if i := *seen; i < len(members) && members[i].is(name) {
		return members[i].value
	}
	for i := range members {
		if members[i].is(name) {
			*seen = i
			return members[i].value
		}
	}
	return nil
}

// is reports whether the member has this name.
func (m *jsonMember) is(name []byte) bool {
	_, text := unquote(nil, m.name)
	return bytes.Equal(text, name)
}

// from goes one step; nil if it leads nowhere.
func (s *jsonStep) from(it *jsonItems, value []byte) []byte {
	opening := byte('[')
	if s.member != nil {
		opening = '{'
	}
	if value[0] != opening {
		return nil
	}
	it.enter(value)
	if s.member == nil {
		for range s.index {
			if it.next() == nil {
				return nil
			}
		}
		return it.next()
	}
	for name := it.next(); name != nil; name = it.next() {
		value := it.next()
		if _, text := unquote(nil, name); bytes.Equal(text, s.member) {
			return value
		}
	}
	return nil
}
