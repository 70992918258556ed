package engine

import (
	"respipe/loader/batch"
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

	Window        int // commands that may be in flight on a connection; 0: any number
	WindowBytes   int // bytes of the commands that are not complete, of all connections
	BatchCommands int // a batch is submitted when it has so many commands
	BatchBytes    int // or so many bytes

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

	MaxErrors int64 // the load stops once there are more; negative: no limit

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
}

// Cause says why a command or transaction has an outcome that no error reply
// explains.
type Cause uint8

// The causes.
const (
	NoCause        Cause = iota
	LaterHasRun          // it cannot be retried: a later command on its keys has run
	RetriesEnded         // RetryFor has passed
	ConnectionLost       // in flight on a connection that was lost
	LoadStopped          // the load stopped first
	RecordRefused        // a record of the transaction was refused, or its end is missing
	WatchLost            // the WATCH of the transaction was lost
	SlotsDiffer          // its keys have different slots
	DatabaseUnset        // behind a SELECT that was refused
	SessionInside        // it would change the session state from inside of a transaction
)
