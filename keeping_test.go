package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// TestUnknownRecords halts the server while commands are unanswered: nobody
// knows of these, and the blocks among them are kept whole.
func TestUnknownRecords(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	c := start(t, "-p", s.Port, "--timeout", "1", "--connect-timeout", "1", "--retry-for", "1", "--rejects", bad)
	c.write("SET a 1\nLPUSH a x\nSELECT 3\nSET b 1\n")
	eventually(t, s, "1", "-n", "3", "GET", "b")
	s.Stop()
	c.write("INCR n\nMULTI\nINCR n\nMONITOR\nEXEC\nMULTI\nINCR n\nINCR n\nEXEC\nACL SETUSER bob >s3cret\n")
	c.expect(exitLost, "^1 records that did not take effect are in "+regexp.QuoteMeta(bad)+",", "^5 records with unknown outcome are in "+regexp.QuoteMeta(bad)+".unknown$", "^1 more record with unknown outcome is left out of them$")
	s.Cont()
	compareFolder(t, "unknown", dir, map[string]string{
		"bad":         "LPUSH a x\n",
		"bad.reasons": read(t, dir, "bad.reasons"),
		"bad.unknown": "SELECT 3\nINCR n\nMULTI\nINCR n\nINCR n\nEXEC\n# <stdin>:14 is left out: its command may carry a password\n",
	})
}

// TestSecondRunIsKeptOut holds that two runs never share a file.
func TestSecondRunIsKeptOut(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	dir := t.TempDir()
	for option, want := range map[string]string{
		"--rejects": "another run writes to ", "--replies": "another run writes to ", "--checkpoint": "another run writes to ",
	} {
		path := filepath.Join(dir, strings.Trim(option, "-"))
		s.CLI("DEL", "a")
		first := start(t, "-p", s.Port, option, path)
		first.write("SET a 1\n")
		eventually(t, s, "1", "GET", "a")
		start(t, "-p", s.Port, option, path).expect(exitUsage, want+regexp.QuoteMeta(path))
		first.stdin.Close()
		first.expect(0)
		third := start(t, "-p", s.Port, option, path)
		third.write("SET a 1\n")
		third.stdin.Close()
		if option == "--replies" { // the first one was answered
			third.expect(exitUsage, "is there already")
		} else {
			third.expect(0)
		}
	}
}

// TestFullDisk: a file that cannot be written ends the load, what is in it is
// whole, and the checkpoint does not pass over what is not in it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.CLI("SET", "text", "x")
	program, err := exec.LookPath("respipe")
	must(t, err)
	for _, option := range []string{"--rejects", "--replies"} {
		dir := t.TempDir()
		input := filepath.Join(dir, "in.txt")
		must(t, os.WriteFile(input, []byte(strings.Repeat("LPUSH text "+strings.Repeat("v", 100)+"\n", 2000)), 0o600))
		line := fmt.Sprintf("cd %s; ulimit -f 8; exec %s -q -p %s --checkpoint pos %s own in.txt", dir, program, s.Port, option)
		cmd := exec.Command("bash", "-c", line)
		out, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != exitStopped || !strings.Contains(string(out), option+": write own: file too large") && !strings.Contains(string(out), option+": write own.reasons: file too large") {
			t.Fatalf("exit status %d\n%s", status, out)
		}
		for name, text := range folder(t, dir) {
			if strings.HasPrefix(name, "own") && (len(text) > 8<<10 || !strings.HasSuffix(text, "\n")) {
				t.Errorf("%s holds %d bytes, at the end %.20q", name, len(text), text[max(0, len(text)-20):])
			}
		}
		if next, written := readCheckpoint(t, filepath.Join(dir, "pos")), strings.Count(read(t, dir, "own"), "\n"); next > written+1 {
			t.Errorf("%s: the checkpoint is at record %d, and %d are written", option, next, written)
		}
	}
}

// TestReaderOfRepliesIsGone: it ends the load; one that is slow only holds it up.
func TestReaderOfRepliesIsGone(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.CLI("SET", "k", strings.Repeat("v", 1000))
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	const records = 20_000
	input := strings.Repeat("GET k\n", records)

	c := start(t, "-p", s.Port, "--replies", pipe, "--timeout", "500ms", "--window-bytes", "64KiB")
	go func() { io.WriteString(c.stdin, input); c.stdin.Close() }()
	r, err := os.Open(pipe)
	must(t, err)
	time.Sleep(1200 * time.Millisecond) // longer than the timeout
	got, err := io.ReadAll(r)
	must(t, err)
	if n := strings.Count(string(got), "\n"); n != records {
		t.Errorf("%d replies of %d", n, records)
	}
	c.expect(0, fmt.Sprintf("^errors: 0, replies: %d$", records))

	c = start(t, "-p", s.Port, "--replies", pipe)
	go func() { io.WriteString(c.stdin, input); c.stdin.Close() }()
	r, err = os.Open(pipe)
	must(t, err)
	r.Read(make([]byte, 100))
	r.Close()
	c.expect(exitStopped, "^--replies: write .*: broken pipe$")

	c = start(t, "-p", s.Port, "--replies", pipe) // it waits for a reader
	c.started()
	time.Sleep(200 * time.Millisecond)
	c.signal(syscall.SIGTERM)
	c.expect(143)
}

// TestGatherOverConnections holds that the commands of a record, which settle
// on several connections, make one reject.
func TestGatherOverConnections(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	dir := t.TempDir()
	const records = 3000
	var text, want strings.Builder
	text.WriteString("id,t\n")
	want.WriteString("id,t\n")
	var sets strings.Builder
	for n := range records {
		row := fmt.Sprintf("%d,list\n", n)
		if n%7 == 0 {
			row = fmt.Sprintf("%d,text\n", n)
			want.WriteString(row)
			fmt.Fprintf(&sets, "SET text:%d x\n", n)
		}
		text.WriteString(row)
	}
	s.Feed(strings.NewReader(sets.String()))
	input := filepath.Join(dir, "in.csv")
	must(t, os.WriteFile(input, []byte(text.String()), 0o600))
	for _, connections := range []string{"1", "3"} {
		bad := filepath.Join(dir, "bad"+connections)
		c := start(t, "-p", s.Port, "--connections", connections, "--window", "50", "--rejects", bad, input,
			"--cmd", "SET a:{id} 1", "--cmd", "LPUSH {t}:{id} x", "--cmd", "SADD b:{id} x", "--cmd", "LPUSH {t}:{id} y")
		c.stdin.Close()
		c.expect(exitErrors)
		got := read(t, dir, "bad"+connections)
		if connections == "1" && got != want.String() || len(got) != want.Len() {
			t.Errorf("%s connections: %d bytes, want %d", connections, len(got), want.Len())
		}
		reasons := read(t, dir, "bad"+connections+reasonsSuffix)
		ran := regexp.MustCompile(`"command":"LPUSH","key":"text:\d+","error":"WRONGTYPE [^"]*","ran":\[\{"index":[13],"command":"S[^}]*\},\{"index":[13],"command":"S[^}]*\}\]\}`)
		if n, all := len(ran.FindAllString(reasons, -1)), strings.Count(reasons, "\n"); n != all || all != (records+6)/7 {
			t.Errorf("%s connections: %d of %d reasons name the two that ran\n%.300s", connections, n, all, reasons)
		}
	}
}

// TestLongBlockIsNotKept: of a transaction longer than half the window only the
// places are there; no half of it may be loaded again.
func TestLongBlockIsNotKept(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	c := start(t, "-p", s.Port, "--window-bytes", "64KiB", "--rejects", bad)
	c.write("LPUSH l 1\nMULTI\n" + strings.Repeat("SET k "+strings.Repeat("v", 100)+"\n", 3000) + "FROB\nEXEC\nSELECT 99\n")
	c.stdin.Close()
	c.expect(exitErrors, "^1 records that did not .*", "^left out of them: 3, see ")
	compareFolder(t, "long block", dir, map[string]string{
		"bad":         "# <stdin>:2 is left out: " + leftBlock + "\n# <stdin>:3003 is left out: " + leftBlock + "\n# <stdin>:3004 is left out: " + leftBlock + "\nSELECT 99\n",
		"bad.reasons": read(t, dir, "bad.reasons"),
	})
}
