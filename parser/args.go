package parser

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// What is wrong with a command line that cannot be split.
var (
	ErrOpenQuote  = errors.New("a quote is left open")
	ErrAfterQuote = errors.New("text after a closing quote")
)

// SplitArgs splits a command line as redis-cli does, appends the arguments to
// dst, and returns it with scratch, which may have grown. A line of blanks has
// no arguments. NUL is a byte like any other.
//
// An argument that stands in the line as it is, plain or quoted, is a view into
// line; others are unescaped into scratch, which is overwritten.
//
// A quote may open inside an argument, and ends it where it closes. In double
// quotes \n \r \t \b \a and \xHH stand for the byte they name, and a backslash
// before any other byte for that byte. In single quotes only \' is special,
// outside of quotes nothing is.
//
// The error is ErrOpenQuote or ErrAfterQuote; dst is then as it was.
func SplitArgs(dst [][]byte, scratch []byte, line []byte) (args [][]byte, scratchOut []byte, err error) {
	args, scratch = dst, scratch[:0]
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return args, scratch, nil
		}
		start := i
		i = plainEnd(line, i)
		arg := line[start:i:i]
		if i < len(line) && isQuote(line[i]) {
			if cap(scratch) < len(line) { // room for all of it, so that no argument moves
				scratch = make([]byte, 0, len(line))
			}
			var size int
			if arg, scratch, size, err = appendQuotedArg(scratch, arg, line[i:]); err != nil {
				return dst, scratch, err
			}
			i += size
		}
		args = append(args, arg)
	}
}

// plainEnd returns the index, from i on, at which the plain part of an argument
// ends. It looks at eight bytes at a time, which halves the cost of a line: the
// lowest bit of low marks the first byte under '(', which all that end one are.
func plainEnd(line []byte, i int) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(line) {
		word := binary.LittleEndian.Uint64(line[i:])
		low := (word - '('*each) &^ word & high
		if low == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(low) / 8
		if endsPlain[line[i]] {
			return i
		}
		i++
	}
	for i < len(line) && !endsPlain[line[i]] {
		i++
	}
	return i
}

// appendQuotedArg reads the quoted end of an argument, whose plain beginning is
// given, from the front of s. It returns the argument, scratch with what was
// appended to it, and the size of what it read.
func appendQuotedArg(scratch, plain, s []byte) (arg, scratchOut []byte, size int, err error) {
	n := bytes.IndexByte(s[1:], s[0])
	if n < 0 {
		return nil, scratch, 0, ErrOpenQuote
	}
	if inside := s[1 : n+1 : n+1]; len(plain) == 0 && bytes.IndexByte(inside, '\\') < 0 {
		arg, size = inside, n+2
	} else {
		start := len(scratch)
		scratch = append(scratch, plain...)
		if s[0] == '"' {
			scratch, size = appendDouble(scratch, s)
		} else {
			scratch, size = appendSingle(scratch, s)
		}
		arg = scratch[start:len(scratch):len(scratch)]
	}
	switch {
	case size == 0:
		return nil, scratch, 0, ErrOpenQuote
	case size < len(s) && !isSpace(s[size]):
		return nil, scratch, 0, ErrAfterQuote
	}
	return arg, scratch, size, nil
}

// appendDouble unescapes the text in double quotes at the front of s. It
// returns the size of what it read, 0 if the quote is not closed.
func appendDouble(dst, s []byte) (out []byte, size int) {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return dst, i + 1
		case c != '\\' || i+1 == len(s):
			dst = append(dst, c)
		case s[i+1] == 'x' && i+3 < len(s) && isHex(s[i+2]) && isHex(s[i+3]):
			dst = append(dst, hexValue(s[i+2])<<4|hexValue(s[i+3]))
			i += 3
		default:
			i++
			dst = append(dst, unescape(s[i]))
		}
	}
	return dst, 0
}

// appendSingle does the same for text in single quotes.
func appendSingle(dst, s []byte) (out []byte, size int) {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'':
			return dst, i + 1
		case c == '\\' && i+1 < len(s) && s[i+1] == '\'':
			i++
			dst = append(dst, '\'')
		default:
			dst = append(dst, c)
		}
	}
	return dst, 0
}

// AppendQuoted appends arg as redis-cli and SplitArgs read it back: bare where
// that can be, else in double quotes as redis-cli prints strings. An argument
// that begins with # is quoted, as a line that begins with it is a remark.
func AppendQuoted(dst, arg []byte) []byte {
	if isBare(arg) {
		return append(dst, arg...)
	}
	dst = append(dst, '"')
	for _, c := range arg {
		switch c {
		case '\\', '"':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\a':
			dst = append(dst, `\a`...)
		case '\b':
			dst = append(dst, `\b`...)
		default:
			if c < ' ' || c > '~' {
				dst = appendHex(dst, c)
			} else {
				dst = append(dst, c)
			}
		}
	}
	return append(dst, '"')
}

// isBare reports whether arg needs no quotes: it has visible ASCII only, and no
// quote.
func isBare(arg []byte) bool {
	for _, c := range arg {
		if c <= ' ' || c > '~' || isQuote(c) {
			return false
		}
	}
	return len(arg) > 0 && arg[0] != '#'
}

// appendHex appends c as \xHH.
func appendHex(dst []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'x', digits[c>>4], digits[c&15])
}

// endsPlain tells the bytes at which the plain part of an argument ends. Form
// feed and vertical tab are skipped between arguments, but do not end one.
var endsPlain = [256]bool{' ': true, '\n': true, '\r': true, '\t': true, '"': true, '\'': true}

// isSpace is the isspace of C.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isQuote(c byte) bool { return c == '"' || c == '\'' }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'f'
}

// hexValue returns the value of a hexadecimal digit.
func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return lower(c) - 'a' + 10
}

// unescape returns what \c stands for.
func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}
