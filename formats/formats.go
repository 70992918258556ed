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
var formats = []*Format{&commandsFormat, &respFormat, &csvFormat, &linesFormat}

// Options are what a Source is asked for.
type Options struct {
	Format string    // name of a format; "" or "auto": by extension and first bytes
	Stdin  io.Reader // what "-" stands for

	Delimiter byte     // between the fields of CSV; 0 is a comma
	Columns   []string // names the columns of CSV without a header
	NoHeader  bool     // CSV has no header; without Columns they are called 1, 2, 3 …
	Null      *string  // unquoted CSV text that means "no value"; nil for none

	Skip      int64 // leave out so many records, counted over all files
	Limit     int64 // read so many records behind them; negative is no limit
	MaxRecord int64 // bytes; a longer record is refused; 0 is no limit

	Key, Value, Type string   // templates of key and value; "hash" (also ""), "string"
	Fields           []string // columns that go into a hash; nil for all
	Cmds             []string // templates of the commands of each record

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
	ext := strings.ToLower(filepath.Ext(file))
	switch ext {
	case ".json", ".jsonl", ".ndjson":
		return nil, usagef("%s: JSON is not supported", file)
	case ".tsv":
		return nil, usagef("%s: TSV is not supported", file)
	}
	if !opt.mapped() {
		for _, f := range formats {
			if slices.Contains(f.Exts, ext) {
				return f, nil
			}
		}
		return nil, nil
	}
	switch ext {
	case ".csv":
		return &csvFormat, nil
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
