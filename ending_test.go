package main

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"respipe/loader"
	"respipe/parser"
)

func TestStatus(t *testing.T) {
	var (
		signal  = interruption{syscall.SIGINT}
		lost    = &loader.LostError{Addr: "h:1", Err: io.EOF}
		connect = &loader.ConnectError{Err: io.EOF}
		broken  = &parser.Broken{Err: io.EOF}
		many    = loader.ErrTooManyErrors
	)
	for _, row := range []struct {
		err    error
		errors int64
		want   int
	}{
		{nil, 0, 0},
		{nil, 1, 1},
		{many, 5, 3},
		{connect, 0, 4},
		{lost, 0, 5},
		{broken, 1, 6},
		{io.ErrUnexpectedEOF, 1, 6},
		{signal, 0, 130},
		{interruption{syscall.SIGTERM}, 0, 143},
		{errors.Join(many, broken), 5, 6},
		{errors.Join(many, lost), 5, 5},
		{errors.Join(lost, broken), 5, 5},
		{errors.Join(signal, lost, broken), 5, 130},
		{errors.Join(many), 5, 3},
		{errors.Join(broken, signal), 1, 130},
		{&loader.AfterError{Err: io.EOF}, 0, 1},
		{&loader.AfterError{Err: connect}, 0, 1},
		{&outputError{io.ErrShortWrite}, 0, 5},
		{&outputError{syscall.EPIPE}, 3, 141},
		{errors.Join(signal, &outputError{syscall.EPIPE}), 0, 130},
	} {
		e := ending{settings: new(settings), report: &loader.Report{Errors: row.errors}, err: row.err}
		if got := e.status(); got != row.want {
			t.Errorf("%v, %d errors: %d, want %d", row.err, row.errors, got, row.want)
		}
	}
}

func TestSummary(t *testing.T) {
	const (
		done = "All data transferred. Waiting for the last reply...\n"
		last = "Last reply received from server.\n"
	)
	server := new(loader.Server)
	for _, row := range []struct {
		name   string
		report loader.Report
		expect int64
		want   string
	}{
		{"clean", loader.Report{Server: server, InputDone: true, Replies: 3}, 0, done + last + "errors: 0, replies: 3\n"},
		{"no connection", loader.Report{}, 5, "errors: 0, replies: 0\n"},
		{"stopped", loader.Report{Server: server, Errors: 1, Replies: 2}, 5, last + "errors: 1, replies: 2\n"},
		{"lost", loader.Report{Server: server, InputDone: true, Unanswered: 1, Replies: 2}, 0, done + "errors: 0, replies: 2\n"},
		{"too few", loader.Report{Server: server, InputDone: true, Records: 4, Replies: 4}, 5, done + last + "errors: 1, replies: 4\n"},
		{"enough", loader.Report{Server: server, InputDone: true, Records: 5, Replies: 4}, 5, done + last + "errors: 0, replies: 4\n"},
	} {
		e := ending{settings: &settings{load: loader.Config{Expect: row.expect}}, report: &row.report}
		if got := e.text(); got != row.want {
			t.Errorf("%s:\n%s", row.name, got)
		}
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 418900: "418.9 KB", 2.5e6: "2.5 MB", 1e9: "1.0 GB", 5e12: "5000.0 GB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%.0f: %s", n, got)
		}
	}
}

// TestRunEndsWithItsContext: a context that has ended is a signal's work.
func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	time.AfterFunc(50*time.Millisecond, func() { cancel(interruption{syscall.SIGTERM}) })
	for _, args := range [][]string{
		{"respipe", "--dry-run"},
		{"respipe", "--dry-run", "--key", "a:{id}"}, // it waits for the header
	} {
		if got := run(ctx, args, in, io.Discard, io.Discard); got != 143 {
			t.Errorf("%q: status %d", args, got)
		}
	}
}
