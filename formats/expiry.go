package formats

import (
	"errors"
	"fmt"

	"respipe/parser"
)

// longestTTL is the longest time to live in seconds; the server counts in
// milliseconds, from 1970 on.
const longestTTL = 9e15

var (
	errNotSeconds = errors.New("no whole number of seconds")
	errGone       = errors.New("not above 0, so the key would be gone at once")
)

// expiry is --ttl or --expire-at.
type expiry struct {
	option  string
	seconds *parser.Template
	word    []byte // of SET
	command []byte // for any other type
	op      *parser.Op
}

// newExpiry reads the option; it is nil if there is none. The error is a
// *UsageError.
func newExpiry(opt *Options, cols *parser.Columns) (e *expiry, err error) {
	text := opt.TTL
	switch {
	case opt.TTL != "" && opt.ExpireAt != "":
		return nil, usagef("--ttl and --expire-at do not go together")
	case opt.TTL != "":
		e = &expiry{option: "ttl", word: []byte("EX"), command: []byte("EXPIRE"), op: opOf("EXPIRE")}
	case opt.ExpireAt != "":
		e = &expiry{option: "expire-at", word: []byte("EXAT"), command: []byte("EXPIREAT"), op: opOf("EXPIREAT")}
		text = opt.ExpireAt
	default:
		return nil, nil
	}
	if e.seconds, err = parseOne(e.option, text, cols); err != nil {
		return nil, err
	}
	if fixed, ok := e.seconds.Literal(); ok {
		if err := checkSeconds([]byte(fixed)); err != nil {
			return nil, usagef("--%s %q is %v", e.option, text, err)
		}
	}
	return e, nil
}

// checkSeconds looks whether text is a time that the server takes.
func checkSeconds(text []byte) error {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	n := 0.0
	for _, c := range digits {
		if !isDigit(c) {
			return errNotSeconds
		}
		n = n*10 + float64(c-'0')
	}
	switch {
	case len(digits) == 0 || digits[0] == '0' && len(text) > 1:
		return errNotSeconds
	case n == 0 || len(digits) < len(text):
		return errGone
	case n > longestTTL:
		return errNotSeconds
	}
	return nil
}

// closeWithExpiry ends the command on a key, and sees that the key expires.
func (m *mapping) closeWithExpiry(key []byte, vals [][]byte) error {
	e := m.keyed.expiry
	if e == nil {
		m.close(m.keyed.op)
		return nil
	}
	seconds, missing := m.text(e.seconds, vals)
	if missing >= 0 && m.missing == leaveOut {
		m.close(m.keyed.op)
		return nil
	} else if missing >= 0 {
		return noValue(m.cols.Names[missing])
	}
	if err := checkSeconds(seconds); err != nil {
		return fmt.Errorf("--%s is %w", e.option, err)
	}
	if m.keyed.name == "string" {
		m.add(e.word, seconds)
		m.close(m.keyed.op)
		return nil
	}
	m.close(m.keyed.op)
	m.add(e.command, key, seconds)
	m.close(e.op)
	return nil
}
