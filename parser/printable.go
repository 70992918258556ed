package parser

import "unicode/utf8"

// AppendPrintable appends b in a form that is safe to show on a terminal:
// control characters, line and paragraph separators, marks that turn the
// direction of writing, and bytes that are not UTF-8 become \xHH, byte by byte.
// A backslash stays, so the result is for people to read, not to be read back.
func AppendPrintable(dst, b []byte) []byte {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 || isHidden(r) {
			for _, c := range b[:size] {
				dst = appendHex(dst, c)
			}
		} else {
			dst = append(dst, b[:size]...)
		}
		b = b[size:]
	}
	return dst
}

// isHidden reports whether r acts on a terminal instead of showing there.
func isHidden(r rune) bool {
	switch {
	case r < 0x20, 0x7f <= r && r <= 0x9f: // control characters
		return true
	case r == 0x2028, r == 0x2029: // line and paragraph separator
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, // marks of direction
		0x202a <= r && r <= 0x202e, // embeddings and overrides
		0x2066 <= r && r <= 0x2069: // isolates
		return true
	}
	return false
}
