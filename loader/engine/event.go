package engine

import "respipe/loader/cluster"

// EventKind says what has happened.
type EventKind uint8

// The events. Those of a connection never follow its loss, nor the action that
// closed it.
const (
	Connected   EventKind = iota // a dial has succeeded: Conn, Process, Fenced
	DialFailed                   // a dial has failed: Conn, Permanent
	Replies                      // further replies of a connection: Conn, Count, Errors
	Lost                         // a connection is gone: Conn, Written, Mismatched
	Topology                     // the answer to a FetchTopology: Views
	Probed                       // the answer to a Probe: Conn, Alive
	Tick                         // the time of Deadline has come
	InputPaused                  // the source has to wait
	InputEnded                   // the source has nothing more
	StopAsked                    // the user interrupts the load; twice: ends it at once
	eventCount
)

var eventNames = [eventCount]string{
	"connected", "dial failed", "replies", "lost", "topology", "probed", "tick",
	"input paused", "input ended", "stop asked",
}

// String returns the name of the event.
func (k EventKind) String() string { return eventNames[k] }

// Event is something that has happened, and when. The fields behind At are
// those that the kind names.
type Event struct {
	Kind EventKind
	At   Time

	Conn       ConnID
	Count      int    // replies, to the next commands of the connection in the order they were sent
	Kept       []byte // the replies, with Config.KeepReplies: reply i ends at Ends[i]; valid during the event
	Ends       []int
	kept       int            // bytes of Kept that have been taken
	Errors     []ErrorReply   // those of the replies that are errors, or a nil to EXEC, in order
	Mismatched bool           // it brought a reply that no command was owed: which reply belongs to which command is not known
	Written    int64          // bytes of the connection that the socket has taken
	Process    string         // names the server process (its run id); "" if it is not known
	Fenced     bool           // the connections that the dial named have been ended on the server
	Permanent  bool           // another dial would fail, too: the password is wrong
	Views      []cluster.View // of the nodes that answered
	Alive      bool
}

// ErrorReply is one error among the replies of an event.
type ErrorReply struct {
	Index   int    // of the reply in the event
	Element int    // of the reply to an EXEC; -1: the reply itself
	Text    []byte // valid during the event; nil: the reply is the nil of an EXEC
}
