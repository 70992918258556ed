package loader

import (
	"bytes"
	"fmt"
	"time"

	"respipe/loader/batch"
	"respipe/loader/engine"
	"respipe/parser"
)

// tally is the engine's observer: it counts what is complete for the report,
// and shows it to Config.OnSettled.
type tally struct {
	cfg *Config
	counts

	files     []string // names of the inputs
	db        int      // selected in the input so far
	open      int64    // record of the MULTI of the transaction that the input is inside of, or 0
	openKey   []byte   // its first key, in a cluster
	watchLine int      // line of a refused WATCH, or 0
	cluster   bool
	unset     string     // the database that the last SELECT, which was refused, has named
	several   bool       // there is more than one connection
	table     parser.Ops // finds commands
	refusals
	parted map[batch.Number]*parted

	clock   *clock
	failed  error // of OnSettled
	latency func(engine.ConnID, int, time.Duration)
	erred   func(address string) // a node has answered with an error
	view    view
}

// Answered takes how long a batch took.
func (t *tally) Answered(c engine.ConnID, commands int, took engine.Time) {
	t.latency(c, commands, took)
}

// Acknowledged takes entries that are acknowledged.
func (t *tally) Acknowledged(p engine.Part) {
	for len(t.waiting) > 0 && t.waiting[0].number() < p.Batch.Number(p.Last) {
		at := p.First
		for p.Batch.Number(at) < t.waiting[0].number() {
			at++
		}
		if at > p.First {
			t.acknowledged(engine.Part{Batch: p.Batch, First: p.First, Last: at - 1})
			p.First = at
		}
		t.tellRefusal(t.next())
	}
	t.acknowledged(p)
}

// acknowledged counts and shows entries that are acknowledged.
func (t *tally) acknowledged(p engine.Part) {
	n := int64(p.Last - p.First + 1)
	t.rep.Acknowledged += n
	t.rep.Replies += n
	t.rep.Sent += n
	t.show(t.viewOf(p))
}

// name notes the name of an input.
func (t *tally) name(file int, name string) {
	for len(t.files) <= file {
		t.files = append(t.files, "")
	}
	t.files[file] = name
}

// posOf returns a position as it is told.
func (t *tally) posOf(p batch.Position) parser.Pos {
	return parser.Pos{File: t.files[p.File], Line: p.Line, Offset: p.Offset}
}

// viewOf returns the view of some parts.
func (t *tally) viewOf(parts ...engine.Part) *view {
	t.view = view{parts: append(t.view.parts[:0], parts...), files: t.files, db: t.db, op: t.op, args: t.view.args}
	return &t.view
}

// show passes a view to the hook.
func (t *tally) show(v Completed) {
	if t.cfg.OnSettled == nil {
		return
	}
	began := time.Now()
	if err := t.cfg.OnSettled(v); t.failed == nil {
		t.failed = err // it is told of the rest all the same
	}
	t.clock.slow += time.Since(began)
}

// Completed takes what became of a command or transaction.
func (t *tally) Completed(c *engine.Completion) {
	for _, f := range c.Errors {
		if f.Text != nil && c.Outcome != batch.NotSent {
			t.erred(f.Node)
		}
	}
	first := &c.Parts[0]
	entry := &first.Batch.Entries[first.First]
	switch {
	case entry.Flags&batch.Part != 0:
		t.part(c)
	case entry.Flags&batch.InTx != 0:
		t.before(first.Batch.Number(first.First))
		t.transaction(c)
	case !first.Batch.Sent && c.Outcome == batch.Refused && c.Cause != engine.NoCause && c.Cause != engine.LoadStopped && len(c.Errors) == 0:
		t.refuseCommand(c)
	default:
		t.before(first.Batch.Number(first.First))
		t.command(c)
	}
}

// command takes what became of one command.
func (t *tally) command(c *engine.Completion) {
	v := t.viewOf(c.Parts...)
	outcome := outcomeOf(c.Outcome)
	v.outcomes = []Outcome{outcome}
	answered := len(c.Errors) > 0 || c.Outcome == batch.Acknowledged
	t.count(v, 0, outcome, answered)
	switch text := t.errorText(c); {
	case outcome == Failed, outcome == Unknown && text != nil && c.Cause != engine.LoadStopped:
		v.failures = append(v.failures, Failure{I: 0, Text: explained(c, text), Ours: text == nil})
	case outcome == Unknown && c.Cause != engine.LoadStopped:
		v.failures = append(v.failures, Failure{I: 0, Text: []byte(mayHaveRun), Ours: true})
	}
	t.tell(v)
	t.selected(v.Command(0), outcome)
}

// errorText returns the error reply of a command, nil if there is none. Those of
// several nodes are one, which names them.
func (t *tally) errorText(c *engine.Completion) []byte {
	n := len(c.Errors)
	if n == 0 {
		return nil
	}
	first := &c.Parts[0]
	if !t.cluster || first.Batch.Entries[first.First].Flags&batch.Copied == 0 {
		return c.Errors[n-1].Text
	}
	var all split
	for _, f := range c.Errors {
		all.faults = append(all.faults, string(f.Text))
		all.nodes = append(all.nodes, f.Node)
	}
	return []byte(all.text())
}

// outcomeOf translates the engine's word.
func outcomeOf(o batch.Outcome) Outcome {
	switch o {
	case batch.Acknowledged:
		return Ran
	case batch.Refused:
		return Failed
	case batch.Unknown:
		return Unknown
	case batch.NotRun:
		return NotRun
	}
	return NotSent
}

// reasons say why a command or transaction is refused, or is not retried.
var reasons = map[engine.Cause]string{
	engine.LaterHasRun:     "a later command on its keys has run",
	engine.RetriesEnded:    "",
	engine.RecordRefused:   "a record of its transaction was refused",
	engine.WatchLost:       "its WATCH was lost",
	engine.DatabaseUnset:   "database %s was not selected: the SELECT before it was refused",
	engine.DatabaseRefused: "its database was refused when it was tried before the transaction, or could not be tried",
	engine.SlotsDiffer:     "its keys have different slots",
	engine.ConnectionLost:  "its connection was lost",
	engine.LoadStopped:     "",
	engine.NoCause:         "",
}

// explained adds to the server's words why the command is not retried, or says
// why respipe refuses it.
func explained(c *engine.Completion, text []byte) []byte {
	why := reasons[c.Cause]
	switch {
	case text == nil:
		return []byte(why)
	case why == "":
		return text
	}
	return fmt.Appendf(nil, "%s (not sent again: %s)", text, why)
}

// selected notes the database that an acknowledged SELECT has selected, or that
// a refused one has not.
func (t *tally) selected(resp []byte, outcome Outcome) {
	if len(resp) > longestSelect {
		return
	}
	t.args = parser.ParseRequest(resp, t.args[:0])
	switch {
	case len(t.args) == 0 || t.op(t.args).Name != "SELECT":
	case outcome == Failed:
		t.unset = printableArgs(t.args[1:])
	case outcome == Ran:
		t.db, _ = selectedDB(resp)
	}
}

// longestSelect is more than the longest SELECT that a server takes, in bytes of
// RESP.
const longestSelect = 64

// printableArgs returns arguments as a message shows them.
func printableArgs(args [][]byte) string {
	return string(parser.AppendPrintable(nil, bytes.Join(args, []byte(" "))))
}

// tell counts the failures of a view and shows it.
func (t *tally) tell(v *view) {
	t.countFailures(v, v.failures)
	t.show(v)
}
