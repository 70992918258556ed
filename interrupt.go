package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruption is the signal that ended a load, as the cause of its context.
type interruption struct{ signal syscall.Signal }

func (i interruption) Error() string { return "stopped by a signal (" + i.signal.String() + ")" }

// status is what a shell would say of a process that the signal has ended.
func (i interruption) status() int { return 128 + int(i.signal) }

// interruptible returns a context that the first SIGINT or SIGTERM cancels.
// The second ends the program at once.
func interruptible() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		cancel(cause(<-signals))
		os.Exit(cause(<-signals).status())
	}()
	return ctx
}

func cause(s os.Signal) interruption { return interruption{s.(syscall.Signal)} }
