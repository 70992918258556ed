package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// child is respipe in a process of its own.
type child struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr bytes.Buffer
}

func start(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command("respipe", args...)}
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	stdin, err := c.cmd.StdinPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.stdin = stdin
	t.Cleanup(func() { c.cmd.Process.Kill() })
	return c
}

func (c *child) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, text); err != nil {
		c.t.Fatal(err)
	}
}

// started waits until the program itself runs, which ignores SIGPIPE first: an
// earlier signal would end the process.
func (c *child) started() {
	c.t.Helper()
	ignored := regexp.MustCompile(`(?m)^SigIgn:\s*[0-9a-f]*[13579bdf]...$`)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid)); ignored.Match(status) {
			return
		}
	}
	c.t.Fatal("respipe does not start")
}

func (c *child) signal(s syscall.Signal) { c.cmd.Process.Signal(s) }

// wait returns the exit status; the process may take ten seconds.
func (c *child) wait() int {
	c.t.Helper()
	late := time.AfterFunc(10*time.Second, func() {
		c.t.Error("respipe does not end")
		c.cmd.Process.Kill()
	})
	defer late.Stop()
	c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

// expect compares the exit status and looks for texts in what was printed.
func (c *child) expect(status int, patterns ...string) {
	c.t.Helper()
	got := c.wait()
	if got != status {
		c.t.Errorf("exit status %d, want %d", got, status)
	}
	printed := c.stdout.String() + c.stderr.String()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(printed) {
			c.t.Errorf("no match for %s", p)
		}
	}
	if c.t.Failed() {
		c.t.Logf("%s\n%s", c.stdout.String(), c.stderr.String())
	}
}

// eventually waits until the server gives the answer.
func eventually(t *testing.T, s *redistest.Server, answer string, command ...string) {
	t.Helper()
	got := ""
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got = s.CLI(command...); got == answer {
			return
		}
	}
	t.Fatalf("%q: %s, want %s", command, got, answer)
}

func TestServerDiesInMidLoad(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := start(t, "-p", s.Port, "--window", "100", "--retry-for", "300ms")
	go func() {
		defer c.stdin.Close()
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(c.stdin, "SET key:%d value\nSELECT 3\n", i); err != nil {
				return
			}
		}
	}()
	for s.CLI("-n", "3", "EXISTS", "key:5000") != "1" {
		time.Sleep(time.Millisecond)
	}
	s.Stop()
	time.Sleep(300 * time.Millisecond) // something is sent and not answered
	s.Kill()
	c.expect(exitLost, "connection to "+regexp.QuoteMeta(s.Addr)+" lost", `^errors: 0, replies: \d+$`)
	var acknowledged, refused, unknown, notSent, skip int
	line := regexp.MustCompile(`(?m)^commands:.*$`).FindString(c.stderr.String())
	fmt.Sscanf(line, "commands: %d acknowledged, %d refused, %d unknown, %d not sent", &acknowledged, &refused, &unknown, &notSent)
	if again := regexp.MustCompile(`(?m)^if the server comes back without .*:\n    respipe .*--skip 0$`); !again.MatchString(c.stderr.String()) {
		t.Error("nothing is said of a server that comes back empty")
	}
	goOn := regexp.MustCompile(`(?m)^ +respipe .*--skip (\d+) -n 3$`).FindStringSubmatch(c.stderr.String())
	if goOn == nil {
		t.Fatal("no place to go on from, in database 3")
	}
	skip, _ = strconv.Atoi(goOn[1])
	if acknowledged < 5000 || refused != 0 || unknown+notSent == 0 || skip != acknowledged {
		t.Errorf("%s, and --skip %d", line, skip)
	}
	if !strings.Contains(c.stdout.String(), fmt.Sprintf("replies: %d\n", acknowledged)) {
		t.Errorf("%s\n%s", line, c.stdout.String())
	}
	if unknown > 100 {
		t.Errorf("%d unknown with a window of 100", unknown)
	}
	if strings.Contains(c.stdout.String(), "All data transferred") || unknown > 0 && strings.Contains(c.stdout.String(), "Last reply") {
		t.Error(c.stdout.String())
	}
}

func TestServerHaltsPastTimeout(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := start(t, "-p", s.Port, "--timeout", "1", "--connect-timeout", "1", "--retry-for", "1")
	c.write("SET a 1\n")
	eventually(t, s, "1", "GET", "a")
	s.Stop()
	c.write("SET b 1\nSET c 1\n")
	c.expect(exitLost, "no reply for 1s", "^commands: 1 acknowledged, 0 refused, 2 unknown, 0 not sent$",
		"^unknown: .* from <stdin>:2 to <stdin>:3$", `--skip 1$`, "^errors: 0, replies: 1$")
	s.Cont()
}

// An interrupt does not make a server that says nothing one that answers: the
// load ends as without it.
func TestInterruptWhileServerHalts(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := start(t, "-p", s.Port, "--timeout", "1", "--connect-timeout", "1")
	c.write("SET a 1\n")
	eventually(t, s, "1", "GET", "a")
	s.Stop()
	defer s.Cont()
	c.write("SET b 1\nSET c 1\n")
	time.Sleep(200 * time.Millisecond) // they are sent
	c.signal(syscall.SIGTERM)
	c.expect(143, "no reply for 1s", "^commands: 1 acknowledged, 0 refused, 2 unknown, 0 not sent$")
	if strings.Contains(c.stderr.String(), "answers PING") {
		t.Error("the server answered nothing")
	}
}

// TestServerIsStartedAgain: what was acknowledged may be gone, so both places
// to go on from are told.
func TestServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := start(t, "-p", s.Port, "--skip", "1")
	c.write("SET skipped 1\nSET a 1\n")
	eventually(t, s, "1", "GET", "a")
	s.Kill()
	s.Restart()
	io.WriteString(c.stdin, "SET b 1\n") // it may have ended already
	c.expect(exitLost, "another process: what was acknowledged may be gone", "from the start:\n    respipe -p "+s.Port+" --skip 1$", "to go on.*:\n    respipe -p "+s.Port+" --skip 2$")
}

func TestConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := start(t, "-p", s.Port)
	for i := range 3 {
		key := "line:" + strconv.Itoa(i)
		c.write("SET " + key + " here\n")
		eventually(t, s, "here", "GET", key)
		s.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		time.Sleep(100 * time.Millisecond) // nothing is unanswered: it goes on without a word
	}
	c.stdin.Close()
	c.expect(0, "^errors: 0, replies: 3$", "connected again 3 times")
	if strings.Contains(c.stderr.String(), "lost") {
		t.Error(c.stderr.String())
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "lock")
	first := start(t, "-p", s.Port, "--lock", file)
	first.write("SET a 1\n")
	eventually(t, s, "1", "GET", "a")
	second := start(t, "-p", s.Port, "--lock", file)
	second.expect(exitUsage, "another run holds "+regexp.QuoteMeta(file))
	first.stdin.Close()
	first.expect(0)
	third := start(t, "-p", s.Port, "--lock", file)
	third.stdin.Close()
	third.expect(0)
}

// TestNoFileDescriptors: with fewer than eight the Go runtime itself gives up;
// with eight the connection takes the last, and the input has none.
func TestNoFileDescriptors(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	program, err := exec.LookPath("respipe")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "ulimit -n 8; exec "+program+" -p "+s.Port+" --retry-for 0 testdata/commands.txt")
	out, _ := cmd.CombinedOutput()
	if status := cmd.ProcessState.ExitCode(); status != exitInput || !strings.Contains(string(out), "too many open files") {
		t.Errorf("exit status %d\n%s", status, out)
	}
}

func TestSlowProducer(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := start(t, "-p", s.Port, "--timeout", "300ms")
	for i := range 3 {
		key := "line:" + strconv.Itoa(i)
		c.write("SET " + key + " here\n")
		eventually(t, s, "here", "GET", key) // at once, not with the next line
		time.Sleep(600 * time.Millisecond)   // longer than the timeout
	}
	c.stdin.Close()
	c.expect(0, "^errors: 0, replies: 3$")
}

func TestInterrupt(t *testing.T) {
	for signal, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			c := start(t, "-p", s.Port, "-n", "2")
			c.write("SET a 1\nSET b")
			eventually(t, s, "1", "-n", "2", "GET", "a")
			c.signal(signal) // while standard input says nothing
			c.expect(status, "^Last reply received from server.$", "^errors: 0, replies: 1$", "^commands: 1 acknowledged, 0 refused, 0 unknown, 0 not sent$",
				"respipe -p "+s.Port+" --skip 1 -n 2$")
			if strings.Contains(c.stdout.String(), "All data transferred") {
				t.Error("the input had not ended")
			}
		})
	}
}

func TestSecondInterruptLeavesAtOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := start(t, "-p", s.Port)
	c.write("SET a 1\n")
	eventually(t, s, "1", "GET", "a")
	s.Stop()
	defer s.Cont()
	c.write("SET b 1\n")
	time.Sleep(200 * time.Millisecond)
	c.signal(syscall.SIGINT)
	time.Sleep(500 * time.Millisecond) // the window does not drain
	if c.cmd.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("the first interrupt did not wait for the window")
	}
	c.signal(syscall.SIGINT)
	c.expect(130)
}

// TestClosedPipes: a reader of standard output or error that has gone does not
// stop a load, nor end it by a signal.
func TestClosedPipes(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	var input strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&input, "SET ok:%d 1\nFROB %d\n", i, i)
	}
	cmd := exec.Command("respipe", "-p", s.Port)
	cmd.Stdin = strings.NewReader(input.String())
	cmd.Stdout, cmd.Stderr = brokenPipe(t), brokenPipe(t)
	cmd.Run()
	if status := cmd.ProcessState.ExitCode(); status != exitErrors {
		t.Errorf("exit status %d (%v)", status, cmd.ProcessState)
	}
	if got := s.CLI("DBSIZE"); got != "2000" {
		t.Errorf("%s of 2000 keys", got)
	}
}

// brokenPipe returns the end of a pipe that nobody reads.
func brokenPipe(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}
