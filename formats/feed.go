package formats

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
)

const (
	chunkSize = 256 << 10 // bytes of one read
	room      = 64 << 10  // bytes before them, for the cut record of the chunk before
	buffers   = 3         // one is read into, one is under way, one is parsed
)

var errClosed = errors.New("the input was closed")

// feed is the input goroutine and its channels. It alone may block in a read
// of the input; where that never returns, it is left behind. It also unpacks
// and decodes.
//
// A chunk is a whole buffer: its data begin at room. An empty chunk ends a
// file. The feed closes ready at the end of the input, or early after an error,
// which stands in err then. The receiver gives chunks back by free, which has
// room for all of them.
type feed struct {
	files  []string
	stdin  io.Reader
	first  int           // the file to begin with
	offset int64         // where to begin in it, if that is not its start: then it is read as it stands
	asked  *charset      // the encoding asked for; nil for none
	found  []*charset    // by file, known with its first chunk; nil where its bytes pass as they are
	taken  *atomic.Int64 // bytes read from the files
	ready  chan []byte
	free   chan []byte
	done   chan struct{} // closed by the receiver, which wants no more
	made   int           // buffers that there are
	err    error
}

func newFeed(files []string, stdin io.Reader, asked *charset, taken *atomic.Int64) *feed {
	return &feed{
		files: files,
		stdin: stdin,
		asked: asked,
		taken: taken,
		found: make([]*charset, len(files)),
		ready: make(chan []byte, buffers-2),
		free:  make(chan []byte, buffers),
		done:  make(chan struct{}),
	}
}

// run reads the files one after another.
func (f *feed) run() {
	defer close(f.ready)
	for i := f.first; i < len(f.files); i++ {
		if f.err = f.read(i); f.err != nil {
			return
		}
	}
}

// read hands out the i-th file and the empty chunk behind it. What a read
// returns is passed on at once, however little it is.
func (f *feed) read(i int) error {
	file, err := f.open(f.files[i])
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := f.text(i, file)
	if err != nil {
		return err
	}
	for empty := 0; empty < 100; {
		buf := f.buffer()
		if buf == nil {
			return errClosed
		}
		n, err := r.Read(buf[room:])
		if n > 0 {
			empty = 0
			if !f.send(buf[:room+n]) {
				return errClosed
			}
		} else {
			empty++
			f.free <- buf
		}
		if err == io.EOF {
			if !f.send(nil) {
				return errClosed
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// text returns a reader of the text of the i-th file.
func (f *feed) text(i int, file io.Reader) (io.Reader, error) {
	raw := &rawReader{r: file, taken: f.taken}
	if i == f.first && f.offset > 0 {
		_, err := file.(io.Seeker).Seek(f.offset, io.SeekStart)
		return raw, err
	}
	r, err := unpack(raw)
	if err != nil {
		return nil, err
	}
	r, f.found[i], err = decode(r, f.asked)
	return r, err
}

// open opens a file. Standard input is not ours to close.
func (f *feed) open(name string) (io.ReadCloser, error) {
	if name == stdinArg {
		return io.NopCloser(f.stdin), nil
	}
	return os.Open(name)
}

// rawReader reads a file as it stands, and counts its bytes. Its error is there
// to stay.
type rawReader struct {
	r     io.Reader
	taken *atomic.Int64
	err   error
}

// Read is that of io.Reader.
func (r *rawReader) Read(p []byte) (n int, err error) {
	if r.err == nil {
		n, r.err = r.r.Read(p)
		r.taken.Add(int64(n))
	}
	return n, r.err
}

// buffer returns a buffer to read into; nil when the receiver has gone.
func (f *feed) buffer() []byte {
	select {
	case buf := <-f.free:
		return buf[:cap(buf)]
	default:
	}
	if f.made < buffers {
		f.made++
		return make([]byte, room+chunkSize)
	}
	select {
	case buf := <-f.free:
		return buf[:cap(buf)]
	case <-f.done:
		return nil
	}
}

// send passes a chunk on; false when the receiver has gone.
func (f *feed) send(chunk []byte) bool {
	select {
	case f.ready <- chunk:
		return true
	case <-f.done:
		return false
	}
}
