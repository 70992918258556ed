package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"respipe/loader/wire/reply"
)

const readBuffer = 64 << 10 // bytes of replies that one read may bring

// Options say how a Conn reads.
type Options struct {
	Lazy bool // the latency of replies does not matter, as without a bounded window
	Keep int  // bytes of each reply that News.Kept gets; 0 for none, reply.KeepAll

	// KeepBytes is how many bytes of replies may wait for Take. When there are
	// more the connection is not read, which holds its server up.
	KeepBytes int
}

// News is what a connection has brought since it was last asked.
type News struct {
	Replies int           // complete replies, to the commands that have waited longest
	Errors  []reply.Error // errors among them; Index counts from the first of Replies
	Kept    []byte        // see reply.Reader
	Ends    []int

	// Err says why the connection is lost; nil while it lives. It is told once all
	// replies have been taken, and is the last that there is to tell.
	Err error
}

// Conn is a connection to a server behind its handshake. Write, Take and Close
// belong to one goroutine.
type Conn struct {
	socket *socket
	waker  *Waker
	opts   Options
	writer sync.WaitGroup
	reader sync.WaitGroup

	sent     atomic.Int64 // commands
	read     atomic.Int64 // read calls that brought something
	written  atomic.Int64 // bytes that the socket has taken
	writing  atomic.Bool  // the writer has something, or a write has failed
	answered int64        // the reader's

	mu     sync.Mutex
	out    [][]byte // for the writer
	more   sync.Cond
	closed bool

	news  News
	room  sync.Cond // in news, for replies that are kept
	spare News      // taken before, used again
}

// New returns a Conn for a connection, which it owns. The waker is woken when
// there is something to Take.
func New(nc net.Conn, waker *Waker, opts Options) *Conn {
	c := &Conn{socket: newSocket(nc, opts.Lazy), waker: waker, opts: opts}
	c.more.L, c.room.L = &c.mu, &c.mu
	c.writer.Go(c.writeQueued)
	c.reader.Go(c.readReplies)
	return c
}

// Write sends so many commands in RESP and does not wait. The bytes must not
// change until the commands are answered or Close has returned. What becomes of a
// write that fails is told by Take.
func (c *Conn) Write(resp []byte, commands int) {
	c.sent.Add(int64(commands))
	if !c.writing.Load() {
		n, err := c.socket.writeNow(resp)
		c.written.Add(int64(n))
		if err != nil {
			c.writing.Store(true) // nothing may follow a part
			c.socket.fail()
			return
		}
		if resp = resp[n:]; len(resp) == 0 {
			return
		}
	}
	c.mu.Lock()
	c.writing.Store(true)
	c.out = append(c.out, resp)
	c.mu.Unlock()
	c.more.Signal()
}

// Take returns what the connection has brought since the last Take. The slices
// are valid until the next one.
func (c *Conn) Take() News {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.news
	c.news = News{Errors: c.spare.Errors[:0], Kept: c.spare.Kept[:0], Ends: c.spare.Ends[:0]}
	c.spare = n
	c.room.Signal()
	return n
}

// Written returns how many bytes the socket has taken. It is final once Take has
// told of the loss, or Close has returned.
func (c *Conn) Written() int64 { return c.written.Load() }

// Reads returns how many reads have brought something, which tells a silent
// server from one that sends a long reply.
func (c *Conn) Reads() int64 { return c.read.Load() }

// Close closes the connection and waits until its goroutines have ended, so that
// no bytes given to Write are used any more. What it brings is not told.
func (c *Conn) Close() {
	c.endWriter()
	c.room.Signal()
	c.reader.Wait()
}

// endWriter closes the connection and waits until nothing is written any more.
func (c *Conn) endWriter() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.more.Signal()
	c.socket.Close()
	c.writer.Wait()
}

// writeQueued writes what the socket did not take at once. After a failure it
// ends: nothing may follow what was written in part.
func (c *Conn) writeQueued() {
	var spare [][]byte
	for {
		c.mu.Lock()
		for len(c.out) == 0 && !c.closed {
			c.more.Wait()
		}
		out := c.out
		c.out, spare = spare[:0], out
		if c.closed {
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		for i := range out {
			n, err := c.socket.Conn.Write(out[i])
			c.written.Add(int64(n))
			out[i] = nil
			if err != nil {
				c.socket.fail()
				return
			}
		}
		c.mu.Lock()
		c.writing.Store(len(c.out) > 0)
		c.mu.Unlock()
	}
}

// readReplies reads until the connection is lost.
func (c *Conn) readReplies() {
	buf := make([]byte, readBuffer)
	r := reply.Reader{Keep: c.opts.Keep}
	for {
		n, err := c.socket.read(buf, c.sent.Load()-c.answered)
		if n > 0 {
			c.read.Add(1)
			replies, bad := r.Read(buf[:n], int(c.sent.Load()-c.answered))
			c.answered += int64(replies)
			c.bring(&r, replies)
			if bad != nil {
				c.lose(bad)
				return
			}
		}
		if err != nil {
			c.lose(explain(err, r.Inside()))
			return
		}
	}
}

// bring adds what one read has found to the news.
func (c *Conn) bring(r *reply.Reader, replies int) {
	if replies == 0 {
		return
	}
	c.mu.Lock()
	n := &c.news
	for _, e := range r.Errors {
		e.Index += n.Replies
		e.Text = n.text(e.Text)
		n.Errors = append(n.Errors, e)
	}
	if len(r.Ends) > 0 {
		from := len(n.Kept)
		n.Kept = append(n.Kept, r.Kept[:r.Ends[len(r.Ends)-1]]...)
		for _, end := range r.Ends {
			n.Ends = append(n.Ends, from+end)
		}
	}
	n.Replies += replies
	c.mu.Unlock()
	c.waker.Wake()

	c.mu.Lock()
	for c.opts.KeepBytes > 0 && len(c.news.Kept) > c.opts.KeepBytes && !c.closed {
		c.room.Wait()
	}
	c.mu.Unlock()
}

// text returns a copy of the text of an error, which is that of the error before
// it if both say the same: a flood of one error costs no memory for its words.
func (n *News) text(text []byte) []byte {
	if text == nil {
		return nil
	}
	if k := len(n.Errors); k > 0 && n.Errors[k-1].Text != nil && string(n.Errors[k-1].Text) == string(text) {
		return n.Errors[k-1].Text
	}
	return slices.Clone(text)
}

// lose tells that the connection is lost.
func (c *Conn) lose(err error) {
	c.endWriter()
	c.mu.Lock()
	c.news.Err = err
	c.mu.Unlock()
	c.waker.Wake()
}

// explain says in words why a read has failed.
func explain(err error, inside bool) error {
	switch {
	case errors.Is(err, io.EOF) && inside:
		return errors.New("the server closed the connection in the middle of a reply")
	case errors.Is(err, io.EOF):
		return errors.New("the server closed the connection")
	case os.IsTimeout(err):
		return errors.New("a write failed and no more replies came")
	}
	return fmt.Errorf("reading replies: %w", err)
}
