package formats

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

// invalid stands in the decoded text for what is not valid in the encoding of
// the file. Decoded text is UTF-8, in which this byte never occurs: so a record
// that holds it is bad, and only that record.
const invalid = 0xFF

// Byte order marks.
const (
	bom        = "\xEF\xBB\xBF"
	bomUTF32LE = "\xFF\xFE\x00\x00"
	bomUTF16LE = "\xFF\xFE"
	bomUTF16BE = "\xFE\xFF"
)

var replacement = []byte("\uFFFD")

var errUTF32 = errors.New("this is UTF-32, convert it to UTF-8 first")

// charset is an encoding of text.
type charset struct {
	name       string // as WHATWG has it
	newDecoder func() transform.Transformer
}

var (
	utf8Charset    = charset{"utf-8", func() transform.Transformer { return utf8Decoder{} }}
	utf16LECharset = charset{"utf-16le", func() transform.Transformer { return utf16Decoder{} }}
	utf16BECharset = charset{"utf-16be", func() transform.Transformer { return utf16Decoder{big: true} }}
)

// charsetNamed finds an encoding by one of its WHATWG names, in either letter
// case; nil for "". The error is a *UsageError.
func charsetNamed(name string) (*charset, error) {
	if name == "" {
		return nil, nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil, unknownCharset(name)
	}
	canonical, _ := htmlindex.Name(e) // every encoding of the index has a name
	switch canonical {
	case utf8Charset.name:
		return &utf8Charset, nil
	case utf16LECharset.name:
		return &utf16LECharset, nil
	case utf16BECharset.name:
		return &utf16BECharset, nil
	case "replacement":
		return nil, usagef("--encoding %s is not supported", name)
	}
	if m, ok := e.(*charmap.Charmap); ok {
		return &charset{canonical, func() transform.Transformer { return charmapDecoder{m: m} }}, nil
	}
	return &charset{canonical, func() transform.Transformer { return markingDecoder{e.NewDecoder()} }}, nil
}

// markingDecoder is a decoder of x/text. Its U+FFFD become invalid: of the
// encodings it serves only gb18030 could write that character at all.
type markingDecoder struct{ *encoding.Decoder }

// Transform is that of transform.Transformer.
func (d markingDecoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	nDst, nSrc, err = d.Decoder.Transform(dst, src, atEOF)
	return markReplaced(dst[:nDst]), nSrc, err
}

// markReplaced writes invalid for each U+FFFD in text, and returns the new
// length.
func markReplaced(text []byte) int {
	for from, to := 0, 0; ; to++ {
		i := bytes.Index(text[from:], replacement)
		if i < 0 {
			return to + copy(text[to:], text[from:])
		}
		to += copy(text[to:], text[from:from+i])
		text[to] = invalid
		from += i + len(replacement)
	}
}

// charmapDecoder decodes an encoding of one byte a character. Unlike x/text it
// does as WHATWG has it with the control characters 80 to 9F: each byte that an
// encoding has no other use for is one. So every byte of latin1 is valid.
type charmapDecoder struct {
	transform.NopResetter
	m *charmap.Charmap
}

// Transform is that of transform.Transformer.
func (d charmapDecoder) Transform(dst, src []byte, _ bool) (nDst, nSrc int, err error) {
	for _, c := range src {
		if len(dst)-nDst < utf8.UTFMax {
			return nDst, nSrc, transform.ErrShortDst
		}
		r := d.m.DecodeByte(c)
		switch {
		case r < utf8.RuneSelf:
			dst[nDst] = byte(r)
			nDst++
		case r != utf8.RuneError:
			nDst += utf8.EncodeRune(dst[nDst:], r)
		case 0x80 <= c && c < 0xA0:
			nDst += utf8.EncodeRune(dst[nDst:], rune(c))
		default:
			dst[nDst] = invalid
			nDst++
		}
		nSrc++
	}
	return nDst, nSrc, nil
}

// decode returns a reader of the text of r in UTF-8, and the encoding it was
// found in: that of its byte order mark, else the one asked for; nil if its
// bytes pass as they are. The mark stays, as that of UTF-8.
func decode(r io.Reader, asked *charset) (io.Reader, *charset, error) {
	b := bufio.NewReaderSize(r, headSize)
	found := asked
	switch beginning(b, []string{bomUTF32LE, bomUTF16LE, bomUTF16BE, bom}) {
	case bomUTF32LE:
		return nil, nil, errUTF32
	case bomUTF16LE:
		found = &utf16LECharset
	case bomUTF16BE:
		found = &utf16BECharset
	case bom:
		if asked != nil {
			found = &utf8Charset
		}
	}
	if found == nil {
		return b, nil, nil
	}
	return &decoder{r: b, t: found.newDecoder(), buf: make([]byte, headSize)}, found, nil
}

// decoder reads what a Transformer makes of r. As a reader of r it returns what
// there is at once.
type decoder struct {
	r        io.Reader
	t        transform.Transformer
	buf      []byte
	from, to int // of what is read and not yet decoded, in buf
	err      error
}

// Read is that of io.Reader.
func (d *decoder) Read(p []byte) (int, error) {
	for {
		n, used, err := d.t.Transform(p, d.buf[d.from:d.to], d.err == io.EOF)
		d.from += used
		switch {
		case n > 0:
			return n, nil
		case err != nil && err != transform.ErrShortSrc:
			return 0, err
		case d.err != nil:
			return 0, d.err
		}
		d.to = copy(d.buf, d.buf[d.from:d.to])
		d.from = 0
		n, d.err = d.r.Read(d.buf[d.to:])
		d.to += n
	}
}
