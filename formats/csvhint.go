package formats

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

const hint = "sep="

// readHint skips the line sep=; that spreadsheets write before the header, and
// follows it, unless the options name the delimiter. Its errors are those of
// Fill, but for the end of the file.
func (r *csvReader) readHint() error {
	line, err := r.in.peekLine(len(hint) + utf8.UTFMax + len("\r\n"))
	if err != nil || !bytes.HasPrefix(line, []byte(hint)) {
		return err
	}
	delim := chomp(line[len(hint):])
	if utf8.RuneCount(delim) != 1 || !isDelimiter(string(delim)) {
		return nil
	}
	if r.opt.Delimiter == "" {
		r.delim = bytes.Clone(delim)
		r.scan.delim = r.delim
	}
	r.top = append(append(r.top, line...), '\n')
	return r.in.skipLine()
}

// peekLine returns the line at hand without its LF or CR, or the first n bytes
// of it. It stays unread. Its errors are those of Fill, but for the end of the
// file.
func (in *Input) peekLine(n int) ([]byte, error) {
	for {
		b := in.Bytes()
		b = b[:min(len(b), n)]
		if i := bytes.IndexByte(b, in.eol); i >= 0 {
			return b[:i], nil
		}
		if len(b) == n {
			return b, nil
		}
		if err := in.Fill(); err == io.EOF {
			return b, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// isDelimiter reports whether s can stand between the fields of CSV.
func isDelimiter(s string) bool { return s != "" && !strings.ContainsAny(s, "\"\r\n") }

// checkDialect looks whether the options name characters that CSV can be told
// by. The error is a *UsageError.
func checkDialect(opt *Options) error {
	if opt.Delimiter != "" && !isDelimiter(opt.Delimiter) {
		return usagef("--delimiter %q cannot part fields", opt.Delimiter)
	}
	switch c := opt.Escape; {
	case c == '"':
		return &UsageError{Msg: "--escape \" is no escape character", Hint: "doubled quotes are read without it"}
	case c == '\r', c == '\n', c != 0 && strings.IndexByte(opt.Delimiter, c) >= 0, c == ',' && opt.Delimiter == "":
		return usagef("--escape %q cannot escape", string(c))
	}
	return nil
}
