package formats

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"respipe/parser"
)

// csvFormat is CSV as RFC 4180 has it. Text goes in as it stands: blanks and
// the line ends inside of quotes included.
var csvFormat = Format{
	Name: "csv",
	Exts: []string{".csv"},
	Records: func(in *Input, opt *Options, want Want) Records {
		return newCSVReader(in, opt, want)
	},
}

// csvReader reads CSV. A record without quotes that lies whole in the buffer is
// cut at its delimiters; any other goes through csvScan.
type csvReader struct {
	in    *Input
	opt   *Options
	want  Want
	scan  csvScan
	null  []byte // unquoted text that is no value; nil for none
	names [][]byte
	pick  []int
	used  []bool // by column: whether it is wanted

	cells   [][]byte // by column, of the record at hand
	fields  [][]byte // by what is wanted
	scratch []byte   // for cells with doubled quotes
}

func newCSVReader(in *Input, opt *Options, want Want) *csvReader {
	delim := opt.Delimiter
	if delim == 0 {
		delim = ','
	}
	r := &csvReader{in: in, opt: opt, want: want}
	r.scan = csvScan{in: in, delim: delim, max: opt.maxRecord()}
	if opt.Null != nil {
		r.null = []byte(*opt.Null)
	}
	return r
}

// Head reads the header, or makes one up. A file without a line has no columns.
func (r *csvReader) Head() ([]string, error) {
	columns := r.opt.Columns
	pos := r.in.Pos()
	if columns == nil {
		rec, err := r.next()
		if err == io.EOF {
			return nil, nil
		} else if bad, ok := err.(*parser.Error); ok {
			return nil, &parser.Broken{Pos: bad.Pos, Err: fmt.Errorf("the columns cannot be told: %w", bad.Err)}
		} else if err != nil {
			return nil, err
		}
		pos = r.in.Pos()
		columns = r.header(rec)
	}
	var err error
	if r.pick, r.names, err = r.want.choose(columns); err != nil {
		return columns, &parser.Broken{Pos: pos, Err: err}
	}
	r.used = make([]bool, len(columns))
	for _, column := range r.pick {
		if column >= 0 {
			r.used[column] = true
		}
	}
	r.cells = make([][]byte, len(columns))
	r.fields = make([][]byte, len(r.pick))
	r.scan.keep = len(columns)
	return columns, nil
}

// header takes the names of the columns from the first record, and leaves it
// for Read if it is no header.
func (r *csvReader) header(rec csvRecord) []string {
	columns := make([]string, rec.fields)
	if r.opt.NoHeader {
		for i := range columns {
			columns[i] = strconv.Itoa(i + 1)
		}
		return columns
	}
	for i, s := range r.scan.spans {
		columns[i] = string(r.unquote(rec.text[s.from:s.to], s.doubled))
	}
	r.in.Skip(rec.size, rec.lines)
	return columns
}

// next scans the next record that is not an empty line, and leaves it unread.
func (r *csvReader) next() (csvRecord, error) {
	for {
		rec, err := r.scan.record()
		if err != nil || len(rec.text) > 0 {
			return rec, err
		}
		r.in.Skip(rec.size, rec.lines)
	}
}

// Read reads the next record.
func (r *csvReader) Read(rec *parser.Record) error {
	for {
		b := r.in.Bytes()
		end := bytes.IndexByte(b, '\n')
		if end < 0 || end > r.scan.max || bytes.IndexByte(b[:end], '"') >= 0 {
			return r.careful(rec)
		}
		rec.Pos = r.in.Pos()
		r.in.Skip(end+1, 1)
		if line := chomp(b[:end]); len(line) > 0 {
			return r.take(rec, line, r.cut(line))
		}
	}
}

// cut makes the cells of a record without quotes and returns how many fields it
// has.
func (r *csvReader) cut(line []byte) (n int) {
	for more := true; more; n++ {
		field := line
		i := bytes.IndexByte(line, r.scan.delim)
		if more = i >= 0; more {
			field, line = line[:i:i], line[i+1:]
		}
		if n < len(r.cells) {
			r.cells[n] = r.plain(field)
		}
	}
	return n
}

// careful is Read for a record with quotes, or one that is cut off.
func (r *csvReader) careful(rec *parser.Record) error {
	found, err := r.next()
	if err != nil {
		return err
	}
	rec.Pos = r.in.Pos()
	r.in.Skip(found.size, found.lines)
	r.scratch = r.scratch[:0]
	for i, s := range r.scan.spans {
		switch cell := found.text[s.from:s.to:s.to]; {
		case !r.used[i]:
		case s.quoted:
			r.cells[i] = r.unquote(cell, s.doubled)
		default:
			r.cells[i] = r.plain(cell)
		}
	}
	return r.take(rec, found.text, found.fields)
}

// take hands out the cells that are wanted of a record with n fields.
func (r *csvReader) take(rec *parser.Record, text []byte, n int) error {
	if n != len(r.cells) {
		return &parser.Error{Pos: rec.Pos, Err: fmt.Errorf("%d fields where %d are due", n, len(r.cells))}
	}
	for i, column := range r.pick {
		if column >= 0 {
			r.fields[i] = r.cells[column]
		}
	}
	rec.Names, rec.Fields, rec.Raw = r.names, r.fields, text
	return nil
}

// plain returns the value of an unquoted cell.
func (r *csvReader) plain(cell []byte) []byte {
	if r.null != nil && bytes.Equal(cell, r.null) {
		return nil
	}
	return cell
}

// unquote returns the text of a quoted cell, in scratch if it holds quotes,
// which stand doubled in it.
func (r *csvReader) unquote(cell []byte, doubled bool) []byte {
	if !doubled {
		return cell
	}
	from := len(r.scratch)
	for {
		i := bytes.IndexByte(cell, '"')
		if i < 0 {
			r.scratch = append(r.scratch, cell...)
			return r.scratch[from:len(r.scratch):len(r.scratch)]
		}
		r.scratch = append(r.scratch, cell[:i+1]...)
		cell = cell[i+2:]
	}
}
