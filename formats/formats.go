// Package formats turns files into records and records into commands. It knows
// no network.
//
// A Source reads its files one after another. One goroutine, the feed, reads
// bytes and hands them out in chunks; whoever calls Next parses them. A reader
// of one format sees them as an Input and is plain blocking code. A new format
// is one file, and one word in the list here.
//
// Reading a record returns nil; a *parser.Error if this record is bad, where
// the reader already stands at the next one; io.EOF at the end; and any other
// error if reading cannot go on.
package formats

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"respipe/parser"
)

// Format is one way of writing commands or records down. One of Commands and
// Records is set.
type Format struct {
	Name     string
	Exts     []string // of files, in lower case with their dot
	Whole    bool     // a record as it stands may be a value
	RESP     bool     // its source text is written down as RESP
	Commands func(*Input, *Options) Commands
	Records  func(*Input, *Options, Want) Records
}

// Commands reads a format whose records are commands.
type Commands interface {
	// Next fills in Pos, Args and Raw. The slices are valid until the next
	// call.
	Next(*parser.Command) error
}

// Records reads a format whose records have columns.
type Records interface {
	// Head reads what stands before the first record and returns the columns.
	// It is called once, before Read. Where the columns are not what is wanted
	// the error is a *parser.Broken around a *UsageError.
	Head() ([]string, error)
	// Read fills in a record. The slices in it are valid until the next call.
	Read(*parser.Record) error
}

// formats is the list of them.
var formats = []*Format{&commandsFormat, &respFormat, &aofFormat, &csvFormat, &tsvFormat, &jsonFormat, &linesFormat}

// Options are what a Source is asked for.
type Options struct {
	Format string    // name of a format; "" or "auto": by extension and first bytes
	Stdin  io.Reader // what "-" stands for

	Encoding  string   // of text, by a WHATWG name; "": bytes pass as they are. A byte order mark wins
	Delimiter string   // between the fields of CSV and TSV; "" is a comma or what the file says, and a tab
	Escape    byte     // makes quotes, delimiters and itself plain in CSV; 0 for none
	Columns   []string // names the columns of CSV and TSV without a header
	NoHeader  bool     // CSV and TSV have no header; without Columns they are called 1, 2, 3 …
	Ragged    bool     // a record of CSV or TSV may be shorter or longer than the header
	Null      *string  // text that means "no value", unquoted in CSV; nil for none, and \N in TSV

	Skip      int64 // leave out so many records, counted over all files
	Limit     int64 // read so many records behind them; negative is no limit
	MaxRecord int64 // bytes; a longer record is refused; 0 is no limit

	// Cmds are templates of the commands of each record. Else Key is the
	// template of a key, and Type what the record is under it: "hash" (also ""),
	// "string", "list", "set", "zset", "stream", "geo", "json".
	Cmds      []string
	Key, Type string

	// Templates, for the types that take them. Value is for strings and lists:
	// without it, a record of JSON or of lines is the value as it stands. A list
	// and a set take a spread, {name...}. Score, Lon and Lat must be numbers.
	Value, Member, Score, Lon, Lat string

	Fields  []string // columns of a hash, a stream or a JSON document; nil for all
	Exclude []string // but these, where all go in
	Rename  []string // "old=new": what a column is called there

	// TTL and ExpireAt are seconds, as a number or a template: from now on, and
	// since 1970. A key without one of them lives for ever.
	TTL, ExpireAt string

	// Replace removes what was under a key before the load. Where each record is
	// all of its key (a hash, a spread), a DEL goes before each, so the last one
	// wins. Where records add to a key (lists, sets, sorted sets, streams), the
	// first one of the key brings the DEL: 1,048,576 keys are remembered for
	// that, and a record with one more is refused. A record that Skip leaves out
	// counts as loaded: its key keeps what is there.
	Replace bool

	// Missing says what becomes of a placeholder without a value: "reject" (also
	// "") refuses the record, "empty" takes the empty text, "skip" leaves the
	// command out, or the expiry. A field of a hash without a value is left out,
	// unless Missing is "empty".
	Missing string

	// KeepSource asks for the source text of each record, in Src of its commands
	// or of its *parser.Error.
	KeepSource bool

	// Note is told what is worth a word and no error. It may be nil.
	Note func(pos parser.Pos, text string)
}

// maxRecord is MaxRecord as a length.
func (o *Options) maxRecord() int {
	if o.MaxRecord <= 0 || o.MaxRecord > math.MaxInt {
		return math.MaxInt
	}
	return int(o.MaxRecord)
}

// note passes a note on.
func (o *Options) note(pos parser.Pos, text string) {
	if o.Note != nil {
		o.Note(pos, text)
	}
}

// mapped reports whether records become commands by templates.
func (o *Options) mapped() bool { return o.Key != "" || len(o.Cmds) > 0 }

// UsageError says that the options do not fit together, or not the files.
type UsageError struct {
	Msg  string
	Hint string // what to do instead; may be empty
}

// Error returns the message without the hint.
func (e *UsageError) Error() string { return e.Msg }

// usagef makes a UsageError without a hint.
func usagef(format string, args ...any) *UsageError {
	return &UsageError{Msg: fmt.Sprintf(format, args...)}
}

// formatOf tells the format of a file by the options and its name; nil if its
// first bytes must tell. The error is a *UsageError.
func formatOf(file string, opt *Options) (*Format, error) {
	if opt.Format != "" && opt.Format != "auto" {
		return formatNamed(opt.Format, opt)
	}
	ext := strings.ToLower(filepath.Ext(withoutPacking(file)))
	for _, f := range formats {
		if slices.Contains(f.Exts, ext) && (f.Records != nil || !opt.mapped()) {
			return f, nil
		}
	}
	if !opt.mapped() {
		return nil, nil
	}
	switch ext {
	case ".resp", ".aof", ".rdb", ".redis", ".cmd":
		return nil, &UsageError{
			Msg:  fmt.Sprintf("%s holds commands: --key and --cmd are for records", file),
			Hint: "-f csv or -f lines, if they are records after all",
		}
	}
	return nil, nil
}

// formatNamed returns the format that -f asks for.
func formatNamed(name string, opt *Options) (*Format, error) {
	names := []string{"auto"}
	for _, f := range formats {
		if f.Name != name {
			names = append(names, f.Name)
			continue
		}
		if opt.mapped() && f.Records == nil {
			return nil, usagef("format %s holds commands: --key and --cmd are for records", name)
		}
		return f, nil
	}
	return nil, usagef("unknown format %q, there are %s", name, strings.Join(names, ", "))
}
