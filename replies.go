package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"respipe/formats"
	"respipe/loader"
	"respipe/parser"
)

// longReply is how many bytes of a reply are kept, unless all are asked for.
const longReply = 64 << 10

// replies is the file of --replies: a line of JSON for each reply.
type replies struct {
	file *os.File
	out  io.Writer // to the file, whole lines
	args [][]byte
	buf  []byte
}

// openReplies makes the file, or opens it where it is a pipe or a device, which
// may mean to wait for a reader until ctx ends. The error is a
// *formats.UsageError, or the cause of ctx.
func openReplies(ctx context.Context, path string) (*replies, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		file, err := openStream(ctx, path)
		if err != nil {
			return nil, err
		}
		return &replies{file: file, out: file}, nil
	}
	file, err := createPrivate(path)
	if err != nil {
		return nil, err
	}
	return &replies{file: file, out: &wholeFile{file: file}}, nil
}

// openStream opens what is no regular file. To open a named pipe waits for who
// reads it; when ctx ends before, that is left behind.
func openStream(ctx context.Context, path string) (*os.File, error) {
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		done <- opened{file, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, &formats.UsageError{Msg: "--replies: " + o.err.Error()}
		}
		return o.file, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// settled writes the replies to the commands of a batch.
func (r *replies) settled(b loader.Completed) error {
	r.buf = r.buf[:0]
	for i := range b.Len() {
		if reply := b.Reply(i); reply != nil {
			r.append(b, i, reply)
		}
	}
	if len(r.buf) == 0 {
		return nil
	}
	_, err := r.out.Write(r.buf)
	if cap(r.buf) > keptBuffer {
		r.buf = nil
	}
	return err
}

// append appends the line of one reply.
func (r *replies) append(b loader.Completed, i int, reply []byte) {
	pos := b.Pos(i)
	r.buf = appendMember(append(r.buf, '{'), "file", []byte(pos.File))
	r.buf = fmt.Appendf(r.buf, `,"line":%d,"record":%d`, pos.Line, b.N(i))
	if index, last := b.Index(i); index > 0 || !last {
		r.buf = fmt.Appendf(r.buf, `,"command":%d`, index+1)
	}
	r.buf = append(r.buf, `,"reply":`...)
	if r.isSecret(b.Command(i)) {
		reply = withoutSecrets(reply)
	}
	r.buf = parser.AppendReplyJSON(r.buf, reply)
	r.buf = append(r.buf, "}\n"...)
}

// isSecret reports whether a command in RESP may carry a password.
func (r *replies) isSecret(command []byte) bool {
	r.args = parser.ParseRequest(command[:min(len(command), headBytes)], r.args[:0])
	return isSecret(r.args)
}

// withoutSecrets returns what is shown of the reply to such a command: a status,
// a number, or the beginning of an error.
func withoutSecrets(reply []byte) []byte {
	switch reply[0] {
	case '+', ':':
		return reply
	case '-':
		return append(withoutArguments(bytes.TrimSuffix(reply, []byte("\r\n"))), "\r\n"...)
	}
	return []byte("+" + leftOut + "\r\n")
}

// leftOut stands in the place of a reply that may hold a password.
const leftOut = "(left out: it may hold a password)"

// close closes the file.
func (r *replies) close() error { return r.file.Close() }
