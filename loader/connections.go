package loader

import (
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"respipe/loader/batch"
	"respipe/loader/engine"
	"respipe/loader/wire"
	"respipe/loader/wire/reply"
)

// connections are the connections that the engine has asked for, and the servers that
// they go to.
type connections struct {
	s     *shell
	all   []*connection // by Place - 1; nil: never made
	nodes []*serverNode // in the order in which they were first reached
	spare *greeting     // the first connection of the load, not yet used
	bytes int64         // written on connections that are closed
	again int           // connections made in place of lost ones
	told  bool          // the user was told of a loss
	sent  int           // commands sent again since then
	over  chan struct{} // closed when the load has ended

	latency *hdrhistogram.Histogram
	replies engine.Event // used again for each read

	lost     error    // why the last connection was lost
	lostAt   string   // where it went to
	failed   error    // why the last attempt to connect has failed
	teller   string   // a node that has told the topology last
	former   []string // addresses of masters that others have replaced, as sentinels say, after they had answered
	mismatch error    // a reply came that no command was owed, on a connection that is closed
}

// connection is a connection, and what is known of the one that was lost in its place.
type connection struct {
	id     engine.ConnID
	conn   *wire.Conn // nil when it is closed
	node   *serverNode
	client int64 // its id on the server; 0: not told
	owed   int   // replies
	busy   bool  // the server has answered a probe while it was silent
}

// serverNode is a server that the load has reached.
type serverNode struct {
	address string // as the engine has it
	dialled string // the address that was dialled, which sentinels may have named
	server  *Server
	report  *NodeReport
	latency *hdrhistogram.Histogram
}

// find returns the connection with an id, nil if it is closed.
func (l *connections) find(id engine.ConnID) *connection {
	if int(id.Place) > len(l.all) {
		return nil
	}
	if k := l.all[id.Place-1]; k != nil && k.id == id && k.conn != nil {
		return k
	}
	return nil
}

// submit writes a batch.
func (l *connections) submit(id engine.ConnID, b *batch.Batch) {
	k := l.find(id)
	if k == nil {
		return
	}
	k.owed += b.Len()
	k.conn.Write(b.RESP, b.Len())
	if l.told && l.s.engine.State() == engine.Repairing {
		l.sent += b.Len()
	}
}

// close closes a connection that the engine does not want any more.
func (l *connections) close(id engine.ConnID, why engine.Loss) {
	k := l.find(id)
	if k == nil {
		return
	}
	switch why {
	case engine.Silent:
		l.stalled(k)
	case engine.Refusing:
		l.lostFor(k, errRefusing)
	}
	l.drop(k)
}

var errRefusing = errors.New("it has refused a session command that other connections have accepted")

// stalled notes why the engine gives a silent connection up.
func (l *connections) stalled(k *connection) {
	timeout := l.s.cfg.Timeout
	if k.busy {
		timeout *= patience
	}
	l.lostFor(k, &StallError{timeout})
}

// lostFor notes why a connection is lost.
func (l *connections) lostFor(k *connection, cause error) {
	l.lost, l.lostAt = cause, k.node.dialled
}

// drop closes a connection, and returns how many bytes the socket has taken.
func (l *connections) drop(k *connection) (written int64) {
	k.conn.Close()
	l.lastWords(k.conn.Take().Err)
	written = k.conn.Written()
	l.bytes += written
	k.conn = nil
	return written
}

// lastWords notes what a connection has brought that the load needs no more: a
// reply too many puts all of them in doubt.
func (l *connections) lastWords(err error) {
	if errors.Is(err, reply.ErrUnexpected) {
		l.mismatch = err
	}
}

// closeAll closes what is left.
func (l *connections) closeAll() {
	for _, k := range l.all {
		if k != nil && k.conn != nil {
			l.drop(k)
		}
	}
	if l.spare != nil {
		l.spare.nc.Close()
		l.spare = nil
	}
	close(l.over)
}

// collect gives the engine what the connections have brought.
func (l *connections) collect() {
	for _, k := range l.all {
		if k != nil && k.conn != nil {
			l.take(k)
		}
	}
}

// take gives the engine what one connection has brought.
func (l *connections) take(k *connection) {
	news := k.conn.Take()
	if news.Replies > 0 {
		k.busy = false
		k.node.report.Replies += int64(news.Replies)
		k.owed -= news.Replies
		l.replies = engine.Event{
			Kind: engine.Replies, Conn: k.id, Count: news.Replies, Errors: errorReplies(news.Errors),
			Kept: news.Kept, Ends: news.Ends,
		}
		l.s.handle(&l.replies)
	}
	switch {
	case news.Err == nil:
	case k.conn != nil:
		l.lose(k, news.Err)
	default: // the last replies have ended the load
		l.lastWords(news.Err)
	}
}

// errorReplies passes errors on to the engine.
func errorReplies(errors []reply.Error) []engine.ErrorReply {
	if len(errors) == 0 {
		return nil
	}
	out := make([]engine.ErrorReply, len(errors))
	for i, e := range errors {
		out[i] = engine.ErrorReply(e)
	}
	return out
}

// lose tells the engine that a connection is lost.
func (l *connections) lose(k *connection, cause error) {
	l.lostFor(k, cause)
	written := l.drop(k)
	if k.owed > 0 && l.s.engine.State() != engine.Stopping {
		l.s.note("connection lost: " + cause.Error() + "; connecting again")
		l.told, l.sent = true, 0
	}
	l.s.handle(&engine.Event{Kind: engine.Lost, Conn: k.id, Written: written, Mismatched: errors.Is(cause, reply.ErrUnexpected)})
}

// connectedAgain tells the user that the load goes on after a loss.
func (l *connections) connectedAgain() {
	switch l.s.engine.State() {
	case engine.Running, engine.Barrier, engine.Finishing, engine.Done:
		l.told = false
		l.s.note(fmt.Sprintf("connected again, %d commands are sent again", l.sent))
	}
}

// erred counts an error reply of the server at an address.
func (l *connections) erred(address string) {
	for _, n := range l.nodes {
		if n.address == address {
			n.report.Errors++
		}
	}
}

// answered notes how long a batch took.
func (l *connections) answered(id engine.ConnID, commands int, took time.Duration) {
	l.latency.RecordValues(took.Microseconds(), int64(commands))
	if int(id.Place) <= len(l.all) && l.all[id.Place-1] != nil {
		l.all[id.Place-1].node.latency.RecordValues(took.Microseconds(), int64(commands))
	}
}
