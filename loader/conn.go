package loader

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"respipe/parser"
)

const (
	maxBatches = 256             // kept on a connection
	readBuffer = 64 << 10        // bytes of replies that one read(2) may bring
	lastWords  = 2 * time.Second // how long the server's last replies are waited for
)

// conn is one connection to a server. Its writer takes batches from out and
// writes them, its reader takes the same batches from in and matches replies
// to them. Run's goroutine closes out. No send on either waits for long, as no
// more than maxBatches are kept, but for what is sent again.
type conn struct {
	net   *replySocket
	pipe  *pipeline // Run's goroutine's
	mail  *mailbox
	out   chan *Batch
	in    chan *Batch
	ended sync.WaitGroup

	reads   atomic.Int64 // read(2) calls that brought something, for the stall clock
	due     atomic.Int64 // replies to all that was handed over
	written int64        // bytes that Write took; the writer's, ours when it has ended

	mu    sync.Mutex
	cause error // why we gave the connection up

	// The reader's; Run's goroutine may use them while nothing is unanswered,
	// and when the reader has ended.
	scan     parser.ReplyScanner
	cur      *Batch // being answered
	got      int    // places of cur that are answered
	past     int64  // replies to the batches before cur
	block    block
	redo     bool // something of what is held must be sent again
	bad      bool // a command of cur that changes the connection was refused
	db       int
	wait     bool  // cur is a WAIT, which was answered
	enough   bool  // with enough replicas
	refused  error // or not at all
	replicas int   // without which an answer settles nothing; 0 for none
	keep     int64 // bytes that an open block may hold

	backlog     *backlog
	keepReplies int  // bytes of each reply; 0 for none, KeepAll
	collected   int  // of the reply that is being read
	left        bool // nobody waits for replies any more; the backlog guards it

	closed bool
	rest   []*Batch // taken from in when the connection was closed
}

func newConn(nc net.Conn, p *pipeline, r *run) *conn {
	c := &conn{
		net:      newReplySocket(nc, r.cfg.Window == WindowMax),
		pipe:     p,
		mail:     r.mail,
		out:      make(chan *Batch, 2*maxBatches),
		in:       make(chan *Batch, 2*maxBatches),
		db:       r.db,
		keep:     r.cfg.WindowBytes / 2,
		replicas: p.node.wait,

		backlog: r.backlog, keepReplies: r.cfg.KeepReplies,
	}
	c.ended.Add(2)
	go c.writeBatches()
	go c.readReplies()
	return c
}

// tell tells Run's goroutine.
func (c *conn) tell(e event) {
	e.from = c
	c.mail.put(e)
}

// hand passes b to reader and writer.
func (c *conn) hand(b *Batch) {
	c.due.Add(int64(b.due))
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
	if c.closed {
		return
	}
	c.closed = true
	close(c.out)
	c.abort(net.ErrClosed)
	c.backlog.leave(c)
	c.ended.Wait()
}

// flown is a batch that was handed over and is not settled.
type flown struct {
	*Batch
	got int // places that are answered
}

// flight returns what is not settled, oldest first. The connection must be
// closed, or nothing on it unanswered.
func (c *conn) flight() (all []flown) {
	for _, b := range c.block.pieces {
		all = append(all, flown{b, len(b.places)})
	}
	for _, b := range c.block.held {
		all = append(all, flown{b, len(b.places)})
	}
	if c.cur != nil {
		all = append(all, flown{c.cur, c.got})
	}
	for more := true; more; {
		select {
		case b := <-c.in:
			c.rest = append(c.rest, b)
		default:
			more = false
		}
	}
	for _, b := range c.rest {
		all = append(all, flown{b, 0})
	}
	return all
}

// forgetFlight makes the connection forget what flight has returned.
func (c *conn) forgetFlight() {
	c.block.release()
	c.cur, c.rest = nil, nil
	c.redo = false
}

// writeBatches is done with each batch whether its Write succeeded or not:
// what became of it is for the reader to tell.
func (c *conn) writeBatches() {
	defer c.ended.Done()
	failed := false
	for b := range c.out {
		if !failed {
			n, err := c.net.Write(b.resp)
			c.written += int64(n)
			if failed = err != nil; failed {
				c.net.fail()
			}
		}
		c.finish(b)
	}
}

// finish is called once by the reader and once by the writer for each batch.
// The order of batches is kept: the writer is done with one before it begins
// the next.
func (c *conn) finish(b *Batch) {
	if b.unfinished.Add(-1) == 0 {
		c.tell(event{kind: released, b: b})
	}
}
