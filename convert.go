package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/urfave/cli/v2"

	"respipe/loader"
	"respipe/parser"
)

// convert writes the commands of the input to standard output instead of
// sending them. Its counts stand on standard error.
func (p *program) convert(c *cli.Context) error {
	ending, err := p.carry(c, func(w *work) (*loader.Report, error) {
		source, s, console := w.source, w.settings, w.console
		if s.progress == "auto" && isTerminal(p.stdout) {
			console.display = noDisplay // the commands are to be seen there
		}
		console.progress(source)
		v := &converter{ctx: c.Context, src: source, out: p.stdout, encode: encoderOf(s.as), console: console, settings: s}
		if s.slots {
			v.slots = &slotCount{}
		}
		return v.run()
	})
	if err == nil && ending.speaks() && !ending.deserted() {
		fmt.Fprintf(p.stderr, "errors: %d, commands: %d\n", ending.errors(), ending.report.Sent)
	}
	return err
}

// outputError says that standard output could not be written to.
type outputError struct{ err error }

func (e *outputError) Error() string { return "standard output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// deserted tells whether the reader of standard output has gone.
func (e *ending) deserted() bool {
	_, ok := errors.AsType[*outputError](e.err)
	return ok && errors.Is(e.err, syscall.EPIPE)
}

// converter writes commands, as a load would send them.
type converter struct {
	ctx      context.Context
	src      loader.Source
	out      io.Writer
	encode   encoder
	settings *settings
	console  *console
	slots    *slotCount // nil when they are not counted

	buf     []byte // encoded and not written
	pending int64  // commands in buf
	cmd     parser.Command
	block   loader.OpenBlock
	last    int64 // number of the last record that was read
	kinds   loader.Kinds
	report  loader.Report
	stopped error // why reading must end
}

// run converts all of the input. The report holds counts of errors, of records
// and of the commands that were written; the error says why it ended early.
func (v *converter) run() (*loader.Report, error) {
	v.src.Await(v.await)
	var broken error
	for v.stopped == nil && broken == nil && !v.report.InputDone {
		broken = v.next()
	}
	v.report.Position = v.position()
	v.closeBlock()
	v.flush()
	v.report.Kinds = v.kinds.List
	if v.slots != nil {
		v.console.slots(v.slots)
	}
	return &v.report, errors.Join(v.stopped, broken)
}

// next converts one command. The error says that the input cannot be read on.
func (v *converter) next() error {
	err := v.src.Next(&v.cmd)
	if err == nil {
		v.read(v.cmd.N, v.cmd.File)
		v.write(&v.cmd)
		return nil
	}
	bad, refused := errors.AsType[*parser.Error](err)
	switch {
	case refused:
		mark := v.src.Mark()
		v.read(mark.N, mark.File)
		v.block.Spoil(bad.Pos.Line)
		v.fail(bad.Pos, bad.Err.Error())
	case err == io.EOF:
		v.report.InputDone = true
	case v.stopped == nil:
		v.report.Records++
		v.report.Errors++
		return err
	}
	return nil
}

// read takes note of a record of a file.
func (v *converter) read(n int64, file int) {
	if n != v.last {
		v.last = n
		v.report.Records++
	}
	if v.block.Open && file != v.block.Mark.File {
		v.closeBlock()
	}
}

// write takes a command on.
func (v *converter) write(c *parser.Command) {
	if spoiled, _ := v.block.Take(c, v.src); spoiled > 0 {
		v.buf = v.encode(v.buf, discard)
		v.fail(c.Pos, fmt.Sprintf("EXEC not written: line %d of its transaction was refused, so none of it would run", spoiled))
		return
	}
	if v.slots != nil && v.slots.crosses(c) && v.slots.crossing <= shown {
		v.console.crossing(c)
	}
	v.buf = v.encode(v.buf, c)
	if v.pending++; len(v.buf) >= 64<<10 {
		v.flush()
	}
}

// closeBlock writes DISCARD for a block that is open where its file, or the
// reading, ends.
func (v *converter) closeBlock() {
	if !v.block.Open {
		return
	}
	pos := v.block.Pos
	v.block = loader.OpenBlock{}
	v.buf = v.encode(v.buf, discard)
	if v.stopped == nil {
		v.fail(pos, "MULTI without EXEC: its block is discarded at the end of the file")
	}
}

// fail counts an error, and prints the first of its kind.
func (v *converter) fail(pos parser.Pos, text string) {
	v.report.Errors++
	v.console.meter.errors.Add(1)
	if _, nth := v.kinds.Count([]byte(text), pos); nth <= shown {
		v.console.refused(pos, text)
	}
	if v.settings.load.TooMany(v.report.Errors, v.report.Records) && v.stopped == nil {
		v.stopped = loader.ErrTooManyErrors
	}
}

// await waits for the input; what was converted so far is written before.
func (v *converter) await(ready <-chan []byte) (chunk []byte, ok bool, err error) {
	select {
	case <-v.ctx.Done():
	case chunk, ok = <-ready:
		return chunk, ok, nil
	default:
		if v.flush(); v.stopped != nil {
			return nil, false, v.stopped
		}
		select {
		case <-v.ctx.Done():
		case chunk, ok = <-ready:
			return chunk, ok, nil
		}
	}
	if v.stopped == nil {
		v.stopped = context.Cause(v.ctx)
	}
	return nil, false, v.stopped
}

// flush writes what is encoded.
func (v *converter) flush() {
	if len(v.buf) == 0 {
		return
	}
	n, err := v.out.Write(v.buf)
	v.report.Bytes += int64(n)
	v.report.Sent += v.pending
	v.console.meter.commands.Store(v.report.Sent)
	v.buf, v.pending = v.buf[:0], 0
	if err != nil {
		v.stopped = &outputError{err}
	}
}

// position is where to go on from when the input is not at its end.
func (v *converter) position() parser.Mark {
	if v.block.Open {
		v.report.OpenBlock, v.report.File = true, v.block.Pos.File
		return v.block.Mark
	}
	mark := v.src.Mark()
	if v.stopped != nil { // the record of the mark is done
		mark.N = v.last + 1
	}
	return mark
}
