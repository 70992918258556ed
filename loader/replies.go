package loader

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"respipe/parser"
)

// With Config.KeepReplies the reader keeps what is answered, in the batch of
// its command, until OnSettled has seen it. What keeps that in bounds: a batch
// is short; the window counts replies, those to come by how long they have been
// of late; and while too much of them has not gone through OnSettled, nothing
// more is read.

// KeepAll keeps replies of any length.
const KeepAll = -1

const (
	repliesPerBatch = 64  // commands in a batch whose replies are kept
	firstGuess      = 512 // bytes that a reply is taken to have before one has come
)

// Reply returns the reply to command i, as it came but for what is beyond
// Config.KeepReplies; nil if there is none, or if another place has it. Of a
// command that was sent in pieces it is what all of them were answered together.
func (b *Batch) Reply(i int) []byte {
	switch flags := b.places[i].flags; {
	case flags&(moved|own) != 0:
		return nil
	case flags&piece == 0:
		return b.reply(i)
	case b.splits[i].ends(b, i):
		return b.splits[i].reply
	}
	return nil
}

// reply returns what has come for place i.
func (b *Batch) reply(i int) []byte {
	if i >= len(b.ends) {
		return nil
	}
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	if start == b.ends[i] {
		return nil
	}
	return b.replies[start:b.ends[i]:b.ends[i]]
}

// endReply notes that the reply to place i has come to its end.
func (b *Batch) endReply(i int) {
	end := len(b.replies)
	start := 0
	if n := len(b.ends); n > 0 {
		start = b.ends[n-1]
	}
	for len(b.ends) < i { // refused: they have none
		b.ends = append(b.ends, start)
	}
	b.ends = append(b.ends, end)
}

// collect keeps a part of the reply that is being read.
func (c *conn) collect(part []byte) {
	if c.keepReplies == 0 {
		return
	}
	if left := c.keepReplies - c.collected; c.keepReplies > 0 && len(part) > left {
		part = part[:left]
	}
	c.collected += len(part)
	c.cur.replies = append(c.cur.replies, part...)
}

// backlog is what was read of replies and has not gone through OnSettled.
type backlog struct {
	limit int64 // bytes

	mu    sync.Mutex
	room  *sync.Cond
	bytes int64
}

func newBacklog(limit int64) *backlog {
	l := &backlog{limit: limit}
	l.room = sync.NewCond(&l.mu)
	return l
}

// add counts the replies of a batch that a reader is done with.
func (l *backlog) add(b *Batch) {
	if b.replies == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b.backlog = int64(len(b.replies))
	l.bytes += b.backlog
}

// remove is called when they have gone through OnSettled.
func (l *backlog) remove(b *Batch) {
	if b.replies == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= b.backlog
	b.backlog = 0
	l.room.Broadcast()
}

// wait waits until there is room, or the connection is closed.
func (l *backlog) wait(c *conn) {
	if c.keepReplies == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.bytes > l.limit && !c.left {
		l.room.Wait()
	}
}

// leave ends the waiting of a connection's reader.
func (l *backlog) leave(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.left = true
	l.room.Broadcast()
}

// expectReplies learns from a batch that is answered how long replies are.
func (r *run) expectReplies(p *pipeline, b *Batch) {
	if r.cfg.KeepReplies == 0 || b.due == 0 {
		return
	}
	n := int64(len(b.replies))
	b.charged += n
	p.keptBytes += n
	r.replySize = max(r.replySize-r.replySize/8, n/int64(b.due))
}

// afterHook is told how long OnSettled took: a connection is not stalled
// because nobody took its replies.
func (r *run) afterHook(took time.Duration) {
	if took > longPause {
		for _, p := range r.pipes {
			p.stall.restart()
		}
	}
}

// takeReply adds what a piece was answered: numbers are added up where the
// command counts its keys, else the first reply stands for all.
func (s *split) takeReply(reply []byte) {
	sum, isSum := replyNumber(s.reply)
	n, isNumber := replyNumber(reply)
	switch {
	case len(reply) == 0:
	case s.reply == nil, reply[0] == '-' && s.reply[0] != '-':
		s.reply = bytes.Clone(reply)
	case s.adds && isSum && isNumber:
		s.reply = append(strconv.AppendInt([]byte{':'}, sum+n, 10), "\r\n"...)
	}
}

// replyNumber reads a reply that is a number.
func replyNumber(reply []byte) (n int64, ok bool) {
	v, _, err := parser.ParseReply(reply)
	if err != nil || v.Kind != ':' {
		return 0, false
	}
	n, err = strconv.ParseInt(string(v.Text), 10, 64)
	return n, err == nil
}
