package main

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"
	"time"

	"respipe/formats"
	"respipe/loader"
	"respipe/parser"
)

// ending is how a load ended.
type ending struct {
	settings *settings
	given    *commandLine
	report   *loader.Report
	err      error // why it stopped early; may join several
	files    *keeping
	told     bool // errors of earlier runs were told then
}

// status returns the exit status: the gravest of what happened.
func (e *ending) status() int {
	if signal, ok := errors.AsType[interruption](e.err); ok {
		return signal.status()
	}
	if e.deserted() {
		return 128 + int(syscall.SIGPIPE)
	}
	if e.afterFailed() {
		return exitErrors
	}
	if _, ok := errors.AsType[*outputError](e.err); ok {
		return exitLost
	}
	if _, ok := errors.AsType[*loader.LostError](e.err); ok || len(e.report.AtRisk) > 0 {
		return exitLost
	}
	if position, ok := errors.AsType[*loader.PositionError](e.err); ok && !position.Refused {
		return exitLost
	}
	if _, ok := errors.AsType[*loader.ConnectError](e.err); ok {
		return exitConnect
	}
	for _, err := range causes(e.err) {
		if _, own := errors.AsType[*ownFileError](err); !own && !isStop(err) {
			return exitInput
		}
	}
	switch {
	case e.err != nil:
		return exitStopped
	case e.errors() > 0, e.report.EarlierErrors > 0 && !e.told, e.report.Unconfirmed.Records > 0, e.report.AfterUnconfirmed:
		return exitErrors
	}
	return 0
}

// isStop reports whether err says that errors of the server, or too many of any
// kind, have stopped the load.
func isStop(err error) bool {
	_, position := errors.AsType[*loader.PositionError](err)
	return position || errors.Is(err, loader.ErrTooManyErrors) || errors.Is(err, loader.ErrHopeless)
}

// causes returns the errors that err joins.
func causes(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// short tells whether there were fewer records than expected.
func (e *ending) short() bool { return e.report.InputDone && e.records() < e.settings.load.Expect }

// records counts the records that were read, by earlier runs, too.
func (e *ending) records() int64 { return e.report.EarlierRecords + e.report.Records }

// afterFailed tells whether all went in, but for the command of --after.
func (e *ending) afterFailed() bool {
	_, failed := errors.AsType[*loader.AfterError](e.err)
	return failed
}

// errors counts the errors; too few records are one of them, and so is a
// failed --after.
func (e *ending) errors() int64 {
	if e.short() || e.afterFailed() {
		return e.report.Errors + 1
	}
	return e.report.Errors
}

// connected tells whether commands could be sent at all.
func (e *ending) connected() bool { return e.report.Server != nil }

// end prints how the load ended.
func (c *console) end(e *ending) {
	c.meter.stop()
	if e.deserted() {
		return
	}
	if more := c.warnings - shown; more > 0 {
		c.warn("%d more of these", more)
	}
	for _, err := range causes(e.err) {
		c.cause(err, e.settings)
	}
	c.kinds(e.report.Kinds)
	switch {
	case e.short():
		c.printf("%d records, but --expect wants %d\n", e.records(), e.settings.load.Expect)
	case e.report.InputDone && e.records() == 0:
		c.warn("nothing was loaded: there are no records in the input")
	}
	switch {
	case e.settings.dryRun:
	case e.connected():
		c.fate(e)
		c.once(e)
		c.atRisk(e)
		c.kept(e)
		if !e.report.DoneBefore {
			c.rates(e.report)
		}
		c.nodes(e.report)
		c.meanwhile(e.report)
	case e.given.command == "convert" && e.err != nil:
		c.goOn(e)
	}
}

// cause prints one reason why the load stopped.
func (c *console) cause(err error, s *settings) {
	if _, ok := errors.AsType[*loader.AfterError](err); ok {
		c.printf("%s\n", c.describe.failure([]byte(err.Error()), nil))
		return
	}
	if connect, ok := errors.AsType[*loader.ConnectError](err); ok {
		c.printf("could not connect: %s\n", printable(err.Error()))
		c.hint(cmp.Or(s.server.hint(err), connect.Hint))
		return
	}
	if errors.Is(err, loader.ErrHopeless) {
		c.printf("stopped: %v\n", err)
		return
	}
	if errors.Is(err, loader.ErrTooManyErrors) {
		c.printf("stopped: more than %s errors\n", s.maxErrors)
		return
	}
	c.printf("%s\n", printable(err.Error()))
	if usage, ok := errors.AsType[*formats.UsageError](err); ok {
		c.hint(usage.Hint)
	}
}

func (c *console) hint(text string) {
	if text != "" {
		c.printf("hint: %s\n", printable(text))
	}
}

// kinds prints the errors by kind, unless each has been printed.
func (c *console) kinds(kinds []*loader.Kind) {
	more := false
	for _, k := range kinds {
		more = more || k.Count > shown
	}
	if !more {
		return
	}
	c.printf("errors by kind, with the first of each:\n")
	for _, k := range kinds {
		c.printf("%9d  %s: %s\n", k.Count, printable(k.First.String()), c.describe.failure([]byte(k.Text), nil))
	}
}

// fate prints what became of the commands of a load that stopped early, and
// how to go on.
func (c *console) fate(e *ending) {
	if e.err == nil || e.afterFailed() {
		return
	}
	r := e.report
	c.printf("commands: %d acknowledged, %d refused, %d unknown, %d not sent\n", r.Acknowledged, r.Refused, r.Unknown, r.NotSent)
	if r.Unknown > 0 {
		c.printf("unknown: sent and never answered, from %s to %s\n", place(r.FirstLost), place(r.LastLost))
	}
	if r.Restarted {
		c.printf("the server was started again; if it has not kept all that it acknowledged, load again from the start:\n    %s\n", e.fromStart())
	}
	c.goOn(e)
	if len(r.Nodes) > 1 || e.settings.load.Connections > 1 {
		c.printf("with several connections, commands behind that place may have run already: those that must not run twice are not to be loaded again\n")
	}
	if lost, ok := errors.AsType[*loader.LostError](e.err); ok && lost.Gone && r.Acknowledged > 0 {
		c.printf("if the server comes back without all that it acknowledged, load again from the start:\n    %s\n", e.fromStart())
	}
}

// atRisk prints what masters had acknowledged whose place was taken by others.
func (c *console) atRisk(e *ending) {
	for _, risk := range e.report.AtRisk {
		c.printf("%s was lost in the middle of the load and another process took its place: of %d commands that it had acknowledged, from %s to %s, the last ones may be gone\n",
			risk.Addr, risk.Commands, place(risk.First), place(risk.Last))
	}
	if len(e.report.AtRisk) > 0 {
		c.printf("if that matters, load again from the start:\n    %s\n", e.fromStart())
	}
}

// nodes prints a row for each of several servers.
func (c *console) nodes(r *loader.Report) {
	if c.quiet || len(r.Nodes) < 2 {
		return
	}
	seconds := max(r.Duration, time.Microsecond).Seconds()
	for _, n := range r.Nodes {
		c.printf("  %s: %d replies, %d errors, %.0f commands/s, reply delay p50 %v, p99 %v\n",
			n.Server.Addr, n.Replies, n.Errors, float64(n.Replies)/seconds, n.DelayP50, n.DelayP99)
	}
}

// goOn prints the command line that goes on.
func (c *console) goOn(e *ending) {
	r, from := e.report, ""
	if r.File != "" {
		from = " from " + place(parser.Pos{File: r.File, Line: r.Position.Line})
	}
	if r.OpenBlock {
		from += ", where a transaction begins"
	}
	c.printf("to go on%s:\n    %s\n", from, e.goOn())
}

func place(pos parser.Pos) string { return printable(pos.String()) }

// rates prints how much was done in which time.
func (c *console) rates(r *loader.Report) {
	if c.quiet {
		return
	}
	seconds := max(r.Duration, time.Microsecond).Seconds()
	c.printf("%d commands, %s in %.2f s: %.0f commands/s, %s/s%s\n",
		r.Sent, bytesText(float64(r.Bytes)), seconds, float64(r.Sent)/seconds, bytesText(float64(r.Bytes)/seconds), again(r))
	if r.Duration >= time.Second { // before that the window has found nothing
		c.printf("%s, reply delay p50 %v, p99 %v\n", windowText(r.Window), r.DelayP50, r.DelayP99)
	}
}

// again tells what had to be done more than once.
func again(r *loader.Report) (text string) {
	if r.Reconnects > 0 {
		text = fmt.Sprintf(", connected again %d times", r.Reconnects)
	}
	if r.Split > 0 {
		text += fmt.Sprintf(", %d commands sent in pieces by slot", r.Split)
	}
	if r.Repeated > 0 {
		text += fmt.Sprintf(", %d errors of repeated commands not counted", r.Repeated)
	}
	return text
}

func windowText(window int) string {
	if window == loader.WindowMax {
		return "window bounded by bytes"
	}
	return fmt.Sprintf("window %d", window)
}

// bytesText writes a number of bytes in the largest unit of which there is one.
func bytesText(n float64) string {
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%.0f B", n)
}
