package simulate

import (
	"time"

	"respipe/loader/engine"
)

// conn is a connection to a server, with both of its ends.
type conn struct {
	s      *schedule
	id     engine.ConnID
	server *server

	dead bool // the server has ended it
	lost bool // the client has
	mute bool // replies get lost, and so does the loss

	outbox  []byte // what the socket has not taken
	taken   int64
	stuck   bool
	wire    []byte // what the socket has taken of a command that is not whole
	inbox   []byte // what the server has not executed
	arrives time.Duration
	answers time.Duration

	multi, aborted, asking, askedMulti bool
	executing                          bool // the commands of a transaction
	queue                              []command
	watched                            []watchedKey
	inside                             int  // the transaction that the client has begun and not ended
	harmed                             bool // the client has lost it, or an EXEC was refused

	db, name int // the record that has set it
}

// write takes a batch that the engine submits.
func (c *conn) write(data []byte) {
	c.outbox = append(c.outbox, data...)
	if c.stuck {
		return
	}
	if c.s.mayFail(70) { // the socket takes a part, and the rest later
		c.stuck = true
		c.s.causes++
		c.take(c.s.random.IntN(len(c.outbox) + 1))
		c.s.after(c.s.within(100*ms), func() {
			c.stuck = false
			c.take(len(c.outbox))
		})
		return
	}
	c.take(len(c.outbox))
}

// take lets the socket take n bytes, which arrive later, in order.
func (c *conn) take(n int) {
	if n == 0 || c.lost {
		return
	}
	data := append([]byte(nil), c.outbox[:n]...)
	c.outbox = c.outbox[n:]
	c.taken += int64(n)
	var cmds []command
	cmds, c.wire = parse(append(c.wire, data...))
	for i := range cmds {
		c.s.sent[cmds[i].record] = true
	}
	delay := c.s.within(15 * ms)
	if c.s.mayFail(50) {
		delay += 120 * ms
		c.s.causes++
	}
	c.arrives = max(c.arrives, c.s.now+delay)
	c.s.after(c.arrives-c.s.now, func() { c.arrive(data) })
}

// arrive executes what has come whole, or perhaps only a part before the
// connection breaks.
func (c *conn) arrive(data []byte) {
	if c.dead {
		return
	}
	c.inbox = append(c.inbox, data...)
	var cmds []command
	cmds, c.inbox = parse(c.inbox)
	if c.s.mayFail(400) {
		c.fallSilent()
	}
	cut := -1
	if c.s.mayFail(c.s.shape.cuts) {
		cut = c.s.random.IntN(len(cmds) + 1)
	}
	var replies []reply
	for i := range cmds {
		if i == cut {
			break
		}
		r := c.execute(&cmds[i])
		r.name, r.last = cmds[i].name, cmds[i].record
		if r.name != "SELECT" { // it may be of any record, or of the engine
			c.s.retried(cmds[i].record)
			r.record = cmds[i].record
		}
		replies = append(replies, r)
	}
	if cut >= 0 {
		c.dead = true
		replies = replies[:c.s.random.IntN(len(replies)+1)]
	}
	c.answer(replies)
	if cut >= 0 {
		c.send(func() { c.lose() })
	}
}

// answer sends replies, in one or more pieces.
func (c *conn) answer(replies []reply) {
	for len(replies) > 0 {
		n := len(replies)
		if n > 1 && c.s.random.IntN(3) == 0 {
			n = 1 + c.s.random.IntN(n)
		}
		piece := replies[:n]
		replies = replies[n:]
		c.send(func() {
			if !c.mute {
				c.s.deliver(c, piece)
			}
		})
	}
}

// send lets something come to the client, in order.
func (c *conn) send(do func()) {
	delay := ms + c.s.within(20*ms)
	if c.s.mayFail(200) {
		delay += 400 * ms
		c.s.causes++
	}
	c.answers = max(c.answers, c.s.now+delay)
	c.s.after(c.answers-c.s.now, func() {
		if !c.lost && !c.mute {
			do()
		}
	})
}

// lose lets the client see that the connection is gone.
func (c *conn) lose() {
	if c.lost {
		return
	}
	c.lost = true
	c.harmed = true
	c.s.causes++
	c.s.trace("lost %v", c.id)
	c.s.handle(&engine.Event{Kind: engine.Lost, Conn: c.id, Written: c.taken})
}

// fallSilent lets nothing more come to the client. With a timeout the engine
// must find out; without one, the loss is seen in the end.
func (c *conn) fallSilent() {
	c.mute = true
	c.s.causes++
	if c.s.shape.config.Timeout == 0 {
		c.s.after(3000*ms, func() {
			c.dead = true
			c.lose()
		})
	}
}
