// Package parser is the language of Redis without any I/O: places in an input,
// records and commands, command lines, RESP requests and replies, templates,
// and the table of commands.
//
// Slices inside a Record, a Command or a Reply belong to whoever filled them
// and are valid until its next call. The one copy on the way of a command is
// AppendCommand into the loader's batch.
package parser

import "strconv"

// Pos is where a record begins.
type Pos struct {
	File   string // as named on the command line; "<stdin>" for standard input
	Line   int    // 1-based; counts the LF bytes of the decoded input
	Offset int64  // 0-based, in bytes of the decompressed and decoded input
}

// String returns "file:line".
func (p Pos) String() string { return p.File + ":" + strconv.Itoa(p.Line) }

// Error says that one record is bad. The reader that returns it already stands
// at the next record: reading may go on.
type Error struct {
	Pos Pos
	Err error
	Src []byte // as in Command; nil also for a record that was too long to be kept
}

// Error returns "file:line: message".
func (e *Error) Error() string { return e.Pos.String() + ": " + e.Err.Error() }

// Unwrap returns what is wrong with the record.
func (e *Error) Unwrap() error { return e.Err }

// Broken says that the input cannot be read on from Pos: broken RESP, a packed
// file, a failing disk. Nothing of the record at Pos was handed out.
type Broken struct {
	Pos Pos
	Err error
}

// Error returns "file:line: message (byte N)".
func (e *Broken) Error() string {
	return e.Pos.String() + ": " + e.Err.Error() + " (byte " + strconv.FormatInt(e.Pos.Offset, 10) + ")"
}

// Unwrap returns why reading ended.
func (e *Broken) Unwrap() error { return e.Err }

// Record is one record of a format that knows records: a CSV row, a line.
type Record struct {
	Pos    Pos
	Names  [][]byte // parallel to Fields: the columns asked for, else the header's
	Fields [][]byte // nil: the record has no value there; empty: an empty value
	Raw    []byte   // the record as read, without its line end
}

// Command is one command on its way to the server.
type Command struct {
	Pos   Pos      // of its record
	File  int      // index of the input it came from, 0-based; tells two inputs of one name apart
	N     int64    // 1-based number of its record, counted over all inputs
	Index int      // 0-based, among the commands of its record
	Last  bool     // the last command of its record
	Args  [][]byte // name and arguments, at least one; reused by the source
	Raw   []byte   // RESP that may go out as it is; nil when Args must be encoded
	Op    *Op      // what the table knows about it, never nil

	// Src is the record as read, decoded where its encoding was, without the
	// byte that ends it: with an LF behind it, it can be read again. A CR before
	// the LF is part of it. It is the same for all commands of a record, RESP
	// included, which has CRLF line ends; nil unless the source was asked for it.
	Src []byte
}

// Mark is a place that a load can go on from, unless it lies inside of a block
// from MULTI to EXEC.
type Mark struct {
	N      int64 // number of the record that begins here
	File   int   // index of the input
	Offset int64
	Line   int
	DB     int // database selected here; the loader fills it in

	// State is what else the source must know to go on from here. It is
	// immutable and shared: as long as it is the same slice, the rest of a Mark
	// can be that of any record since.
	State []byte
}

// Wait lends a source the means to wait without holding up the load: it
// returns the next chunk of ready, ok false when ready is closed, or an error
// that ends the reading.
type Wait func(ready <-chan []byte) (chunk []byte, ok bool, err error)
