package formats

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"respipe/parser"
)

// row is a record of a table that stands whole in the buffer, not read yet.
type row struct {
	text   []byte // without its line end
	size   int    // with it
	lines  int    // line ends in all of it
	fields int
}

// table is what CSV and TSV have in common: columns, and how the cells of a
// record become the fields that are wanted.
type table struct {
	in    *Input
	opt   *Options
	want  Want
	delim []byte
	top   []byte // what stands before the first record, each line with an LF
	null  []byte // text of the options, as it stands in the file, that is no value; nil for none
	names [][]byte
	pick  []int
	used  []bool // by column: whether it is wanted

	cells   [][]byte // by column, of the record at hand
	fields  [][]byte // by what is wanted
	scratch []byte   // for cells that are not as they stand in the file
}

// newTable makes a table; delim is for Options that have none.
func newTable(in *Input, opt *Options, want Want, delim string) table {
	if opt.Delimiter != "" {
		delim = opt.Delimiter
	}
	var null []byte
	if opt.Null != nil {
		null = []byte(*opt.Null)
	}
	return table{in: in, opt: opt, want: want, delim: []byte(delim), null: null}
}

// head finds the names of the columns: those of the options, else those in the
// first row, which stays unread if it is no header. A file without a row has no
// columns.
func (t *table) head(first func() (names []string, r row, err error)) ([]string, error) {
	columns, pos := t.opt.Columns, t.in.Pos()
	if columns == nil {
		names, r, err := first()
		if err == io.EOF {
			return nil, nil
		}
		pos = t.in.Pos()
		if err == nil {
			if bad := t.in.checkText(r.text); bad != nil {
				err = &parser.Error{Pos: pos, Err: bad}
			}
		}
		if bad, ok := err.(*parser.Error); ok {
			return nil, &parser.Broken{Pos: bad.Pos, Err: fmt.Errorf("the columns cannot be told: %w", bad.Err)}
		} else if err != nil {
			return nil, err
		}
		if columns = names; t.opt.NoHeader {
			columns = numbered(len(names))
		} else {
			t.top = append(t.top, t.in.Bytes()[:r.size]...)
			t.top = append(bytes.TrimSuffix(t.top, []byte{t.in.eol}), '\n')
			t.in.Skip(r.size, r.lines)
		}
	}
	if err := t.choose(columns); err != nil {
		return columns, &parser.Broken{Pos: pos, Err: err}
	}
	return columns, nil
}

// preamble is that of prefaced.
func (t *table) preamble() []byte { return t.top }

// numbered returns the names 1, 2, 3 … of n columns.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i + 1)
	}
	return names
}

// choose finds the wanted columns among those that there are.
func (t *table) choose(columns []string) (err error) {
	if t.pick, t.names, err = t.want.choose(columns); err != nil {
		return err
	}
	t.used = make([]bool, len(columns))
	for _, column := range t.pick {
		if column >= 0 {
			t.used[column] = true
		}
	}
	t.cells = make([][]byte, len(columns))
	t.fields = make([][]byte, len(t.pick))
	return nil
}

// cut makes the cells of a record that needs no more than to be cut at its
// delimiters, and returns how many fields it has.
func (t *table) cut(line []byte) (n int) {
	if len(t.delim) > 1 {
		return t.cutWide(line)
	}
	delim := t.delim[0]
	for more := true; more; n++ {
		field := line
		i := bytes.IndexByte(line, delim)
		if more = i >= 0; more {
			field, line = line[:i:i], line[i+1:]
		}
		if n < len(t.cells) {
			t.cells[n] = t.plain(field)
		}
	}
	return n
}

// cutWide is cut for a delimiter of several bytes.
func (t *table) cutWide(line []byte) (n int) {
	for more := true; more; n++ {
		var field []byte
		field, line, more = bytes.Cut(line, t.delim)
		if n < len(t.cells) {
			t.cells[n] = t.plain(field[:len(field):len(field)])
		}
	}
	return n
}

// plain returns the value of a cell that is as it stands in the file.
func (t *table) plain(cell []byte) []byte {
	if t.null != nil && bytes.Equal(cell, t.null) {
		return nil
	}
	return cell
}

// take hands out the cells that are wanted of a record with n fields.
func (t *table) take(rec *parser.Record, text []byte, n int) error {
	if n != len(t.cells) {
		if !t.opt.Ragged {
			return &parser.Error{Pos: rec.Pos, Err: fmt.Errorf("%d fields where %d are due", n, len(t.cells))}
		}
		clear(t.cells[min(n, len(t.cells)):])
	}
	for i, column := range t.pick {
		if column >= 0 {
			t.fields[i] = t.cells[column]
		}
	}
	rec.Names, rec.Fields, rec.Raw = t.names, t.fields, text
	return nil
}
