package loader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"respipe/parser"
)

const (
	maxBatches     = 256             // kept on a connection
	readBuffer     = 64 << 10        // bytes of replies that one read(2) may bring
	lastWords      = 2 * time.Second // how long the server's last replies are waited for
	eventsPerBatch = 3               // at most so many events for one batch
)

// event is what a connection tells Run's goroutine.
type event struct {
	kind eventKind
	b    *Batch
	db   int   // answered: the database selected now
	held bool  // answered: b ends inside a block
	err  error // lost
}

type eventKind uint8

const (
	answered eventKind = iota // every command of b has its reply
	released                  // b, and those behind its next, are settled and written
	letGo                     // the bytes of b are not needed any more, its places are kept elsewhere
	lost                      // the connection is of no use any more
)

// conn is one connection to a server. Its writer takes batches from out and
// writes them, its reader takes the same batches from in and matches replies
// to them. Both channels are closed by Run's goroutine; no send on any of the
// three ever waits, as at most maxBatches are kept.
type conn struct {
	net    net.Conn
	out    chan *Batch
	in     chan *Batch
	events chan event
	ended  sync.WaitGroup

	reads   atomic.Int64 // read(2) calls that brought something, for the stall clock
	written int64        // bytes that Write took; the writer's, ours when it has ended

	mu    sync.Mutex
	cause error // why we gave the connection up

	// The reader's.
	scan  parser.ReplyScanner
	cur   *Batch // being answered
	got   int    // places of cur that are answered
	block block
	db    int
	keep  int64 // bytes that an open block may hold
}

func newConn(nc net.Conn, db int, windowBytes int64) *conn {
	c := &conn{
		net:    nc,
		out:    make(chan *Batch, maxBatches),
		in:     make(chan *Batch, maxBatches),
		events: make(chan event, eventsPerBatch*maxBatches+1),
		db:     db,
		keep:   windowBytes / 2,
	}
	c.ended.Add(2)
	go c.writeBatches()
	go c.readReplies()
	return c
}

// hand passes b to reader and writer.
func (c *conn) hand(b *Batch) {
	c.in <- b
	c.out <- b
}

// abort gives the connection up because of err, which frees reader and writer.
func (c *conn) abort(err error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = err
	}
	c.mu.Unlock()
	c.net.Close()
}

// close ends reader and writer and waits for both.
func (c *conn) close() {
	close(c.out)
	c.abort(net.ErrClosed)
	c.ended.Wait()
}

func (c *conn) writeBatches() {
	defer c.ended.Done()
	failed := false
	for b := range c.out {
		if failed {
			continue
		}
		n, err := c.net.Write(b.resp)
		c.written += int64(n)
		if err != nil {
			failed = true
			c.net.SetReadDeadline(time.Now().Add(lastWords))
			continue
		}
		c.finish(b)
	}
}

// finish is called once by the reader and once by the writer for each batch.
// The order of batches is kept: the writer is done with one before it begins
// the next.
func (c *conn) finish(b *Batch) {
	if b.unfinished.Add(-1) == 0 {
		c.events <- event{kind: released, b: b}
	}
}

func (c *conn) readReplies() {
	defer c.ended.Done()
	buf := make([]byte, readBuffer)
	for {
		n, err := c.net.Read(buf)
		if n > 0 {
			c.reads.Add(1)
			if err := c.take(buf[:n]); err != nil {
				c.lose(err)
				return
			}
		}
		if err != nil {
			c.lose(c.explain(err))
			return
		}
	}
}

func (c *conn) lose(err error) {
	c.net.Close()
	c.events <- event{kind: lost, err: err}
}

// explain says in words why a read failed.
func (c *conn) explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cause != nil:
		return c.cause
	case errors.Is(err, io.EOF) && c.scan.Inside():
		return errors.New("the server closed the connection in the middle of a reply")
	case errors.Is(err, io.EOF):
		return errors.New("the server closed the connection")
	case isTimeout(err):
		return errors.New("the connection broke: a write failed and no more replies came")
	}
	return err
}

// take matches the replies in b to the commands that were sent.
func (c *conn) take(b []byte) error {
	for len(b) > 0 {
		if c.cur == nil && !c.nextBatch() {
			return unasked(b)
		}
		if c.cur.plain && !c.block.open && !c.scan.Inside() {
			n, replies := parser.SkipPlain(b, c.cur.due-c.got)
			b = b[n:]
			c.got += replies
			if c.got == c.cur.due {
				c.completeBatch()
				continue
			}
		}
		n, ev, err := c.scan.Scan(b)
		if err != nil {
			return err
		}
		b = b[n:]
		for ev == parser.Element { // the reply may end with it, and b too
			c.elementFailed()
			if n, ev, err = c.scan.Scan(b); err != nil {
				return err
			}
			b = b[n:]
		}
		if ev == parser.Done {
			c.answer()
		}
	}
	return nil
}

// nextBatch begins to answer the next batch that was handed over.
func (c *conn) nextBatch() bool {
	select {
	case c.cur = <-c.in:
		c.got = 0
		c.passRefused()
		return true
	default:
		return false
	}
}

// passRefused steps over places that are owed no reply.
func (c *conn) passRefused() {
	for c.got < len(c.cur.places) && c.cur.places[c.got].flags&refused != 0 {
		c.got++
	}
}

// answer matches one whole reply to its command.
func (c *conn) answer() {
	i, s := c.got, &c.scan
	p := &c.cur.places[i]
	failed := s.Kind == '-'
	if failed && p.flags&own == 0 {
		c.cur.fail(i, s.Text, false)
	}
	switch {
	case p.flags&own != 0:
		c.closeBlock()
	case failed && p.class != parser.Exec:
	case p.class == parser.Exec:
		c.endBlock(i)
	case p.class == parser.Discard, p.class == parser.Unwatch && !c.block.open:
		c.closeBlock()
	case p.class == parser.Multi:
		c.block.start(i)
	case p.class == parser.Watch:
		c.watch(i)
	case c.block.open:
		c.queued(p, i)
	case p.class == parser.State:
		if db, ok := selectedDB(c.cur.bytesOf(i)); ok {
			c.db = db
		}
	}
	c.got++
	c.passRefused()
	if c.got == len(c.cur.places) {
		c.completeBatch()
	}
}

// elementFailed notes an error among the elements of an EXEC's reply.
func (c *conn) elementFailed() {
	if c.cur.places[c.got].class != parser.Exec || !c.block.open {
		return
	}
	b, i, ok := c.block.locate(c.scan.Index, c.cur)
	if !ok {
		return
	}
	b.fail(i, c.scan.Text, false)
	c.block.selectFailed(c.scan.Index)
}

// queued notes a command inside a block.
func (c *conn) queued(p *place, i int) {
	if c.scan.Kind != '+' || string(c.scan.Text) != "QUEUED" {
		return
	}
	p.flags |= queued
	if p.class == parser.State {
		if db, ok := selectedDB(c.cur.bytesOf(i)); ok {
			c.block.queueSelect(db)
			return
		}
	}
	c.block.queue()
}

// watch notes where a block begins that begins with WATCH.
func (c *conn) watch(i int) {
	if !c.block.watching {
		c.block.watching = true
		c.block.watched = c.cur.markOf(i)
	}
}

// endBlock closes the block with the reply to its EXEC.
func (c *conn) endBlock(i int) {
	switch {
	case c.scan.Nil:
		c.cur.warn(i, "the block did not run: a key that it watches was changed")
	case c.scan.Kind == '*' && len(c.block.dbs) > 0:
		c.db = c.block.dbs[len(c.block.dbs)-1].db
	}
	c.closeBlock()
}

// closeBlock settles the batches that waited for the block's end; the one that
// is being answered is settled when all of it is.
func (c *conn) closeBlock() {
	c.block.open, c.block.watching = false, false
	pieces, held := c.block.release()
	if pieces != nil {
		c.events <- event{kind: released, b: pieces}
	}
	for _, b := range held {
		c.finish(b)
	}
}

// completeBatch is called when the last reply of a batch has come.
func (c *conn) completeBatch() {
	b := c.cur
	c.cur = nil
	c.events <- event{kind: answered, b: b, db: c.db, held: c.block.open}
	if !c.block.open {
		c.finish(b)
		return
	}
	c.block.hold(b)
	for c.block.bytes > c.keep || len(c.block.held) > maxBatches/2 {
		old := c.block.letGo()
		if old == nil {
			return
		}
		c.events <- event{kind: letGo, b: old}
	}
}

// selectedDB returns the database of a SELECT in RESP.
func selectedDB(resp []byte) (int, bool) {
	args := parser.ParseRequest(resp, nil)
	if len(args) != 2 || !bytes.EqualFold(args[0], []byte("SELECT")) {
		return 0, false
	}
	db, err := strconv.Atoi(string(args[1]))
	return db, err == nil
}

// errUnasked says that replies and commands do not match: what was taken for
// the reply of one command may be that of another.
var errUnasked = errors.New("the server said what no command had asked for")

func unasked(b []byte) error {
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	return fmt.Errorf("%w: %.200q", errUnasked, line)
}
