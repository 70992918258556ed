package formats

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"respipe/parser"
)

// Want says which columns a reader fills in.
type Want struct {
	Names  []string // the first fields of every record, in this order; "name..." is a list, see parser.AppendItem
	All    bool     // behind them all columns that there are, in their own order
	Except []string // but these

	// JSON asks for values as JSON text, but for the first Text of Names. It is
	// nothing to a reader whose values are all text.
	JSON bool
	Text int
}

// leavesOut reports whether a column is among Except.
func (w *Want) leavesOut(column []byte) bool {
	for _, name := range w.Except {
		if name == string(column) {
			return true
		}
	}
	return false
}

// specials are the names of what every record has besides its columns. Readers
// leave these fields nil.
var specials = []string{"@record", "@line", "@file", "@raw"}

// choose finds the wanted columns among those that there are. Pick holds their
// indexes, -1 for a special one, and names is parallel to it.
func (w Want) choose(columns []string) (pick []int, names [][]byte, err error) {
	for _, name := range w.Names {
		i, err := find(name, columns)
		if err != nil {
			return nil, nil, err
		}
		pick, names = append(pick, i), append(names, []byte(name))
	}
	if !w.All {
		return pick, names, nil
	}
	for _, name := range w.Except {
		if !slices.Contains(columns, name) {
			return nil, nil, noColumn(name, columns)
		}
	}
	for i, name := range columns {
		if slices.Contains(w.Except, name) {
			continue
		}
		if _, err := find(name, columns); err != nil || name == "" {
			return nil, nil, &UsageError{
				Msg:  fmt.Sprintf("a hash cannot have the field %q: the column has no name, or one that is there twice", name),
				Hint: "--fields says which columns go in, or --exclude which do not",
			}
		}
		pick, names = append(pick, i), append(names, []byte(name))
	}
	return pick, names, nil
}

// find returns the index of a column, or -1 for a special name.
func find(name string, columns []string) (int, error) {
	at := -1
	for i, c := range columns {
		if c != name {
			continue
		}
		if at >= 0 {
			return 0, usagef("the column %q is there twice, in place %d and %d", name, at+1, i+1)
		}
		at = i
	}
	if at >= 0 || isSpecial(name) {
		return at, nil
	}
	return 0, noColumn(name, columns)
}

// noColumn says that a name is none of the columns.
func noColumn(name string, columns []string) *UsageError {
	if _, spread := parser.SpreadName(name); spread {
		return &UsageError{
			Msg:  fmt.Sprintf("{%s} spreads an array, and there are none but in JSON", name),
			Hint: "the columns are " + list(columns),
		}
	}
	return usagef("there is no column %q; there are %s", name, list(columns))
}

// isSpecial reports whether name is one of specials.
func isSpecial(name string) bool {
	return slices.Contains(specials, name)
}

// list shows the names of columns, not too many of them.
func list(columns []string) string {
	const enough = 30
	var quoted []string
	for i, name := range columns {
		if i == enough {
			return fmt.Sprintf("%s and %d more", strings.Join(quoted, ", "), len(columns)-enough)
		}
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	return strings.Join(quoted, ", ")
}

// needsKey says that a file holds records, and how they become commands.
func needsKey(file string, format *Format, columns []string) *UsageError {
	msg := "these are records, so --key or --cmd must say which commands to make of them"
	if len(columns) > 0 {
		msg += "; their columns are " + list(columns)
	}
	return &UsageError{Msg: msg, Hint: example(file, format, columns)}
}

// example is a command line that loads a file of records.
func example(file string, format *Format, columns []string) string {
	prefix, option, column := "record", "", "@record"
	if file != stdinArg {
		base := filepath.Base(withoutPacking(file))
		prefix = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if known, _ := formatOf(file, &Options{Key: prefix}); known != format && format != &csvFormat {
		option = "-f " + format.Name + " "
	}
	isPlain := func(name string) bool { return name != "" && !strings.ContainsAny(name, "{}") }
	if i := slices.IndexFunc(columns, isPlain); i >= 0 {
		column = columns[i]
	}
	key := strings.NewReplacer("{", "{{", "}", "}}").Replace(prefix) + ":{" + column + "}"
	return fmt.Sprintf("respipe %s--key %s %s", option, quote(key), quote(file))
}

// quote makes one word of s for a shell.
func quote(s string) string {
	if !strings.ContainsAny(s, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
