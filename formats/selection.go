package formats

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"respipe/parser"
)

var errNotUTF8 = errors.New("not UTF-8, as JSON must be")

// selection says which columns are the fields of a hash, a stream or a
// document, and what they are called there.
type selection struct {
	all     bool
	columns []int    // unless all
	names   [][]byte // parallel to columns
	except  []string // of all
	renames []renaming
	text    int // so many of the columns asked for are no fields of a document
}

// renaming is a --rename.
type renaming struct {
	old string
	new []byte
}

// newSelection reads --fields, --exclude and --rename. The columns of a document
// are the last ones that are asked for, as they are asked for as JSON. The error
// is a *UsageError.
func newSelection(opt *Options, kind *kind, cols *parser.Columns) (selection, error) {
	s := selection{all: len(opt.Fields) == 0, except: opt.Exclude, text: len(cols.Names)}
	if !s.all && len(s.except) > 0 {
		return s, usagef("--fields and --exclude do not go together")
	}
	for _, text := range opt.Rename {
		old, new, ok := strings.Cut(text, "=")
		if !ok || old == "" || new == "" {
			return s, usagef("--rename %q is not as old=new", text)
		}
		s.renames = append(s.renames, renaming{old, []byte(new)})
	}
	for _, name := range opt.Fields {
		if _, spread := parser.SpreadName(name); spread || kind.rest == document && isSpecial(name) {
			return s, usagef("--fields: %q is no column", name)
		}
		column := len(cols.Names)
		if kind.rest == document {
			cols.Names = append(cols.Names, name)
		} else {
			column = cols.Index(name)
		}
		s.columns = append(s.columns, column)
		s.names = append(s.names, []byte(s.renamed(name)))
	}
	if !s.all {
		return s, s.check(opt.Fields)
	}
	return s, nil
}

// everything reports whether all columns are in, as they are called.
func (s *selection) everything() bool {
	return s.all && len(s.except) == 0 && len(s.renames) == 0
}

// renamed returns what a column is called as a field.
func (s *selection) renamed(name string) string {
	for _, r := range s.renames {
		if r.old == name {
			return string(r.new)
		}
	}
	return name
}

// check looks whether the renames go with the columns. The error is a
// *UsageError.
func (s *selection) check(columns []string) error {
	seen := map[string]string{}
	for _, r := range s.renames {
		if !slices.Contains(columns, r.old) || slices.Contains(s.except, r.old) {
			return usagef("--rename: %q is none of the fields", r.old)
		}
	}
	for _, name := range columns {
		new := s.renamed(name)
		if other, twice := seen[new]; twice && other != name && !slices.Contains(s.except, name) {
			return usagef("--rename: both %q and %q would be called %q", other, name, new)
		}
		if !slices.Contains(s.except, name) {
			seen[new] = name
		}
	}
	return nil
}

// addFields adds the fields of a record, which has so many columns besides
// those of all.
func (m *mapping) addFields(rec *parser.Record, asked int, format *Format) error {
	s := &m.keyed.chosen
	start := len(m.args)
	for j, i := range s.columns {
		if v := rec.Fields[i]; v != nil {
			m.add(s.names[j], v)
		}
	}
	if s.all {
		for i := asked; i < len(rec.Fields); i++ {
			if v := rec.Fields[i]; v != nil {
				m.add(rec.Names[i], v)
			}
		}
	}
	added := m.args[start:]
	if s.all && len(s.renames) > 0 {
		if err := s.rename(added); err != nil {
			return err
		}
	}
	switch {
	case len(added) == 0:
		return errNoFields
	case m.keyed.rest == document:
		return m.join(start, format == &jsonFormat)
	}
	return nil
}

// rename gives fields their new names, in names and values in turn.
func (s *selection) rename(pairs [][]byte) error {
	for i := 0; i < len(pairs); i += 2 {
		for _, r := range s.renames {
			if string(pairs[i]) == r.old {
				pairs[i] = r.new
				break
			}
		}
	}
	for _, r := range s.renames {
		times := 0
		for i := 0; i < len(pairs); i += 2 {
			if bytes.Equal(pairs[i], r.new) {
				times++
			}
		}
		if times > 1 {
			return fmt.Errorf("two fields would be called %.40q", r.new)
		}
	}
	return nil
}

// join makes one argument of the names and values from start on: a JSON object.
// The values are texts, or JSON themselves.
func (m *mapping) join(start int, json bool) (err error) {
	from := len(m.arena)
	m.arena = append(m.arena, '{')
	for i := start; i < len(m.args); i += 2 {
		if i > start {
			m.arena = append(m.arena, ',')
		}
		name, value := m.args[i], m.args[i+1]
		if m.arena, err = jsontext.AppendQuote(m.arena, name); err != nil {
			return errNotUTF8
		}
		m.arena = append(m.arena, ':')
		if json && len(value) > 0 { // the empty one is of --missing empty
			m.arena = append(m.arena, value...)
		} else if m.arena, err = jsontext.AppendQuote(m.arena, value); err != nil {
			return errNotUTF8
		}
	}
	m.arena = append(m.arena, '}')
	m.args = append(m.args[:start], m.since(from))
	return nil
}
