package loader

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"respipe/parser"
)

func (c *conn) readReplies() {
	defer c.ended.Done()
	buf := make([]byte, readBuffer)
	for {
		n, err := c.net.read(buf, c.due.Load()-c.past-int64(c.got))
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
	c.tell(event{kind: lost, err: err})
}

// explain says in words why a read failed.
func (c *conn) explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return c.cause
	}
	return inWords(err, c.scan.Inside())
}

// take matches the replies in b to the commands that were sent.
func (c *conn) take(b []byte) error {
	for len(b) > 0 {
		if c.cur == nil && !c.nextBatch() {
			return unasked(b)
		}
		if c.cur.plain && !c.block.open && c.keepReplies == 0 && !c.scan.Inside() {
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
		c.collect(b[:n])
		b = b[n:]
		for ev == parser.Element { // the reply may end with it, and b too
			c.elementFailed()
			if n, ev, err = c.scan.Scan(b); err != nil {
				return err
			}
			c.collect(b[:n])
			b = b[n:]
		}
		if ev == parser.Done {
			if err := c.refusedState(); err != nil {
				return err
			}
			c.answer()
		}
	}
	return nil
}

// refusedState returns an error if a command of our own was refused that was to
// bring the connection into the state of the others: what follows on it would
// run in another database, so that the connection must not be used any more.
func (c *conn) refusedState() error {
	p := &c.cur.places[c.got]
	if c.scan.Kind != '-' || p.flags&own == 0 || p.class != parser.State {
		return nil
	}
	return fmt.Errorf("SELECT was refused on one of several connections: %s", c.scan.Text)
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
	if c.keepReplies != 0 {
		c.cur.endReply(i)
		c.collected = 0
	}
	failed := s.Kind == '-'
	if failed && p.flags&own == 0 {
		c.failed(p, i)
	}
	switch {
	case p.endsBlock():
		c.abandonBlock(i)
	case p.flags&own != 0 && p.class == parser.RefusedAlone:
		c.answerWait()
	case p.flags&own != 0 && p.class == parser.Write && failed:
		c.refused = errors.New(string(s.Text))
	case p.flags&own != 0 && p.class != parser.State:
	case failed && p.class != parser.Exec:
	case p.class == parser.Exec:
		c.endBlock(i)
	case p.class == parser.Discard && (c.block.dirty || p.flags&unrun != 0):
		c.abandonBlock(i)
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

// failed notes an error reply. One that is not final keeps its batch, and all
// behind it, until it is sent again.
func (c *conn) failed(p *place, i int) {
	if p.flags&rerun != 0 && isWrongType(c.scan.Text) {
		c.cur.repeats++
		return
	}
	c.cur.fail(i, c.scan.Text, false)
	c.block.dirty = true
	if isTemporary(c.scan.Text) {
		p.flags |= again
		c.redo = true
	}
	c.bad = c.bad || p.class == parser.State
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
	if b.places[i].flags&rerun != 0 && isWrongType(c.scan.Text) {
		c.cur.repeats++
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
	c.block.watch = append(c.block.watch, bytes.Clone(c.cur.bytesOf(i)))
}

// endBlock closes the block with the reply to its EXEC.
func (c *conn) endBlock(i int) {
	switch {
	case c.scan.Nil:
		c.cur.warn(i, "the transaction did not run: a key that it watches was changed")
		c.abandonBlock(i)
		return
	case c.scan.Kind == '-':
		c.abandonBlock(i)
		return
	case c.scan.Kind == '*' && len(c.block.dbs) > 0:
		c.db = c.block.dbs[len(c.block.dbs)-1].db
	}
	c.closeBlock()
}

// abandonBlock closes a block that was not executed.
func (c *conn) abandonBlock(i int) {
	if c.block.open {
		c.block.fail(i, c.cur)
	}
	c.closeBlock()
}

// closeBlock settles the batches that waited for the block's end; the one that
// is being answered is settled when all of it is.
func (c *conn) closeBlock() {
	c.block.close()
	if !c.redo && c.replicas == 0 {
		c.releaseHeld()
	}
}

// answerWait takes the answer to a WAIT, which settles what was answered before.
func (c *conn) answerWait() {
	c.wait = true
	if c.scan.Kind == '-' {
		c.refused = errors.New(string(c.scan.Text))
		return
	}
	n, _ := strconv.Atoi(string(c.scan.Text))
	if c.enough = n >= c.replicas; c.enough && !c.redo {
		c.releaseHeld()
	}
}

func (c *conn) releaseHeld() {
	pieces, held := c.block.release()
	if pieces != nil {
		c.tell(event{kind: released, b: pieces})
	}
	for _, b := range held {
		c.release(b)
	}
}

// release passes an answered batch on.
func (c *conn) release(b *Batch) {
	c.backlog.add(b)
	c.finish(b)
}

// completeBatch is called when the last reply of a batch has come.
func (c *conn) completeBatch() {
	b := c.cur
	c.cur, c.got = nil, 0
	c.past += int64(b.due)
	hold := c.block.open || c.redo || c.replicas > 0 && !c.wait
	if hold {
		c.block.hold(b)
	}
	c.tell(event{kind: answered, b: b, at: time.Now(), db: c.db, held: hold, redo: c.redo, bad: c.bad, wait: c.wait, enough: c.enough, err: c.refused})
	c.bad, c.wait, c.enough = false, false, false
	if !hold {
		c.release(b)
		c.backlog.wait(c)
		return
	}
	for c.block.open && c.tooMuchHeld() {
		old := c.block.letGo()
		if old == nil {
			return
		}
		c.tell(event{kind: letGo, b: old})
	}
}

// tooMuchHeld reports whether the oldest batch must be let go. What is sent
// again needs all of the flight, which the window bounds.
func (c *conn) tooMuchHeld() bool {
	bytes, batches := c.keep, maxBatches/2
	if c.redo {
		bytes, batches = 2*bytes, 2*batches
	}
	return c.block.bytes > bytes || len(c.block.held) > batches
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
