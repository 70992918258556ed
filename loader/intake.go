package loader

import (
	"bytes"
	"errors"
	"io"

	"respipe/loader/engine"
	"respipe/parser"
)

// intake gives the engine what the source has.
type intake struct {
	*shell
	src     Source
	last    int64 // number of the last record that was read
	partial bool  // not every command of it was taken
	inHand  bool  // the source's last command was not taken
	block   OpenBlock
	broken  error // the input's
}

// load gives the engine what the source has, until it has ended the load.
func (in *intake) load() {
	var c parser.Command
	for !in.done {
		switch err := in.src.Next(&c); {
		case err == nil:
			in.take(&c)
		case errors.Is(err, errStop):
			in.events.waitForEnd()
		default:
			bad, ok := errors.AsType[*parser.Error](err)
			if !ok {
				in.inputEnded(err)
				return
			}
			in.refuse(bad)
		}
	}
}

// inputEnded takes the error that ended the input, and waits until the load has
// ended.
func (in *intake) inputEnded(err error) {
	if errors.Is(err, io.EOF) {
		in.rep.InputDone = true
	} else {
		in.broken = err
		in.last++
		in.rep.Records++
	}
	for !in.accepts() {
		in.events.wait(nil)
	}
	in.handle(&engine.Event{Kind: engine.InputEnded})
	in.events.waitForEnd()
}

// begin waits until the next command or refused record can be taken, and takes
// note of it. It reports whether the load goes on.
func (in *intake) begin(n int64, file int) bool {
	in.inHand = true
	if n != in.last {
		in.last = n
		in.rep.Records++
	}
	for {
		if in.engine.Accepts() && in.block.Open && file != in.block.Mark.File {
			in.block = OpenBlock{}
			in.tally.open, in.tally.openKey = 0, nil
			in.engine.EndFile(in.clock.at)
			in.perform()
			continue
		}
		if in.events.waker.Ready() { // a loss must be known before anything more is sent
			in.clock.now()
			in.connections.collect()
		}
		if in.accepts() {
			return !in.done
		}
		in.events.wait(nil)
	}
}

// take gives the engine a command.
func (in *intake) take(c *parser.Command) {
	if len(in.tally.files) <= c.File {
		in.tally.name(c.File, c.Pos.File)
	}
	if !in.begin(c.N, c.File) {
		return
	}
	in.partial = !c.Last
	if c.Op.Class >= parser.State {
		in.special(c)
	} else if in.tally.several && !c.Op.Known() {
		c.Op = in.opOf(c.Args)
	}
	in.bind(c)
	in.inHand = false
	if !in.engine.Submit(in.clock.at, c) {
		in.takeParts(c)
		return
	}
	in.performAndCollect()
}

// special takes note of a command that changes the session or belongs to a
// transaction. MULTI and DISCARD with arguments are errors that do neither.
func (in *intake) special(c *parser.Command) {
	if len(c.Args) != 1 && (c.Op.Class == parser.Multi || c.Op.Class == parser.Discard) {
		c.Op = parser.Unknown
		return
	}
	in.block.Take(c, in.src)
	in.tally.open = 0
	if in.block.Open {
		in.tally.open = in.block.Mark.N
	}
	if c.Op.Class == parser.Exec || c.Op.Class == parser.Discard || c.Op.Class == parser.Unwatch {
		in.tally.openKey = nil
	}
}

// bind notes the first key of a transaction, or of the WATCH before it: the slot
// of that is the slot of all.
func (in *intake) bind(c *parser.Command) {
	if in.tally.cluster && in.tally.openKey == nil && (in.block.Open || c.Op.Class == parser.Watch) {
		if keys := c.Op.AppendKeys(nil, c.Args); len(keys) > 0 {
			in.tally.openKey = bytes.Clone(keys[0])
		}
	}
}

// takeParts gives the engine a command in parts, by the slots of its keys.
func (in *intake) takeParts(c *parser.Command) {
	in.inHand = true
	pieces := piecesOf(c)
	in.tally.begin(c, len(pieces))
	part := *c
	part.Raw = nil
	for i, piece := range pieces {
		for !in.accepts() {
			in.events.wait(nil)
		}
		if in.done {
			return
		}
		in.inHand = false // what is left of it is told by leaveParts
		part.Args = piece.args
		part.Last = c.Last && i == len(pieces)-1
		in.engine.SubmitPart(in.clock.at, &part)
		in.perform()
	}
}

// refuse takes a record that the source has refused.
func (in *intake) refuse(bad *parser.Error) {
	mark := in.src.Mark()
	in.tally.name(mark.File, bad.Pos.File)
	if !in.begin(mark.N, mark.File) {
		return
	}
	in.inHand, in.partial = false, false
	in.tally.refuseRecord(mark, bad, in.tally.open)
	in.engine.Refuse(in.clock.at)
	in.tally.tellRefusals(in.engine.Empty())
	in.perform()
}

// await is the source's way to wait for ready. What was read so far is sent
// before.
func (in *intake) await(ready <-chan []byte) (chunk []byte, ok bool, err error) {
	select {
	case chunk, ok = <-ready: // there is more at hand: partial batches can wait
		return chunk, ok, in.ending()
	default:
	}
	in.handle(&engine.Event{Kind: engine.InputPaused})
	for {
		if err := in.ending(); err != nil {
			return nil, false, err
		}
		if chunk, ok, came := in.events.wait(ready); came {
			in.clock.now()
			return chunk, ok, nil
		}
		in.flush()
	}
}

// flush sends partial batches again: what was parked may have been taken.
func (in *intake) flush() {
	if in.engine.Accepts() {
		in.handle(&engine.Event{Kind: engine.InputPaused})
	}
}

// ending returns errStop when nothing more is to be read.
func (in *intake) ending() error {
	if in.done || in.engine.State() == engine.Stopping {
		return errStop
	}
	return nil
}
