package loader

import (
	"fmt"
	"time"
)

// ConnectError says why no load could begin. Nothing was sent.
type ConnectError struct {
	Err  error
	Hint string // what the user may do about it, or ""

	Temporary bool // it may be otherwise a little later
	NotReady  bool // the server answers, but takes no commands now
}

func (e *ConnectError) Error() string { return e.Err.Error() }
func (e *ConnectError) Unwrap() error { return e.Err }

// LostError says why the connection was given up in the middle of a load.
type LostError struct {
	Addr string
	Err  error
	Why  string // why the load did not go on with a new connection, or ""
	Gone bool   // no server answered any more
}

func (e *LostError) Error() string {
	text := "connection to " + e.Addr + " lost: " + e.Err.Error()
	if e.Why != "" {
		text += "; not resumed: " + e.Why
	}
	return text
}
func (e *LostError) Unwrap() error { return e.Err }

// StallError says that commands were unanswered for too long.
type StallError struct{ Timeout time.Duration }

func (e *StallError) Error() string { return fmt.Sprintf("no reply for %v", e.Timeout) }
