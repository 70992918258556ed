package formats

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// openXZ opens an xz file whose window, as its first block has it, is not too
// large; xz writes the same into all blocks.
func openXZ(r *bufio.Reader) (io.Reader, error) {
	if window := xzWindow(r); window > maxWindow {
		return nil, fmt.Errorf("its window of %d MiB is larger than %d MiB", window>>20, maxWindow>>20)
	}
	return xz.ReaderConfig{DictCap: lzma.MinDictCap}.NewReader(&xzSource{r: r}) // no window is smaller
}

// xzSource is the bytes of an xz file. The package xz takes an end inside of the
// head of a block for the end of the file. The only true end is where it begins
// to ask for the four bytes of another stream, or of padding.
type xzSource struct {
	r     *bufio.Reader
	short bool // the last read brought less than it asked for, so the next goes on with it
}

// Read is that of io.Reader.
func (s *xzSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err == io.EOF && (s.short || len(p) != 4) {
		err = io.ErrUnexpectedEOF
	}
	s.short = n < len(p)
	return n, err
}

// xzWindow returns the size of the window that the head of the first block asks
// for; 0 where it is malformed, which the package xz tells better.
func xzWindow(r *bufio.Reader) int64 {
	const start = xz.HeaderLen
	head, err := r.Peek(start + 1)
	if err != nil {
		return 0
	}
	if head, err = r.Peek(start + (int(head[start])+1)*4); err != nil || len(head) < start+2 {
		return 0
	}
	flags, fields := head[start+1], head[start+2:]
	number := func() uint64 {
		n, size := binary.Uvarint(fields)
		fields = fields[max(size, 0):]
		return n
	}
	for _, sized := range []byte{0x40, 0x80} { // compressed, uncompressed
		if flags&sized != 0 {
			number()
		}
	}
	for range flags&3 + 1 { // filters
		const lzma2 = 0x21
		id, size := number(), number()
		if size > uint64(len(fields)) {
			return 0
		}
		if id == lzma2 && size == 1 {
			window, _ := lzma.DecodeDictCap(fields[0])
			return window
		}
		fields = fields[size:]
	}
	return 0
}
