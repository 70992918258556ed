package loader

import (
	"time"

	"respipe/parser"
)

// Report is what a load did. The counts hold for every way of ending.
type Report struct {
	Server *Server // the first that answered; nil when the connection was not made
	Nodes  []*NodeReport

	Errors     int64 // error replies, error elements of EXEC replies, refused records
	Replies    int64 // answered commands of the input, error replies included
	Unanswered int64 // commands written to their last byte that have no reply
	Records    int64 // records read, refused ones included
	Counts
	Doubts
	Runs
	Traffic

	Kinds     []*Kind     // errors by kind, in the order of their first place
	InputDone bool        // the input was read to its end
	Position  parser.Mark // where to go on from: the oldest record not settled, or where reading stopped
	File      string      // name of the input of Position
	OpenBlock bool        // Position is the MULTI or WATCH of a block that was open
}

// Counts say what became of the commands of a load.
type Counts struct {
	// Every command that was handed out by the source is in one of these.
	Acknowledged int64 // answered, and not with an error
	Refused      int64 // answered with an error, or refused before it was sent
	Unknown      int64 // handed to the kernel to its last byte and never answered, see Unconfirmed
	NotSent      int64 // never left, or queued in a block that was not executed

	NotRun   int64 // blocks whose EXEC was answered nil; no errors
	Repeated int64 // error replies to commands sent again that had run before; no errors
	Split    int64 // commands sent in several pieces, by slot
	Twice    int64 // commands sent again that may have run and cannot run twice without harm
}

// Doubts are what is not known of a load, or may be lost.
type Doubts struct {
	FirstLost   parser.Pos // first and last place of Unknown
	LastLost    parser.Pos
	AtRisk      []Risk
	Restarted   bool // another server process answered: what was acknowledged may be gone
	OrderUnsure bool // the old connection could not be ended before commands were sent again
}

// Runs are what earlier runs of a load have done, and what the next one needs.
type Runs struct {
	EarlierRecords int64      // of earlier runs, see Config.Earlier and ExactlyOnce
	EarlierErrors  int64      // among these
	Checkpoint     Checkpoint // of a load with Hooks.OnCheckpoint: what has become of Position

	// Of a load that runs exactly once.
	DoneBefore bool  // earlier runs were at the end of the input: this one did nothing
	Again      int64 // commands loaded again, as the server had lost them; counted once
	// Unconfirmed is the records of all runs that ran in a transaction whose reply
	// was lost: whether the server refused any of them is not known. Those of this
	// run are among Unknown, too; those of earlier runs are in no other count.
	Unconfirmed Unconfirmed
	// AfterUnconfirmed says that Config.After ran, and its reply was lost.
	AfterUnconfirmed bool
}

// Traffic is what went over the connections.
type Traffic struct {
	Sent       int64 // commands of the input written to their last byte
	Bytes      int64 // bytes written
	Duration   time.Duration
	Window     int           // commands that could be unanswered at the end; WindowMax for any number
	DelayP50   time.Duration // from a write to its replies: half of them took no longer
	DelayP99   time.Duration
	Reconnects int // connections made in place of lost ones
}

// NodeReport is what one of several servers has done.
type NodeReport struct {
	Server   *Server // as it was first greeted
	After    *Health // at the end, nil when it did not tell
	Replies  int64   // to commands of the input
	Errors   int64   // among these
	DelayP50 time.Duration
	DelayP99 time.Duration
}

// Risk is what a master had acknowledged before another process took its
// place, which may lack some of it.
type Risk struct {
	Addr        string
	First, Last parser.Pos
	Commands    int64
}

// Kind is a group of errors that differ in names and numbers only.
type Kind struct {
	Text  string // of its first error
	Count int64
	First parser.Pos
}

// Failure is what went wrong with one command of a Batch.
type Failure struct {
	I       int    // index in the batch
	Text    []byte // the server's words, or ours
	Kind    *Kind  // nil for a warning
	Nth     int64  // 1 for the first of its kind
	Ours    bool   // refused by respipe, not by the server
	Warning bool   // not an error in the counts: an EXEC answered nil
}

// Server is who answered the greeting.
type Server struct {
	Addr    string // remote address of the connection
	Name    string // redis, valkey
	Version string
	Mode    string // standalone, cluster, sentinel
	Role    string // master, replica
	DB      int
	Keys    int64 // in that database; -1 when the server does not tell
	ID      int64 // of the connection, 0 when the server does not tell
	RunID   string
	Health  *Health // nil when the server does not tell
}
