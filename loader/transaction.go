package loader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"respipe/parser"
)

// transaction is what runs as a whole, or not at all: commands of the input,
// and the position behind them. What is written is a MULTI, the commands, the
// position and an EXEC, then WATCH and GET of the key of the position.
//
// A block of the input brings MULTI and EXEC of its own; or a DISCARD, and then
// the position is not written.
type transaction struct {
	batches   []*Batch
	next      Position // behind its commands
	records   int      // in it, one that it shares with others included
	counted   int64    // Report.Records behind its commands
	before    int      // bytes of all batches but the last
	block     bool     // it is one of the input, MULTI and EXEC included
	discarded bool     // and ends with DISCARD
	changes   bool     // it holds commands that change the connection
	apart     bool     // the next command begins a batch
	after     []byte   // a command of our own behind all others; nil for none
	passed    bool     // an earlier run has committed it: it is not sent
	unseen    bool     // it ran, and its reply was lost

	paced bool // the rates allow it

	spans    []span
	failures []int // of each batch, before the last attempt
	attempt
}

// attempt is how far a transaction has come on its way.
type attempt struct {
	length  int64 // bytes of all spans
	end     int64 // of these, up to the end of the EXEC; 0 without one
	written int64
	scan    parser.ReplyScanner
	at      int // span that is being answered
	i       int // place in it
	found   []byte
	element struct{ span, i, n int } // where the elements of the EXEC are looked for

	answered bool         // the EXEC was
	ran      bool         // and not with an error or a null
	aborted  []byte       // why it did not run; nil unless the EXEC was answered with an error
	refused  []byte       // the first error about a command of ours
	kept     []byte       // the same, of one that ran: the position was not written
	outside  error        // commands ran that were not in the transaction
	afterErr []byte       // what was answered to after
	key      parser.Value // the reply to GET
}

// undo takes back what was said of the commands in the last attempt: it did not
// run.
func (t *transaction) undo() {
	for i, n := range t.failures {
		t.batches[i].failures = t.batches[i].failures[:n]
	}
}

// span is a part of what is written for a transaction, and what is answered.
type span struct {
	role role
	resp []byte
	b    *Batch // of places from up to to; nil for a command of ours
	from int
	to   int
}

// role is what a span does.
type role uint8

const (
	carries  role = iota // commands of the input
	begins               // MULTI
	selects              // SELECT of ours
	follows              // transaction.after
	position             // SET of the position
	executes             // EXEC
	watches              // WATCH
	asks                 // GET
)

// size returns how many bytes of commands t holds.
func (t *transaction) size() int {
	if b := t.last(); b != nil {
		return t.before + len(b.resp)
	}
	return 0
}

// due returns how many commands of the input are owed a reply.
func (t *transaction) due() (n int) {
	for _, b := range t.batches {
		n += b.due
	}
	return n
}

// last returns the batch that is being filled, nil for none.
func (t *transaction) last() *Batch {
	if len(t.batches) == 0 {
		return nil
	}
	return t.batches[len(t.batches)-1]
}

// link is the connection of a load that runs exactly once.
type link struct {
	net   *replySocket
	buf   []byte
	reads atomic.Int64 // that brought something, for the stall clock
}

// carry writes the transaction and reads what is answered. After an error the
// connection is closed.
func (t *transaction) carry(l *link) error {
	wrote := make(chan int64)
	go func() {
		all := make(net.Buffers, 0, len(t.spans))
		for i := range t.spans {
			all = append(all, t.spans[i].resp)
		}
		n, err := all.WriteTo(l.net.Conn)
		if err != nil {
			l.net.fail()
		}
		wrote <- n
	}()
	err := t.read(l)
	if err != nil {
		l.net.Close()
	}
	t.written = <-wrote
	return err
}

func (t *transaction) read(l *link) error {
	for t.at < len(t.spans) {
		n, err := l.net.Read(l.buf)
		if n > 0 {
			l.reads.Add(1)
			if err := t.take(l.buf[:n]); err != nil {
				return err
			}
		}
		if err != nil && t.at < len(t.spans) {
			return inWords(err, t.scan.Inside())
		}
	}
	return nil
}

var queuedReply = []byte("+QUEUED\r\n")

// take matches the replies in b to what was written.
func (t *transaction) take(b []byte) error {
	for len(b) > 0 {
		if t.at == len(t.spans) {
			return unasked(b)
		}
		s := &t.spans[t.at]
		switch {
		case s.role == asks:
			return t.takeKey(b)
		case s.role == carries && !t.scan.Inside() && bytes.HasPrefix(b, queuedReply):
			b = b[len(queuedReply):]
			s.b.places[t.i].flags |= queued
			t.pass(s)
			continue
		}
		n, ev, err := t.scan.Scan(b)
		for ; ev == parser.Element && err == nil; n, ev, err = t.scan.Scan(b) {
			b = b[n:]
			t.elementFailed(s)
		}
		if err != nil {
			return err
		}
		b = b[n:]
		if ev == parser.Done {
			t.answer(s)
			t.pass(s)
		}
	}
	return nil
}

// takeKey takes a part of the reply to GET, the last one.
func (t *transaction) takeKey(b []byte) error {
	t.found = append(t.found, b...)
	v, rest, err := parser.ParseReply(t.found)
	switch {
	case err == nil && len(rest) > 0:
		return unasked(rest)
	case err == nil:
		t.key = v
		t.at++
	case len(t.found) > longestPosition+64:
		return errors.New("what lies under the key is no position")
	case !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return nil
}

// pass goes to the next command that is owed a reply.
func (t *transaction) pass(s *span) {
	if t.i++; s.b != nil {
		t.i = s.b.owedFrom(t.i, s.to)
	}
	if s.b == nil || t.i >= s.to {
		t.at++
		t.enter()
	}
}

// enter goes to the first command of a span.
func (t *transaction) enter() {
	if t.at < len(t.spans) {
		s := &t.spans[t.at]
		t.i = s.from
		if s.b != nil {
			t.i = s.b.owedFrom(s.from, s.to)
		}
	}
}

// owedFrom returns the first place from i on, and before end, that is owed a
// reply; end if there is none.
func (b *Batch) owedFrom(i, end int) int {
	for i < end && b.places[i].flags&refused != 0 {
		i++
	}
	return i
}

// answer takes one whole reply.
func (t *transaction) answer(s *span) {
	text, failed := t.scan.Text, t.scan.Kind == '-'
	switch s.role {
	case begins:
		if failed {
			t.outside = fmt.Errorf("MULTI was refused: %s", text)
		}
	case carries:
		t.answerCommand(s.b, failed, text)
	case executes:
		t.answered = true
		t.answerExec(failed, text)
		if failed && s.b != nil {
			s.b.fail(t.i, text, false)
		}
	case follows:
		if failed {
			t.afterErr = bytes.Clone(text)
		}
	default:
		if failed && t.refused == nil {
			t.refused = bytes.Clone(text)
		}
		if s.role == position && !failed && !t.isQueued() {
			t.outside = errNotQueued
		}
	}
}

var errNotQueued = errors.New("a command was not queued behind MULTI")

// isQueued reports whether the reply that has just been scanned is the status
// QUEUED. An element of an array or a bulk string with that text is none.
func (t *transaction) isQueued() bool {
	return t.scan.Kind == '+' && string(t.scan.Text) == "QUEUED"
}

func (t *transaction) answerCommand(b *Batch, failed bool, text []byte) {
	p := &b.places[t.i]
	switch {
	case failed && p.flags&own == 0:
		b.fail(t.i, text, false)
	case failed, p.class == parser.Discard, p.flags&own != 0:
	case t.isQueued():
		p.flags |= queued
	default: // a proxy may know no transactions
		t.outside = errNotQueued
	}
}

func (t *transaction) answerExec(failed bool, text []byte) {
	switch {
	case failed:
		t.aborted = bytes.Clone(text)
	case t.scan.Kind == '*':
		t.ran = !t.scan.Nil
	default:
		t.outside = errors.New("EXEC was not answered by what it executed")
	}
}

// elementFailed notes an error among the elements of a reply.
func (t *transaction) elementFailed(s *span) {
	if s.role != executes {
		return
	}
	t.ran = true
	text := t.scan.Text
	switch by, i := t.locate(t.scan.Index); {
	case by == nil:
	case by.role == carries:
		by.b.fail(i, text, false)
	case by.role == follows:
		t.afterErr = bytes.Clone(text)
	case t.kept == nil:
		t.kept = bytes.Clone(text)
	}
}

// locate finds the command that is element n of the reply to EXEC. It must be
// called with rising n.
func (t *transaction) locate(n int) (*span, int) {
	for e := &t.element; e.span < len(t.spans); e.span++ {
		s := &t.spans[e.span]
		switch s.role {
		case selects, follows, position:
			if e.n++; e.n > n {
				e.span++
				return s, 0
			}
		case carries:
			for e.i = max(e.i, s.from); e.i < s.to; {
				i := e.i
				e.i++
				if s.b.places[i].flags&queued == 0 {
					continue
				}
				if e.n++; e.n > n {
					return s, i
				}
			}
			e.i = 0
		}
	}
	return nil, 0
}
