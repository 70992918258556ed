package formats

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// utf8Decoder copies UTF-8, with invalid in place of each byte that is none.
// Those of x/text would write U+FFFD, which a text may hold itself.
type utf8Decoder struct{ transform.NopResetter }

// Transform is that of transform.Transformer.
func (utf8Decoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	if len(src) > len(dst) {
		src, atEOF, err = src[:len(dst)], false, transform.ErrShortDst
	}
	if n := len(src) - cutRune(src); utf8.Valid(src[:n]) {
		nDst, nSrc = copy(dst, src[:n]), n
	}
	for nSrc < len(src) {
		r, size := utf8.DecodeRune(src[nSrc:])
		switch {
		case r != utf8.RuneError || size > 1:
			copy(dst[nDst:], src[nSrc:nSrc+size])
		case !atEOF && !utf8.FullRune(src[nSrc:]):
			if err == nil {
				err = transform.ErrShortSrc
			}
			return nDst, nSrc, err
		default:
			dst[nDst] = invalid
		}
		nDst, nSrc = nDst+size, nSrc+size
	}
	return nDst, nSrc, err
}

// cutRune returns how many bytes at the end of b are the beginning of a rune.
func cutRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// utf16Decoder turns UTF-16 into UTF-8, with invalid in place of surrogates
// that stand alone, and of half a unit at the end.
type utf16Decoder struct {
	transform.NopResetter
	big bool // most significant byte first
}

// Transform is that of transform.Transformer.
func (d utf16Decoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		if len(dst)-nDst < utf8.UTFMax {
			return nDst, nSrc, transform.ErrShortDst
		}
		r, size := d.rune(src[nSrc:])
		if size == 0 && !atEOF {
			return nDst, nSrc, transform.ErrShortSrc
		}
		if r < 0 {
			dst[nDst] = invalid
			nDst++
		} else {
			nDst += utf8.EncodeRune(dst[nDst:], r)
		}
		if size == 0 { // cut off for good
			size = min(2, len(src)-nSrc)
		}
		nSrc += size
	}
	return nDst, nSrc, nil
}

// rune reads one character and returns the bytes it takes; r is negative where
// there is none. Size 0 means that the end of src cuts it.
func (d utf16Decoder) rune(src []byte) (r rune, size int) {
	if len(src) < 2 {
		return -1, 0
	}
	r = d.unit(src)
	if !utf16.IsSurrogate(r) {
		return r, 2
	}
	if r >= 0xDC00 { // the second half of a pair
		return -1, 2
	}
	if len(src) < 4 {
		return -1, 0
	}
	if r = utf16.DecodeRune(r, d.unit(src[2:])); r == utf8.RuneError {
		return -1, 2
	}
	return r, 4
}

func (d utf16Decoder) unit(src []byte) rune {
	if d.big {
		return rune(binary.BigEndian.Uint16(src))
	}
	return rune(binary.LittleEndian.Uint16(src))
}
