package parser

import (
	"bytes"
	"strconv"
)

// AppendCommand appends the command args to dst as RESP, an array of bulk
// strings, and returns the extended slice. It copies the bytes of args.
func AppendCommand(dst []byte, args [][]byte) []byte {
	dst = appendHeader(dst, '*', len(args))
	for _, arg := range args {
		dst = appendHeader(dst, '$', len(arg))
		dst = append(dst, arg...)
		dst = append(dst, '\r', '\n')
	}
	return dst
}

// appendHeader appends the line "<kind><n>\r\n".
func appendHeader(dst []byte, kind byte, n int) []byte {
	switch {
	case n < 10:
		return append(dst, kind, byte('0'+n), '\r', '\n')
	case n < 100:
		return append(dst, kind, byte('0'+n/10), byte('0'+n%10), '\r', '\n')
	}
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}

// CommandSize is an upper bound of what AppendCommand appends for args, in
// bytes.
func CommandSize(args [][]byte) int {
	const header = len("$2147483647\r\n") + len("\r\n")
	n := header
	for _, arg := range args {
		n += len(arg) + header
	}
	return n
}

// ParseRequest appends to args the arguments of one RESP command, as views
// into resp. It is for commands that AppendCommand wrote or a reader has
// checked; of anything else it returns as many arguments as can be made out.
func ParseRequest(resp []byte, args [][]byte) [][]byte {
	count, rest, ok := cutHeader(resp, '*')
	for ; ok && count > 0; count-- {
		var size int
		size, rest, ok = cutHeader(rest, '$')
		if !ok || size < 0 || size > len(rest)-2 {
			return args
		}
		args = append(args, rest[:size:size])
		rest = rest[size+2:]
	}
	return args
}

// cutHeader reads the line "<kind><n>\r\n" at the start of b.
func cutHeader(b []byte, kind byte) (n int, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != kind {
		return 0, nil, false
	}
	line, rest, found := bytes.Cut(b[1:], crlf)
	if !found {
		return 0, nil, false
	}
	n, ok = parseInt(line)
	return n, rest, ok
}

var crlf = []byte("\r\n")

// parseInt reads a decimal number of up to eighteen digits, with a minus sign
// or none, and nothing else.
func parseInt(b []byte) (n int, ok bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	if len(digits) < len(b) {
		n = -n
	}
	return n, true
}
