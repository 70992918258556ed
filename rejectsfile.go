package main

import (
	"bytes"
	"errors"
	"fmt"

	"respipe/parser"
)

// keptRecord is a record on its way into a file that can be loaded again.
type keptRecord struct {
	pos    parser.Pos
	number int64 // of the record
	layout layout
	text   []byte // as it was read, RESP with CRLF line ends; nil where it was not kept
	isRESP bool
	db     int // selected before it
	// command is the one of its commands that matters, in RESP; nil where none
	// was made.
	command []byte

	follows bool   // it belongs to the one before it: nothing may stand between
	seals   bool   // nothing may stand behind it: it is the last of a block without an end
	left    string // why there is no text, if it is not its length
}

// layout is what the records of one file have in common, so that they can be
// read again together.
type layout struct {
	format    string // its name; commands, RESP and append-only files go together, as "commands"
	header    string // the lines that a reader must have read before, as the header of CSV; "" for none
	converted bool   // the text was made from another encoding
}

// newLayout returns the layout of a file that is read; header is as it stands
// there, with the line ends LF or CRLF.
func newLayout(format string, header []byte, converted bool) layout {
	if format == "resp" || format == "aof" {
		format = commandsFormat
	}
	return layout{format, string(bytes.TrimRight(header, "\r\n")), converted}
}

// commandsFormat is the format in which lines of text and RESP may be mixed.
const commandsFormat = "commands"

// byteOrderMark begins a text that was converted to UTF-8.
const byteOrderMark = "\uFEFF"

// keptBuffer is the largest buffer that is kept for the next record, in bytes.
const keptBuffer = 1 << 20

// recordFiles are a file of records, and as FILE.2, FILE.3 and so on those
// whose layout is another. They are made when they are needed.
type recordFiles struct {
	path string
	db   int // selected before the first record of each
	made []*recordFile
	buf  []byte

	count   int // records written
	leftOut int // and records that are not
}

// recordFile is one of them.
type recordFile struct {
	*wholeFile
	layout layout
	db     int // selected where it ends; -1 when that is not known
	sealed bool
}

// write appends a record. Selects says that the record changes the database,
// if it succeeds this time.
func (s *recordFiles) write(r *keptRecord, selects bool) error {
	f, err := s.file(r.layout)
	if err != nil {
		return err
	}
	s.buf = f.appendHead(s.buf[:0])
	if r.layout.format == commandsFormat && r.db != f.db && !r.follows {
		s.buf = appendSelect(s.buf, r.db, r.isRESP)
	}
	s.buf = append(s.buf, r.text...)
	if !r.isRESP && !bytes.HasSuffix(r.text, []byte{'\n'}) {
		s.buf = append(s.buf, '\n')
	}
	if err := s.flush(f); err != nil {
		return err
	}
	switch {
	case selects:
		f.db = -1
	case !r.follows:
		f.db = r.db
	}
	f.sealed = f.sealed || r.seals
	s.count++
	return nil
}

// remark notes in place of a record why it is left out, in a format that has
// remarks.
func (s *recordFiles) remark(r *keptRecord, why string) error {
	s.leftOut++
	if r.layout.format != commandsFormat {
		return nil
	}
	f, err := s.file(r.layout)
	if err != nil {
		return err
	}
	s.buf = fmt.Appendf(f.appendHead(s.buf[:0]), "# %s is left out: %s\n", place(r.pos), why)
	return s.flush(f)
}

// flush writes what is in the buffer.
func (s *recordFiles) flush(f *recordFile) error {
	_, err := f.Write(s.buf)
	if cap(s.buf) > keptBuffer {
		s.buf = nil
	}
	return err
}

// file returns the file of a layout.
func (s *recordFiles) file(l layout) (*recordFile, error) {
	for _, f := range s.made {
		if f.size == 0 {
			f.layout = l // made before there was a record
		}
		if f.layout == l && !f.sealed {
			return f, nil
		}
	}
	return s.create(l)
}

// create makes the next file.
func (s *recordFiles) create(l layout) (*recordFile, error) {
	path := s.path
	if n := len(s.made) + 1; n > 1 {
		path = fmt.Sprintf("%s.%d", path, n)
	}
	file, err := createPrivate(path)
	if err != nil {
		return nil, err
	}
	f := &recordFile{wholeFile: &wholeFile{file: file}, layout: l, db: s.db}
	s.made = append(s.made, f)
	return f, nil
}

// appendHead appends what stands before the first record.
func (f *recordFile) appendHead(dst []byte) []byte {
	if f.size > 0 {
		return dst
	}
	if f.layout.converted {
		dst = append(dst, byteOrderMark...)
	}
	if f.layout.header != "" {
		dst = append(append(dst, f.layout.header...), '\n')
	}
	return dst
}

// appendSelect appends the command that selects a database.
func appendSelect(dst []byte, db int, isRESP bool) []byte {
	text := fmt.Sprintf("SELECT %d", db)
	if !isRESP {
		return append(append(dst, text...), '\n')
	}
	return parser.AppendCommand(dst, bytes.Fields([]byte(text)))
}

// written returns the files that hold records.
func (s *recordFiles) written() (files []*recordFile) {
	for _, f := range s.made {
		if f.size > 0 {
			files = append(files, f)
		}
	}
	return files
}

// sync has all that is written put on the disk.
func (s *recordFiles) sync() error {
	var errs []error
	for _, f := range s.made {
		errs = append(errs, f.file.Sync())
	}
	return errors.Join(errs...)
}

// close closes the files.
func (s *recordFiles) close() error {
	var errs []error
	for _, f := range s.made {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
