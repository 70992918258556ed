// Respipe loads data into Redis and Valkey: command files, RESP, append-only
// files, CSV, TSV, JSON and plain lines, streamed through a bounded window of
// unanswered commands. It is used where `redis-cli --pipe` would be, and ends
// with the same three lines.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v2"

	"respipe/formats"
	"respipe/loader"
)

// Exit statuses; an interrupted load ends with 128 and the signal's number.
const (
	exitErrors  = 1 // the input was read to its end, some records were refused or are unconfirmed
	exitUsage   = 2 // nothing was sent, no counts
	exitStopped = 3 // stopped because of errors
	exitConnect = 4 // could not connect or authenticate, nothing was sent
	exitLost    = 5 // connection lost, or no reply in time
	exitInput   = 6 // the input could not be read on
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25) // little is allocated but long records: these must not pile up
	}
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of its write, not the end of the load
	os.Exit(run(interruptible(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run does what the command line args asks for, args[0] being the program's
// name, and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	given, err := arrange(args)
	if err != nil {
		return refuse(stderr, err)
	}
	p := &program{given: given, stdin: stdin, stdout: stdout, stderr: stderr}
	if err := p.app().RunContext(ctx, given.words()); err != nil {
		return refuse(stderr, err)
	}
	return p.status
}

// refuse says on stderr what is wrong with the command line.
func refuse(stderr io.Writer, err error) int {
	if signal, ok := errors.AsType[interruption](err); ok {
		return signal.status()
	}
	fmt.Fprintf(stderr, "respipe: %s\n", printable(err.Error()))
	if usage, ok := errors.AsType[*formats.UsageError](err); ok && usage.Hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", usage.Hint)
	}
	return exitUsage
}

// program is one run of respipe.
type program struct {
	given          *commandLine
	stdin          io.Reader
	stdout, stderr io.Writer
	status         int
}

func (p *program) app() *cli.App {
	return &cli.App{
		Name:                      "respipe",
		Reader:                    p.stdin,
		Writer:                    p.stdout,
		ErrWriter:                 p.stderr,
		HideHelp:                  true,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		Commands: []*cli.Command{
			{Name: "load", HideHelp: true, Flags: optionsOf("load"), Action: p.load},
			{Name: "convert", HideHelp: true, Flags: optionsOf("convert"), Action: p.convert},
			{Name: "help", HideHelp: true, Flags: optionsOf("help"), Action: p.help},
		},
	}
}

// load joins the three packages: records from formats, through loader, to a
// server.
func (p *program) load(c *cli.Context) error {
	if c.Bool("version") {
		_, err := fmt.Fprintln(p.stdout, "respipe", version())
		return err
	}
	if c.IsSet("forget") {
		return p.forget(c)
	}
	ending, err := p.carry(c, func(w *work) (*loader.Report, error) {
		if w.settings.dryRun {
			return rehearse(c.Context, w.source, w.settings, w.console)
		}
		w.console.progress(w.source.Source)
		return loader.Run(c.Context, w.input(), w.config())
	})
	if err == nil && ending.speaks() {
		io.WriteString(p.stdout, ending.summary()) // nobody may be reading any more
	}
	return err
}

// carry reads the options, opens the input and has its commands carried away.
// The errors it returns are mistakes of usage; how it ended otherwise is in the
// ending, and in p.status.
func (p *program) carry(c *cli.Context, away func(*work) (*loader.Report, error)) (*ending, error) {
	s, err := readSettings(c, p.given)
	if err != nil {
		return nil, err
	}
	if len(s.files) == 0 {
		if isTerminal(p.stdin) {
			return nil, &formats.UsageError{Msg: "no FILE, and standard input is a terminal", Hint: "respipe [options] FILE..., or respipe --help"}
		}
		s.files = []string{"-"}
	}
	if s.lock != "" {
		held, err := lock(s.lock)
		if err != nil {
			return nil, err
		}
		defer held.Close()
	}
	w := &work{settings: s, console: newConsole(p.stderr, s)}
	s.input.Stdin, s.input.Note = p.stdin, w.console.note
	err = w.open(c.Context)
	defer w.close()
	ending := &ending{settings: s, given: p.given, files: w.files, told: w.wasDone()}
	if err == nil {
		ending.report, ending.err = away(w)
		ending.err = w.finish(ending.report, ending.err)
	} else if _, usage := errors.AsType[*formats.UsageError](err); usage {
		return nil, err
	} else {
		ending.report, ending.err = new(loader.Report), err
	}
	p.status = ending.status()
	w.console.end(ending)
	return ending, nil
}

// version is what the build knows of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	text := info.Main.Version + " " + info.GoVersion
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			text += " " + setting.Value
		}
	}
	return text
}
