package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"respipe/parser"
)

// jsonFormat is JSON objects, one a line or one after another in any layout, or
// arrays of them. Numbers keep their source text, as do objects and arrays but
// for the blanks; null is no value.
//
// A value that breaks on the line where it began makes this a bad line, which
// is refused as a whole; reading goes on at the next line that begins with {.
// Where it breaks on a later line, or inside of an array that is the file,
// nobody knows where to go on, and reading ends. A line that was cut off, so
// that the next one begins with {, is a bad line too.
var jsonFormat = Format{
	Name:  "json",
	Exts:  []string{".json", ".jsonl", ".ndjson"},
	Whole: true,
	Records: func(in *Input, opt *Options, want Want) Records {
		return newJSONReader(in, opt, want)
	},
}

var errNoObject = errors.New("this is no object")

var brace = []byte{'{'}

// jsonReader reads JSON. An object that lies whole in the buffer is read at once;
// any other value is measured first.
type jsonReader struct {
	in   *Input
	opt  *Options
	want Want
	max  int // of a record, in bytes

	items   jsonItems
	members []jsonMember // of the record

	jsonPlace
	at      flags // the place of the last record
	opened  int   // line where the array began
	checked int64 // offset up to which lines have been checked
	looked  int64 // that, where a line was too long for one look

	columns []jsonColumn // parallel to want.Names
	names   [][]byte
	fields  [][]byte
	scratch []byte // for values that do not stand in the source as they are
	lists   []byte // for arrays that are spread
}

func newJSONReader(in *Input, opt *Options, want Want) *jsonReader {
	r := &jsonReader{in: in, opt: opt, want: want, max: opt.maxRecord()}
	r.mayOpen = true
	for _, name := range want.Names {
		base, _ := parser.SpreadName(name)
		r.columns = append(r.columns, newColumn(base))
		r.names = append(r.names, []byte(name))
	}
	return r
}

// Head returns no columns, as every record may have its own; those of the first
// record if there is no template to ask for any.
func (r *jsonReader) Head() ([]string, error) {
	if r.opt.mapped() {
		return nil, nil
	}
	var rec parser.Record
	r.want.All = true
	for {
		err := r.Read(&rec)
		if _, bad := err.(*parser.Error); bad {
			continue
		}
		if err == io.EOF {
			return nil, nil
		}
		var columns []string
		for _, name := range rec.Names {
			columns = append(columns, string(name))
		}
		return columns, err
	}
}

// Read reads the next record.
func (r *jsonReader) Read(rec *parser.Record) error {
	before := r.jsonPlace
	err := r.read(rec)
	if _, refused := err.(*parser.Error); err != nil && err != io.EOF && !refused {
		r.jsonPlace = before
	}
	return err
}

// read is Read, which may leave off somewhere in the record.
func (r *jsonReader) read(rec *parser.Record) error {
	if err := r.seek(); err != nil {
		return err
	}
	rec.Pos = r.in.Pos()
	if r.at = due; r.inArray {
		r.at |= inArray
	}
	size, err := r.object(r.in.Bytes())
	if err != nil || size > r.max || !r.endsLine(size) {
		return r.careful(rec)
	}
	return r.take(rec, size)
}

// object reads the object that text begins with into r.members, which are views
// into text, and returns its size.
func (r *jsonReader) object(text []byte) (size int, err error) {
	r.members = r.members[:0]
	if text[0] != '{' {
		return 0, errNoObject
	}
	r.items.enter(text)
	for name := r.items.next(); name != nil; name = r.items.next() {
		r.members = append(r.members, jsonMember{name: name, value: r.items.next()})
	}
	return r.items.size(), r.items.err
}

// endsLine reports whether all is known to be well behind the value at hand, up
// to the end of the line.
func (r *jsonReader) endsLine(size int) bool {
	if r.inArray || r.in.offset+int64(size) <= r.checked {
		return true
	}
	b := r.in.Bytes()
	for size < len(b) && b[size] != '\n' && isBlank(b[size]) {
		size++
	}
	return size < len(b) && b[size] == '\n'
}

// careful is Read for all but a sound object that is at hand, alone on its
// line.
func (r *jsonReader) careful(rec *parser.Record) error {
	size, err := r.measure()
	if err == nil && !r.inArray {
		err = r.checkLine(size)
	}
	if err != nil {
		return r.refuse(err)
	}
	if _, err := r.object(r.in.Bytes()[:size]); err != nil {
		r.pass(size)
		return &parser.Error{Pos: rec.Pos, Err: newFault(err, 0)}
	}
	return r.take(rec, size)
}

// pass skips the value at hand.
func (r *jsonReader) pass(size int) {
	r.in.Skip(size, bytes.Count(r.in.Bytes()[:size], lf))
	r.first, r.mayOpen = false, false
}

// refuse says that the value at hand is not right, and goes on behind it if it
// can. Errors of Fill it passes on.
func (r *jsonReader) refuse(err error) error {
	pos := r.in.Pos()
	fault, broken := err.(*jsonFault)
	switch {
	case err == errTooLong && r.inArray:
		r.first = false
		if err := r.passValue(); err == io.EOF {
			return &parser.Broken{Pos: pos, Err: errUnfinished}
		} else if err != nil {
			return err
		}
		return &parser.Error{Pos: pos, Err: err}
	case err == errTooLong, broken && r.isLine(fault):
	case broken:
		return r.broken(fmt.Errorf("%w, in line %d", err, pos.Line+bytes.Count(r.in.Bytes()[:fault.at], lf)))
	default:
		return err
	}
	if r.inArray {
		r.at |= opening
	}
	r.inArray, r.mayOpen, r.passing = false, false, true
	if _, err := r.in.Line(r.max); err != nil && err != errTooLong {
		return err
	}
	return &parser.Error{Pos: pos, Err: err}
}

// isLine reports whether the value at hand broke on the line where it began,
// or, if it is the first of an array, where that did.
func (r *jsonReader) isLine(fault *jsonFault) bool {
	if r.inArray && (!r.first || r.opened != r.in.line) {
		return false
	}
	b := r.in.Bytes()
	sound := bytes.TrimRight(b[:fault.at], " \t\r\n")
	if bytes.IndexByte(sound, '\n') >= 0 {
		return false
	}
	cut := fault.err == errUnfinished || bytes.HasSuffix(b[:fault.at], lf) && bytes.HasPrefix(b[fault.at:], brace)
	return cut || bytes.IndexByte(b[len(sound):fault.at], '\n') < 0
}

// take hands out the object at hand, which has been read.
func (r *jsonReader) take(rec *parser.Record, size int) error {
	rec.Raw = r.in.Bytes()[:size:size]
	r.pass(size)
	r.scratch, r.lists = r.scratch[:0], r.lists[:0]
	r.names, r.fields = r.names[:len(r.columns)], r.fields[:0]
	for i := range r.columns {
		value, err := r.field(i)
		if err != nil {
			return &parser.Error{Pos: rec.Pos, Err: err}
		}
		r.fields = append(r.fields, value)
	}
	if r.want.All {
		r.addMembers()
	}
	rec.Names, rec.Fields = r.names, r.fields
	return nil
}
