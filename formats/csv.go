package formats

import (
	"bytes"
	"errors"

	"respipe/parser"
)

// csvFormat is CSV as RFC 4180 has it, and as spreadsheets write it. Text goes
// in as it stands: blanks and the line ends inside of quotes included.
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
	table
	scan csvScan
}

func newCSVReader(in *Input, opt *Options, want Want) *csvReader {
	r := &csvReader{table: newTable(in, opt, want, ",")}
	r.scan = csvScan{in: in, delim: r.delim, escape: opt.Escape, max: opt.maxRecord()}
	return r
}

// Head reads the header, or makes one up. A file without a line has no columns.
func (r *csvReader) Head() ([]string, error) {
	if err := r.in.findLineEnd(); err != nil {
		return nil, err
	}
	if err := r.readHint(); err != nil {
		return nil, err
	}
	columns, err := r.head(r.first)
	r.scan.keep = len(columns)
	return columns, err
}

// first scans the first record and leaves it unread.
func (r *csvReader) first() (names []string, found row, err error) {
	if found, err = r.next(); err != nil {
		return nil, found, err
	}
	for i := range r.scan.spans {
		names = append(names, string(r.text(found.text, &r.scan.spans[i])))
	}
	return names, found, nil
}

// next scans the next record that is not an empty line, and leaves it unread.
func (r *csvReader) next() (row, error) {
	for {
		found, err := r.scan.record()
		if err != nil || len(found.text) > 0 {
			return found, err
		}
		r.in.Skip(found.size, found.lines)
	}
}

// Read reads the next record.
func (r *csvReader) Read(rec *parser.Record) error {
	for {
		b := r.in.Bytes()
		end := bytes.IndexByte(b, r.in.eol)
		if end < 0 || end > r.scan.max || bytes.IndexByte(b[:end], '"') >= 0 || r.scan.escapes(b[:end]) {
			return r.careful(rec)
		}
		rec.Pos = r.in.Pos()
		r.in.Skip(end+1, 1)
		if line := chomp(b[:end]); len(line) > 0 {
			return r.take(rec, line, r.cut(line))
		}
	}
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
	for i := range r.scan.spans {
		if r.used[i] {
			r.cells[i] = r.value(found.text, &r.scan.spans[i])
		}
	}
	return r.take(rec, found.text, found.fields)
}

// value returns the value of a cell of a record.
func (r *csvReader) value(text []byte, s *csvSpan) []byte {
	if !s.quoted && r.plain(text[s.from:s.to]) == nil {
		return nil
	}
	return r.text(text, s)
}

// text returns the text of a cell of a record without its quotes, in scratch if
// quotes stand doubled in it or bytes escaped.
func (r *csvReader) text(text []byte, s *csvSpan) []byte {
	cell := text[s.from:s.to:s.to]
	switch {
	case !s.changed:
		return cell
	case r.scan.escape != 0:
		return r.unescape(cell, s.quoted)
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

// unescape is text for a file with an escape character.
func (r *csvReader) unescape(cell []byte, quoted bool) []byte {
	from := len(r.scratch)
	for i := 0; i < len(cell); i++ {
		if i+1 < len(cell) && (cell[i] == r.scan.escape && r.scan.escapable(cell[i+1]) || quoted && cell[i] == '"') {
			i++
		}
		r.scratch = append(r.scratch, cell[i])
	}
	return r.scratch[from:len(r.scratch):len(r.scratch)]
}

// kept is that of keeper.
func (r *csvReader) kept(bool) kept {
	if r.scan.cause == nil {
		return kept{}
	}
	return kept{ahead: r.scan.breach, cause: r.scan.cause.Error()}
}

// goOn is that of keeper.
func (r *csvReader) goOn(k kept) {
	if k.ahead > 0 {
		r.scan.breach, r.scan.cause = k.ahead, errors.New(k.cause)
	}
}
