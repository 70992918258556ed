// Respipe loads data into Redis and Valkey: command files, RESP, CSV and plain
// lines, streamed through a bounded window of unanswered commands. It is used
// where `redis-cli --pipe` would be, and ends with the same three lines.
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
	exitErrors  = 1 // the input was read to its end, some records were refused
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
	given, err := arrange(args, options())
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
			{Name: "load", HideHelp: true, Flags: options(), Action: p.load},
			{Name: "help", HideHelp: true, Flags: options(), Action: p.help},
		},
	}
}

// load joins the three packages: records from formats, through loader, to a
// server. The errors it returns are mistakes of usage; how the load itself
// ended is in p.status.
func (p *program) load(c *cli.Context) error {
	if c.Bool("version") {
		_, err := fmt.Fprintln(p.stdout, "respipe", version())
		return err
	}
	s, err := readSettings(c, p.given.program)
	if err != nil {
		return err
	}
	if len(s.files) == 0 {
		if isTerminal(p.stdin) {
			return &formats.UsageError{Msg: "no FILE, and standard input is a terminal", Hint: "respipe [options] FILE..., or respipe --help"}
		}
		s.files = []string{"-"}
	}
	console := newConsole(p.stderr, s)
	s.input.Stdin, s.input.Note = p.stdin, console.note
	source, err := formats.Open(s.files, s.input)
	if err != nil {
		return err
	}
	defer source.Close()
	ending := &ending{settings: s, given: p.given}
	if err := source.Prepare(c.Context); err != nil {
		if _, usage := errors.AsType[*formats.UsageError](err); usage {
			return err
		}
		ending.report, ending.err = new(loader.Report), err
	} else if s.dryRun {
		ending.report, ending.err = rehearse(c.Context, source, s, console)
	} else {
		console.progress(source)
		ending.report, ending.err = loader.Run(c.Context, source, s.config(console))
	}
	console.end(ending)
	p.status = ending.status()
	if p.status != 0 || !s.quiet {
		io.WriteString(p.stdout, ending.summary()) // nobody may be reading any more
	}
	return nil
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
