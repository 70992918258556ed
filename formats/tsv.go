package formats

import (
	"bytes"
	"io"

	"respipe/parser"
)

// tsvFormat is the dialect of PostgreSQL's COPY and of mysql --batch: fields
// between tabs, escapes with a backslash, quotes are data, \N is no value. An
// empty line is skipped, unless there is one column: then it is an empty value.
var tsvFormat = Format{
	Name: "tsv",
	Exts: []string{".tsv"},
	Records: func(in *Input, opt *Options, want Want) Records {
		return newTSVReader(in, opt, want)
	},
}

// tsvNull is the text of a field without a value, unless the options name one.
var tsvNull = []byte(`\N`)

// tsvEnd is the line that ends the data of COPY.
const tsvEnd = `\.`

// tsvReader reads TSV. A record without backslashes that lies whole in the
// buffer is cut at its delimiters, as it cannot hold tsvNull; any other is read
// with care.
type tsvReader struct {
	table
	max   int // of a record, in bytes
	ended bool
}

func newTSVReader(in *Input, opt *Options, want Want) *tsvReader {
	return &tsvReader{table: newTable(in, opt, want, "\t"), max: opt.maxRecord()}
}

// Head reads the header, or makes one up. A file without a line has no columns.
func (r *tsvReader) Head() ([]string, error) {
	if err := r.in.findLineEnd(); err != nil {
		return nil, err
	}
	return r.head(r.first)
}

// first finds the first line that is not empty and leaves it unread.
func (r *tsvReader) first() (names []string, found row, err error) {
	if found, err = r.next(false); err != nil {
		return nil, found, err
	}
	for line, more := found.text, true; more; {
		var field []byte
		field, line, more = r.field(line)
		names = append(names, string(r.unescape(field)))
	}
	return names, found, nil
}

// Read reads the next record.
func (r *tsvReader) Read(rec *parser.Record) error {
	for !r.ended {
		b := r.in.Bytes()
		end := bytes.IndexByte(b, r.in.eol)
		if end < 0 || end > r.max || bytes.IndexByte(b[:end], '\\') >= 0 {
			break
		}
		rec.Pos = r.in.Pos()
		r.in.Skip(end+1, 1)
		if line := chomp(b[:end]); len(line) > 0 || len(r.cells) == 1 {
			return r.take(rec, line, r.cut(line))
		}
	}
	return r.careful(rec)
}

// careful is Read for a record with backslashes, or one that is cut off.
func (r *tsvReader) careful(rec *parser.Record) error {
	found, err := r.next(len(r.cells) == 1)
	if err != nil {
		return err
	}
	rec.Pos = r.in.Pos()
	r.in.Skip(found.size, found.lines)
	r.scratch = r.scratch[:0]
	n := 0
	for line, more := found.text, true; more; n++ {
		var field []byte
		field, line, more = r.field(line)
		if n < len(r.cells) && r.used[n] {
			r.cells[n] = r.value(field)
		}
	}
	return r.take(rec, found.text, n)
}

// next finds the next record and leaves it unread. Empty lines are records only
// where empty says so.
func (r *tsvReader) next(empty bool) (row, error) {
	for !r.ended {
		found, err := r.line()
		switch {
		case err != nil:
			return row{}, err
		case string(found.text) == tsvEnd:
			return row{}, r.end(found)
		case empty || len(found.text) > 0:
			return found, nil
		}
		r.in.Skip(found.size, found.lines)
	}
	return row{}, io.EOF
}

// line finds the line at hand and leaves it unread. A backslash before a line
// end makes it data. A line that is too long is refused, and the input stands
// behind its first line end then.
func (r *tsvReader) line() (row, error) {
	for seen := 0; ; {
		b := r.in.Bytes()
		i := bytes.IndexByte(b[seen:], r.in.eol)
		if i < 0 {
			seen = len(b)
		} else {
			seen += i
		}
		if seen > r.max {
			pos := r.in.Pos()
			if err := r.in.passLine(); err != errTooLong {
				return row{}, err
			}
			return row{}, &parser.Error{Pos: pos, Err: errTooLong}
		}
		switch {
		case i < 0:
			if err := r.in.Fill(); err == io.EOF && seen > 0 {
				return row{text: chomp(b), size: seen, lines: r.in.lineEnds(b)}, nil
			} else if err != nil {
				return row{}, err
			}
		case isEscaped(b[:seen]):
			seen++
		default:
			return row{text: chomp(b[:seen]), size: seen + 1, lines: r.in.lineEnds(b[:seen+1])}, nil
		}
	}
}

// isEscaped reports whether what stands behind b is escaped: whether b ends in
// an odd number of backslashes.
func isEscaped(b []byte) bool {
	return (len(b)-len(bytes.TrimRight(b, `\`)))%2 == 1
}

// end passes over all that stands behind the data of COPY.
func (r *tsvReader) end(found row) error {
	r.ended = true
	r.in.Skip(found.size, found.lines)
	pos := r.in.Pos()
	err := r.in.discardAll()
	if err == io.EOF && r.in.Pos().Offset > pos.Offset {
		r.opt.note(pos, `what follows \. is left out`)
	}
	return err
}

// field cuts the first field off a line, at a delimiter that is not escaped.
func (r *tsvReader) field(line []byte) (field, rest []byte, more bool) {
	for at := 0; ; {
		i := bytes.Index(line[at:], r.delim)
		if i < 0 {
			return line[:len(line):len(line)], nil, false
		}
		if i += at; !isEscaped(line[:i]) {
			return line[:i:i], line[i+len(r.delim):], true
		}
		at = i + 1
	}
}

// value returns the value of a field.
func (r *tsvReader) value(field []byte) []byte {
	null := r.null
	if null == nil {
		null = tsvNull
	}
	if bytes.Equal(field, null) {
		return nil
	}
	return r.unescape(field)
}

// ended is the flag of a tsvReader that is behind tsvEnd.
const ended flags = 1

// kept is that of keeper.
func (r *tsvReader) kept(bool) kept {
	if r.ended {
		return kept{flags: ended}
	}
	return kept{}
}

// goOn is that of keeper.
func (r *tsvReader) goOn(k kept) { r.ended = k.flags&ended != 0 }
