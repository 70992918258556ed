package loader

import (
	"context"
	"net"
	"time"

	"respipe/parser"
)

// Source is where commands come from. It is used by one goroutine.
type Source interface {
	// Next fills in the next command. It returns nil; a *parser.Error for a
	// record that was refused, after which reading goes on; io.EOF at the end;
	// any other error ends the input and is returned again by every later call.
	// The slices in the command are valid until the next call.
	Next(*parser.Command) error
	// Mark is where the record of the last Next begins; after io.EOF, the end.
	Mark() parser.Mark
	// Await lends the source a way to wait for its input. Run calls it once;
	// until then the source waits plainly.
	Await(parser.Wait)
}

// Config is how a load is done.
type Config struct {
	Servers
	Limits
	Hooks

	// ExactlyOnce, if set, makes every command take effect once, however often
	// the load is broken off and begun again; nil is a plain load.
	ExactlyOnce  *ExactlyOnce
	OnDisconnect Disconnect
	RetryFor     time.Duration // how long to try again what is refused for now, and to connect again

	Connections  int // to each server; 0 is one
	WaitReplicas int // only what so many replicas have counts as acknowledged

	// After is a command that is sent last, in database DB, and only when at
	// least Expect records were read and every one went in.
	After  [][]byte
	Expect int64

	// KeepSource keeps the source text of each record for Batch.Src, as far as
	// the source hands it out. It counts in WindowBytes.
	KeepSource bool
	// KeepReplies keeps so many bytes of each reply for Batch.Reply; 0 keeps
	// none, KeepAll all of them. When OnSettled takes its time, the load waits.
	KeepReplies int

	// Earlier is what earlier runs of this load have done: the source goes on
	// from there.
	Earlier Earlier
}

// Servers are the servers of a load, and how to connect to them.
type Servers struct {
	// Dial makes a fresh connection to an address, TLS handshake done.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Addrs are where the load begins: the first one that answers is taken.
	Addrs []string
	// Cluster insists on a cluster; one is recognised without.
	Cluster bool
	// Master, if set, tells the address of the master instead of Addrs, each
	// time that a connection is made: sentinels know it.
	Master func(context.Context) (addr string, err error)

	User, Pass     string        // for AUTH; none if Pass is empty
	DB             int           // database to select
	ConnectTimeout time.Duration // for Dial and greeting together; 0 is no limit
	WaitReady      time.Duration // how long to wait at the start for a server that is not up or not ready
	CountKeys      bool          // ask for the number of keys, for Server.Keys
}

// Limits bound a load.
type Limits struct {
	Window      int           // commands that may be unanswered, WindowMax or WindowAuto
	WindowBytes int64         // bytes of them that may be kept
	Rate        float64       // commands a second; 0 is no limit
	ByteRate    int64         // bytes a second; 0 is no limit
	Timeout     time.Duration // no reply for this long while commands are unanswered; 0 is for ever

	MaxErrors        int64   // stop reading once there are more; -1 is no limit
	MaxErrorsPercent float64 // or more than this of the records, from 100 on; 0 is no limit
}

// Hooks are told of a load while it goes on. All are called by Run's goroutine;
// each may be nil.
type Hooks struct {
	// OnCheckpoint is called with the place to go on from: before the first
	// command, and then when it has changed, at most every CheckpointEvery (0 is a
	// second). An error ends the load. The last one is in the Report.
	OnCheckpoint    func(Checkpoint) error
	CheckpointEvery time.Duration

	// OnConnect is told of each server that answered, before the first command.
	OnConnect func(*Server)
	// OnNote is told what a user should know while the load goes on.
	OnNote func(text string)
	// OnSettled is called for each batch, in the order of the input on each
	// connection; an error ends the load. At the end of a load that stopped early
	// it is called for the batches that are not settled, too.
	OnSettled func(Completed) error
}

// TooMany reports whether so many errors in so many records are more than
// MaxErrors or MaxErrorsPercent allow.
func (l *Limits) TooMany(errors, records int64) bool {
	return l.MaxErrors >= 0 && errors > l.MaxErrors ||
		l.MaxErrorsPercent > 0 && records >= 100 && float64(errors)*100 > l.MaxErrorsPercent*float64(records)
}

// Disconnect is what to do when the connection is lost in the middle of a load.
type Disconnect uint8

const (
	Fail   Disconnect = iota // stop
	Resume                   // go on where that can be done without loss or repetition, else stop
	Resend                   // go on in any case, though commands may be lost or run twice
)
