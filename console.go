package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
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
	w        io.Writer
	terminal bool
	quiet    bool
	describe describer

	bar      *progressbar.ProgressBar // nil when there is none
	read     func() int64             // bytes of the input so far
	size     int64
	warnings int64
}

func newConsole(w io.Writer, s *settings) *console {
	return &console{w: w, terminal: isTerminal(w), quiet: s.quiet, describe: describer{values: s.showValues}}
}

func (c *console) printf(format string, args ...any) {
	if c.bar != nil {
		c.bar.Clear()
	}
	fmt.Fprintf(c.w, format, args...)
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
}

func keyCount(n int64) string {
	if n < 0 {
		return ""
	}
	return fmt.Sprintf(", %d keys", n)
}

// sized is an input that knows how much of it has been read.
type sized interface {
	BytesRead() int64
	Size() int64
}

// progress draws a bar on a terminal while an input of known size is loaded.
func (c *console) progress(input sized) {
	c.size, c.read = input.Size(), input.BytesRead
	if c.introduces() && c.size > 0 {
		c.bar = progressbar.NewOptions64(c.size, progressbar.OptionSetWriter(c.w), progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond))
	}
}

// settled prints the failures of a batch.
func (c *console) settled(b *loader.Batch) error {
	for _, f := range b.Failures() {
		switch {
		case f.Warning:
			if c.warnings++; c.warnings <= shown && !c.quiet {
				c.failure("warning: ", b, f)
			}
		case f.Nth <= shown:
			c.failure("", b, f)
		}
	}
	if c.bar != nil {
		c.bar.Set64(min(c.read(), c.size-1)) // the bar never says that it is over: end does
	}
	return nil
}

// failure prints one failure: file:line: TEXT [NAME key].
func (c *console) failure(prefix string, b *loader.Batch, f loader.Failure) {
	pos := b.Pos(f.I)
	c.printf("%s%s: %s\n", prefix, printable(pos.String()), c.describe.failure(f.Text, b.Command(f.I)))
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
