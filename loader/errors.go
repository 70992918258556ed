package loader

import (
	"fmt"
	"time"
)

// ConnectError says why no load could begin. Nothing was sent.
type ConnectError struct {
	Err  error
	Hint string // what the user may do about it, or ""
}

func (e *ConnectError) Error() string { return e.Err.Error() }
func (e *ConnectError) Unwrap() error { return e.Err }

// LostError says why the connection was given up in the middle of a load.
type LostError struct {
	Addr string
	Err  error
}

func (e *LostError) Error() string { return "connection to " + e.Addr + " lost: " + e.Err.Error() }
func (e *LostError) Unwrap() error { return e.Err }

// StallError says that commands were unanswered for too long.
type StallError struct{ Timeout time.Duration }

func (e *StallError) Error() string { return fmt.Sprintf("no reply for %v", e.Timeout) }
