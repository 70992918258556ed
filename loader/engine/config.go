package engine

import (
	"respipe/loader/batch"
	"respipe/loader/window"
	"respipe/parser"
)

// OnDisconnect says what to do when a connection is lost in the middle of a
// load.
type OnDisconnect uint8

// The policies for lost connections.
const (
	Reconnect OnDisconnect = iota // continue where nothing is lost or run twice, else stop
	Fail                          // stop if anything is in flight
	Resend                        // continue, though commands may run twice
)

// Config is how a load is done. It does not change during the load.
type Config struct {
	Addresses   []string // where the load begins
	Cluster     bool     // Addresses are nodes of a cluster
	Connections int      // to each node
	DB          int      // database of a connection after its handshake

	Window        int           // commands that may be in flight on a connection; 0: any number
	Tuner         *window.Tuner // says so instead, unless it is nil
	Pace          *window.Pace  // the rates that the load keeps; nil: none
	KeepReplies   bool          // events bring the replies, for the observer
	WindowBytes   int           // bytes of the commands that are not complete, of all connections
	BatchCommands int           // a batch is submitted when it has so many commands
	BatchBytes    int           // or so many bytes

	OnDisconnect OnDisconnect
	Timeout      Time // a connection silent for this long is probed; 0: never
	DrainFor     Time // how long a drain may take before silent connections count as lost
	ReadyFor     Time // how long to wait at the start for servers that are not ready
	RetryFor     Time // how long a repair may take
	StopFor      Time // how long stopping may take

	// Backoff is the first pause before another attempt; each further one is
	// twice as long, up to LongestBackoff (Backoff if that is shorter).
	Backoff, LongestBackoff Time

	// Failover says that another process in the place of a server is what a
	// failover leaves: the load continues, and says in the end what may be gone.
	Failover bool

	// TooMany is asked after each error with how many there are, and says whether
	// the load must stop; nil: it need not. A command that is sent in parts counts
	// once for each part that is refused.
	TooMany func(errors int64) bool

	// PersistentErrors is how many persistent errors of one node in a row stop
	// the load; 0: no number does.
	PersistentErrors int

	// Op says what is known of a command: its keys and its class. It must say
	// the same as the Op of the command that was submitted.
	Op func(args [][]byte) *parser.Op

	Observer Observer
}

// Observer is told of everything that is complete, in the order of the input
// on each connection.
type Observer interface {
	// Acknowledged is told of plain commands that were acknowledged in their first
	// attempt, as many at once as stand side by side in a batch.
	Acknowledged(p Part)
	// Answered is told how long a batch of so many commands took, from its submission
	// to its last reply.
	Answered(c ConnID, commands int, took Time)
	// Completed is told of one command or transaction of a batch of which
	// something is to be said.
	Completed(c *Completion)
}

// Part is a run of entries of a batch.
type Part struct {
	Batch       *batch.Batch
	First, Last int
}

// Completion is what became of one command or transaction.
type Completion struct {
	Parts   []Part // one, but of a streamed transaction one for each of its batches
	Outcome batch.Outcome
	Cause   Cause           // why it is not acknowledged, if no error reply says it
	Errors  []batch.Failure // error replies; of a transaction that ran, those of its commands
	Session [][]byte        // session commands that a transaction has executed, in RESP
}

// Cause says why a command or transaction has an outcome that no error reply
// explains.
type Cause uint8

// The causes.
const (
	NoCause         Cause = iota
	LaterHasRun           // it cannot be retried: a later command on its keys has run
	RetriesEnded          // RetryFor has passed
	ConnectionLost        // in flight on a connection that was lost
	LoadStopped           // the load stopped first
	RecordRefused         // a record of the transaction was refused, or its end is missing
	WatchLost             // the WATCH of the transaction was lost
	SlotsDiffer           // its keys have different slots
	DatabaseUnset         // behind a SELECT that was refused
	DatabaseRefused       // a SELECT in a transaction, of a database that was tried in vain or could not be tried
)
