package loader

import (
	"context"
	"errors"
	"io"
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

// inWords says in words why a read failed; inside: of a reply.
func inWords(err error, inside bool) error {
	switch {
	case errors.Is(err, io.EOF) && inside:
		return errors.New("the server closed the connection in the middle of a reply")
	case errors.Is(err, io.EOF):
		return errors.New("the server closed the connection")
	case isTimeout(err):
		return errors.New("the connection broke: a write failed and no more replies came")
	}
	return err
}
