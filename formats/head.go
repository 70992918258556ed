package formats

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"respipe/parser"
)

// First bytes that tell something; ? is any byte.
const (
	respHead   = "*?"
	rdbHead    = "REDIS0"
	valkeyHead = "VALKEY0"
	aofHead    = "#TS:?" // an annotation: the server of an append-only file notes the time
)

var (
	errRDB    = errors.New("this is an RDB file, which cannot be loaded")
	errRDBAOF = errors.New("this append-only file begins as an RDB file, which cannot be loaded; " +
		"with aof-use-rdb-preamble no, BGREWRITEAOF makes one of commands")
)

// detect looks at the first bytes of the file at hand and returns its format:
// the one given, if that is not nil. A byte order mark is skipped. The error is
// io.EOF if the file is empty, a *parser.Broken if it cannot be read, or one of
// Fill.
func detect(in *Input, format *Format, opt *Options) (*Format, error) {
	heads := append(packedHeads(), bom, rdbHead, valkeyHead, respHead, aofHead)
	head, err := in.beginning(heads)
	if head == bom {
		in.Skip(len(bom), 0)
		if head, err = in.beginning(heads); err == io.EOF {
			err = nil
		}
	}
	switch {
	case err != nil:
		return nil, err
	case head == rdbHead, head == valkeyHead:
		return nil, &parser.Broken{Pos: in.Pos(), Err: rdbError(format)}
	case slices.Contains(packedHeads(), head):
		return nil, &parser.Broken{Pos: in.Pos(), Err: fmt.Errorf("this is packed twice, unpack the %s data first", packedAs(head).name)}
	case format != nil:
		return format, nil
	}
	return guess(in, head, opt), nil
}

// beginning returns the first of heads that the unread bytes begin with, and ""
// if it is none of them. Its errors are those of Fill: io.EOF, if there are no
// bytes.
func (in *Input) beginning(heads []string) (string, error) {
	for {
		head, more := match(in.Bytes(), heads, false)
		if !more {
			return head, nil
		}
		if err := in.Fill(); err == io.EOF && len(in.Bytes()) > 0 {
			head, _ = match(in.Bytes(), heads, true)
			return head, nil
		} else if err != nil {
			return "", err
		}
	}
}

// rdbError says that an RDB file cannot be loaded.
func rdbError(format *Format) error {
	if format != nil && format.Name == aofFormat.Name {
		return errRDBAOF
	}
	return errRDB
}

// guess tells the format by the first bytes, which begin with head.
func guess(in *Input, head string, opt *Options) *Format {
	b := in.Bytes()
	switch {
	case opt.mapped() && len(b) > 0 && (b[0] == '{' || b[0] == '['):
		return &jsonFormat
	case opt.mapped():
		return &csvFormat
	case head == respHead && isDigit(b[len(respHead)-1]):
		return &respFormat
	case head == aofHead && isDigit(b[len(aofHead)-1]):
		return &aofFormat
	}
	return &commandsFormat
}

func isDigit(c byte) bool { return c-'0' <= 9 }
