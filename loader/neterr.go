package loader

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// isTimeout reports whether a deadline passed.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// isReset reports whether the other side ended the connection.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
