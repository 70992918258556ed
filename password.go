package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// password reads --pass, --pass-file and --askpass.
func (o *optionReader) password() string {
	given := ""
	for _, name := range []string{"pass", "pass-file", "askpass"} {
		switch {
		case !o.IsSet(name):
		case given != "":
			o.mistake(name, "there is --"+given+", too", "")
		default:
			given = name
		}
	}
	var line string
	var err error
	switch {
	case o.err != nil:
	case given == "pass-file":
		if line, err = firstLine(o.String("pass-file")); err == nil && line == "" {
			err = fmt.Errorf("the first line of %s is empty", o.String("pass-file"))
		}
	case given == "askpass":
		line, err = ask(o.Context.Context, "password: ")
		if o.Context.Err() != nil {
			o.err = err
		}
	default:
		line = o.String("pass")
	}
	o.failed(given, err, "")
	return line
}

func firstLine(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan()
	return strings.TrimSuffix(lines.Text(), "\r"), lines.Err()
}

// ask asks a question on the terminal, not on standard input, and reads the
// answer, which is not shown. When ctx ends the error is its cause.
func ask(ctx context.Context, question string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("there is no terminal to ask on: %w", err)
	}
	defer tty.Close()
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	fmt.Fprint(tty, question)
	go func() {
		text, err := term.ReadPassword(fd)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		fmt.Fprintln(tty)
		return string(a.text), a.err
	case <-ctx.Done(): // the read is left behind
		term.Restore(fd, before)
		fmt.Fprintln(tty)
		return "", context.Cause(ctx)
	}
}
