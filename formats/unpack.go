package formats

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	maxWindow = 128 << 20 // bytes that a decoder may look back
	headSize  = 64 << 10  // buffer of a reader whose first bytes are looked at
)

// packing is one way of compressing a file. Its decoder reads all streams of
// the file, one after another.
type packing struct {
	name  string
	heads []string // a file begins with one of them; ? is any byte
	exts  []string
	open  func(*bufio.Reader) (io.Reader, error)
}

// packings are those that are recognised by the first bytes of a file.
var packings = []packing{
	{"gzip", []string{"\x1F\x8B"}, []string{".gz", ".gzip"}, openGzip},
	{"zstd", []string{"\x28\xB5\x2F\xFD", "\x50\x2A\x4D\x18"}, []string{".zst", ".zstd"}, openZstd},
	{"bzip2", []string{"BZh?1", "BZh?\x17"}, []string{".bz2"}, openBzip2},
	{"xz", []string{"\xFD7zXZ\x00"}, []string{".xz"}, openXZ},
	{"lz4", []string{"\x04\x22\x4D\x18", "\x02\x21\x4C\x18"}, []string{".lz4"}, openLZ4},
}

// packedAs returns the packing whose files begin with head.
func packedAs(head string) *packing {
	i := slices.IndexFunc(packings, func(p packing) bool { return slices.Contains(p.heads, head) })
	return &packings[i]
}

// packedHeads returns the first bytes of all packings.
func packedHeads() (heads []string) {
	for _, p := range packings {
		heads = append(heads, p.heads...)
	}
	return heads
}

// withoutPacking returns the name of a file without the extension that says how
// it is packed.
func withoutPacking(file string) string {
	ext := filepath.Ext(file)
	for _, p := range packings {
		if slices.Contains(p.exts, strings.ToLower(ext)) {
			return strings.TrimSuffix(file, ext)
		}
	}
	return file
}

// unpack returns what is in a file: unpacked, if its first bytes say that it is
// packed. Data that is corrupt or cut off is an error behind all that stood
// before it; an error of raw stays as it is.
func unpack(raw *rawReader) (io.Reader, error) {
	r := bufio.NewReaderSize(raw, headSize)
	head := beginning(r, packedHeads())
	if head == "" {
		return r, nil
	}
	p := packedAs(head)
	u := &unpacker{raw: raw, name: p.name}
	var err error
	if u.r, err = p.open(r); err != nil {
		return nil, u.explain(err)
	}
	return u, nil
}

// unpacker says of an error whose it is.
type unpacker struct {
	r    io.Reader
	raw  *rawReader
	name string
}

// Read is that of io.Reader.
func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && err != io.EOF {
		err = u.explain(err)
	}
	return n, err
}

func (u *unpacker) explain(err error) error {
	switch {
	case u.raw.err != nil && u.raw.err != io.EOF:
		return u.raw.err
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the %s data is cut off", u.name)
	}
	return fmt.Errorf("the %s data is corrupt: %w", u.name, err)
}

func openZstd(r *bufio.Reader) (io.Reader, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
}

func openBzip2(r *bufio.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }

func openLZ4(r *bufio.Reader) (io.Reader, error) { return lz4.NewReader(r), nil }

// gzipReader reads the members of a gzip file. As with gzip, zero bytes behind
// the last one are padding; unlike there, anything else is an error.
type gzipReader struct {
	r      *bufio.Reader
	member *gzip.Reader
}

func openGzip(r *bufio.Reader) (io.Reader, error) {
	member, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{r: r, member: member}, nil
}

// Read is that of io.Reader.
func (g *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.member.Read(p)
		if n > 0 && err == io.EOF { // it comes again
			return n, nil
		}
		if err != io.EOF {
			return n, err
		}
		if err := g.next(); err != nil {
			return 0, err
		}
	}
}

// next goes to the next member. The error is io.EOF if there is none.
func (g *gzipReader) next() error {
	if err := skipZeros(g.r); err != nil {
		return err
	}
	if beginning(g.r, packedAs("\x1F\x8B").heads) == "" {
		return errors.New("something else stands behind it")
	}
	err := g.member.Reset(g.r)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	g.member.Multistream(false)
	return err
}

// skipZeros skips zero bytes. The error is io.EOF if nothing follows.
func skipZeros(r *bufio.Reader) error {
	for {
		c, err := r.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			return r.UnreadByte()
		}
	}
}
