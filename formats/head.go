package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"respipe/parser"
)

const bom = "\xEF\xBB\xBF" // byte order mark of UTF-8

// packed are the first bytes of what is no text, and what it is then.
var packed = []struct{ head, what string }{
	{"\x1F\x8B", "this is gzip, unpack it first"},
	{"\x28\xB5\x2F\xFD", "this is zstd, unpack it first"},
	{"BZh", "this is bzip2, unpack it first"},
	{"\xFD7zXZ\x00", "this is xz, unpack it first"},
	{"\x04\x22\x4D\x18", "this is lz4, unpack it first"},
	{"\xFF\xFE", "this is UTF-16 (little-endian), convert it to UTF-8 first"},
	{"\xFE\xFF", "this is UTF-16 (big-endian), convert it to UTF-8 first"},
	{"REDIS0", "this is an RDB file, which holds no commands"},
	{"VALKEY0", "this is an RDB file, which holds no commands"},
}

// detect looks at the first bytes of the file at hand and returns its format:
// the one given, if that is not nil. A byte order mark is skipped. The error is
// io.EOF if the file is empty, a *parser.Broken if it cannot be read, or one of
// Fill.
func detect(in *Input, format *Format, opt *Options) (*Format, error) {
	for undecided(in.Bytes()) {
		if err := in.Fill(); err == io.EOF && len(in.Bytes()) > 0 {
			break
		} else if err != nil {
			return nil, err
		}
	}
	for _, p := range packed {
		if bytes.HasPrefix(in.Bytes(), []byte(p.head)) {
			return nil, &parser.Broken{Pos: in.Pos(), Err: errors.New(p.what)}
		}
	}
	if bytes.HasPrefix(in.Bytes(), []byte(bom)) {
		in.Skip(len(bom), 0)
	}
	if format != nil {
		return format, nil
	}
	return guess(in, opt)
}

// guess tells the format by the first bytes.
func guess(in *Input, opt *Options) (*Format, error) {
	head := in.Bytes()
	switch {
	case opt.mapped() && len(head) > 0 && (head[0] == '{' || head[0] == '['):
		return nil, &parser.Broken{Pos: in.Pos(), Err: &UsageError{
			Msg:  fmt.Sprintf("this begins with %c as JSON does, which is not supported", head[0]),
			Hint: "-f csv or -f lines, if it is something else",
		}}
	case opt.mapped():
		return &csvFormat, nil
	case len(head) > 1 && head[0] == '*' && isDigit(head[1]):
		return &respFormat, nil
	}
	return &commandsFormat, nil
}

// undecided reports whether more than head must be seen to tell what it is.
func undecided(head []byte) bool {
	if len(head) == 0 || string(head) == "*" || isStart(head, bom) {
		return true
	}
	for _, p := range packed {
		if isStart(head, p.head) {
			return true
		}
	}
	return false
}

// isStart reports whether head is a true prefix of magic.
func isStart(head []byte, magic string) bool {
	return len(head) < len(magic) && magic[:len(head)] == string(head)
}

func isDigit(c byte) bool { return c-'0' <= 9 }
