package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"respipe/loader"
	"respipe/parser"
)

// shown is how many errors of a kind, and how many warnings, are printed.
const shown = 10

// console is standard error. All of its methods are called by one goroutine.
// A console that cannot be written to is no reason to stop a load: errors of
// writing are passed over.
type console struct {
	meter    *meter
	terminal bool
	quiet    bool
	display  display
	describe describer
	warnings int64
	exactly  string // name of a load that runs exactly once; "" for none
}

func newConsole(w io.Writer, s *settings) *console {
	c := &console{meter: &meter{out: w}, terminal: isTerminal(w), quiet: s.quiet, describe: describer{values: s.showValues}, exactly: s.exactlyOnce}
	switch {
	case s.quiet:
	case s.progress == "bar", s.progress == "auto" && c.terminal && os.Getenv("TERM") != "dumb":
		c.display = barDisplay
	case s.progress == "plain":
		c.display = plainDisplay
	}
	return c
}

func (c *console) printf(format string, args ...any) {
	fmt.Fprintf(c.meter, format, args...)
}

// note prints what is no error and has a place.
func (c *console) note(pos parser.Pos, text string) {
	if !c.quiet {
		c.printf("%s: %s\n", printable(pos.String()), printable(text))
	}
}

// warn prints what is no error and has no place.
func (c *console) warn(format string, args ...any) {
	if !c.quiet {
		c.printf("warning: "+format+"\n", args...)
	}
}

// say prints what the loader has to say while it goes on.
func (c *console) say(text string) {
	if !c.quiet {
		c.printf("%s\n", printable(text))
	}
}

// introduces tells whether a first line names the server.
func (c *console) introduces() bool { return c.terminal && !c.quiet }

// connected says who answered.
func (c *console) connected(s *loader.Server) {
	if c.introduces() {
		c.printf("%s %s at %s, database %d%s\n", printable(s.Name), printable(s.Version), s.Addr, s.DB, keyCount(s.Keys))
	}
	if s.Role == "replica" {
		c.warn("the server is a replica")
	}
	c.condition(s.Health)
	c.mayEvict(s.Health)
}

func keyCount(n int64) string {
	if n < 0 {
		return ""
	}
	return fmt.Sprintf(", %d keys", n)
}

// progress shows how much of input is loaded, until the end.
func (c *console) progress(input sized) { c.meter.start(c.display, input) }

// settled prints the failures of a batch.
func (c *console) settled(b loader.Completed) error {
	for _, f := range b.Failures() {
		if f.Warning {
			if c.warnings++; c.warnings <= shown && !c.quiet {
				c.failure("warning: ", b, f)
			}
			continue
		}
		c.meter.errors.Add(1)
		if f.Nth <= shown {
			c.failure("", b, f)
		}
	}
	c.meter.commands.Add(int64(b.Len()))
	return nil
}

// failure prints one failure: file:line: TEXT [NAME key].
func (c *console) failure(prefix string, b loader.Completed, f loader.Failure) {
	pos := b.Pos(f.I)
	c.printf("%s%s: %s\n", prefix, printable(pos.String()), c.describe.failure(f.Text, b.Command(f.I)))
}

// refused prints why a record was refused.
func (c *console) refused(pos parser.Pos, text string) {
	c.printf("%s: %s\n", place(pos), printable(text))
}

// printable returns text without control characters.
func printable(text string) string { return string(parser.AppendPrintable(nil, []byte(text))) }

// quoted returns what the user typed as a message shows it: printable and
// short.
func quoted(text string) string { return "'" + clip(printable(text), 60) + "'" }

// clip shortens text to n characters and three dots.
func clip(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i] + "..."
		}
		n--
	}
	return text
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
