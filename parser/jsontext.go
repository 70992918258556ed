package parser

import (
	"encoding/base64"
	"unicode/utf8"
)

// AppendJSONText appends text to dst as JSON: a string, or, if it is not UTF-8,
// the object {"base64":"..."}. What acts on a terminal instead of showing there
// is escaped, so the result is one line that is safe to show, and is read back
// to the same bytes.
func AppendJSONText(dst, text []byte) []byte {
	if !utf8.Valid(text) {
		dst = append(dst, `{"base64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, text)
		return append(dst, `"}`...)
	}
	dst = append(dst, '"')
	for len(text) > 0 {
		r, size := rune(text[0]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text)
		}
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case isHidden(r):
			dst = appendJSONEscape(dst, r)
		default:
			dst = append(dst, text[:size]...)
		}
		text = text[size:]
	}
	return append(dst, '"')
}

// appendJSONEscape appends a character of up to sixteen bits, as all hidden ones
// are.
func appendJSONEscape(dst []byte, r rune) []byte {
	switch r {
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
