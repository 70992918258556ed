package formats

import "bytes"

// unescape returns the text of a field, in scratch if there are backslashes in
// it.
func (r *tsvReader) unescape(field []byte) []byte {
	i := bytes.IndexByte(field, '\\')
	if i < 0 {
		return field
	}
	from := len(r.scratch)
	for ; i >= 0 && i+1 < len(field); i = bytes.IndexByte(field, '\\') {
		c, size := escaped(field[i+1:])
		r.scratch = append(append(r.scratch, field[:i]...), c)
		field = field[i+1+size:]
	}
	r.scratch = append(r.scratch, field...)
	return r.scratch[from:len(r.scratch):len(r.scratch)]
}

// escaped returns the byte that s, which stands behind a backslash, is the
// escape of, and how long that is. What is no escape is the byte itself.
func escaped(s []byte) (c byte, size int) {
	switch s[0] {
	case 'b':
		return '\b', 1
	case 'f':
		return '\f', 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'v':
		return '\v', 1
	case 'x':
		if c, size = number8(s[1:min(3, len(s))], 16); size > 0 {
			return c, 1 + size
		}
	default:
		if c, size = number8(s[:min(3, len(s))], 8); size > 0 {
			return c, size
		}
	}
	return s[0], 1
}

// number8 reads the digits at the start of s and returns the low byte of the
// number, and how many digits there are.
func number8(s []byte, base byte) (n byte, size int) {
	for ; size < len(s); size++ {
		d := digit(s[size])
		if d >= base {
			break
		}
		n = n*base + d
	}
	return n, size
}

// digit returns the value of a hexadecimal digit; of anything else, more than
// any of them.
func digit(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xFF
}
