package main

import (
	"errors"
	"fmt"
	"strings"
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
}

// status returns the exit status: the gravest of what happened.
func (e *ending) status() int {
	if signal, ok := errors.AsType[interruption](e.err); ok {
		return signal.status()
	}
	if _, ok := errors.AsType[*loader.LostError](e.err); ok {
		return exitLost
	}
	if _, ok := errors.AsType[*loader.ConnectError](e.err); ok {
		return exitConnect
	}
	for _, err := range causes(e.err) {
		if !errors.Is(err, loader.ErrTooManyErrors) {
			return exitInput
		}
	}
	switch {
	case e.err != nil:
		return exitStopped
	case e.errors() > 0:
		return exitErrors
	}
	return 0
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
func (e *ending) short() bool { return e.report.InputDone && e.report.Records < e.settings.expect }

// errors counts the errors; too few records are one of them.
func (e *ending) errors() int64 {
	if e.short() {
		return e.report.Errors + 1
	}
	return e.report.Errors
}

// connected tells whether commands could be sent at all.
func (e *ending) connected() bool { return e.report.Server != nil }

// summary returns what redis-cli --pipe prints: that the input was read to its
// end, that every sent command was answered, and the counts.
func (e *ending) summary() string {
	var text strings.Builder
	if e.report.InputDone {
		text.WriteString("All data transferred. Waiting for the last reply...\n")
	}
	if e.connected() && e.report.Unanswered == 0 {
		text.WriteString("Last reply received from server.\n")
	}
	fmt.Fprintf(&text, "errors: %d, replies: %d\n", e.errors(), e.report.Replies)
	return text.String()
}

// end prints how the load ended.
func (c *console) end(e *ending) {
	if c.bar != nil {
		c.bar.Clear()
		c.bar = nil
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
		c.printf("%d records, but --expect wants %d\n", e.report.Records, e.settings.expect)
	case e.report.InputDone && e.report.Records == 0:
		c.warn("nothing was loaded: there are no records in the input")
	}
	if e.connected() && !e.settings.dryRun {
		c.fate(e)
		c.rates(e.report)
	}
}

// cause prints one reason why the load stopped.
func (c *console) cause(err error, s *settings) {
	if connect, ok := errors.AsType[*loader.ConnectError](err); ok {
		c.printf("could not connect: %s\n", printable(err.Error()))
		c.hint(connect.Hint)
		return
	}
	if errors.Is(err, loader.ErrTooManyErrors) {
		c.printf("stopped: more than %d errors\n", s.load.MaxErrors)
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
	if e.err == nil {
		return
	}
	r := e.report
	c.printf("commands: %d acknowledged, %d refused, %d unknown, %d not sent\n", r.Acknowledged, r.Refused, r.Unknown, r.NotSent)
	if r.Unknown > 0 {
		c.printf("unknown: sent and never answered, from %s to %s\n", place(r.FirstLost), place(r.LastLost))
	}
	from := ""
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
	c.printf("%d commands, %s in %.2f s: %.0f commands/s, %s/s\n",
		r.Sent, bytesText(float64(r.Bytes)), seconds, float64(r.Sent)/seconds, bytesText(float64(r.Bytes)/seconds))
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
