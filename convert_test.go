package main

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"respipe/parser"
)

// TestConvertStreams holds that what was read is written before the next wait
// for the input, and that no half of a block is left by an interrupt.
func TestConvertStreams(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("respipe", "convert", "--as", "commands")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for _, text := range []string{"SET a 1\n", "MULTI\n", "SET b 2\nSET c 3\n"} {
		io.WriteString(stdin, text)
		got := make([]byte, len(text))
		if _, err := io.ReadFull(stdout, got); err != nil || string(got) != text {
			t.Fatalf("%q, %v", got, err)
		}
	}
	cmd.Process.Signal(syscall.SIGTERM)
	rest, err := io.ReadAll(stdout)
	cmd.Wait()
	if string(rest) != "DISCARD\n" || err != nil || cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("%q, %v, %v", rest, err, cmd.ProcessState)
	}
	for _, want := range []string{"respipe convert --as commands --skip 1\n", "where a transaction begins", "errors: 0, commands: 4\n"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in\n%s", want, stderr.String())
		}
	}
}

func TestSlotCount(t *testing.T) {
	var k slotCount
	var ops parser.Ops
	for _, row := range []struct {
		line    string
		crosses bool
	}{
		{"SET a 1", false},
		{"SET b 1", false}, // another slot, another command
		{"MSET {x}a 1 {x}b 2", false},
		{"MSET a 1 b 2", true},
		{"PING", false},
		{"FROB a b", false}, // where its keys are is not known
		{"MULTI", false},
		{"SET a 1", false},
		{"PING", false},
		{"SET a 2", false},
		{"SET b 1", true},
		{"EXEC", false},
		{"SET b 1", false},
		{"EVAL x 2 a b", true},
	} {
		args, _, _ := parser.SplitArgs(nil, nil, []byte(row.line))
		if got := k.crosses(&parser.Command{Args: args, Op: ops.Find(args)}); got != row.crosses {
			t.Errorf("%s: %v", row.line, got)
		}
	}
	if k.crossing != 3 || k.keys[15495] != 5 {
		t.Errorf("%d crossing, %d of a", k.crossing, k.keys[15495])
	}
}

// FuzzConvertRoundTrip holds that the commands that are written in one way are
// read back to the same RESP.
func FuzzConvertRoundTrip(f *testing.F) {
	for _, seed := range []string{"SET|a|1", "*3|x", "#remark|#", "|", "SET|\x00\xff|a b\r\n\t\"'\\", "'|\"", "SET|ü|\\x41", "MULTI", "*|1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		resp := string(parser.AppendCommand(nil, bytes.Split(text, []byte("|"))))
		_, first, _ := respipe(resp, "convert", "-q", "-f", "resp")
		status, lines, _ := respipe(first, "convert", "-q", "-f", "resp", "--as", "commands")
		if status != 0 {
			return // it is refused, however it is written
		}
		status, second, stderr := respipe(lines, "convert", "-q")
		if status != 0 || second != first {
			t.Errorf("%q became %q, and that %q (%d, %s)", first, lines, second, status, stderr)
		}
	})
}
