package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// TestCases runs the faults that people met: each folder of testdata/cases
// holds an input, a command line and what must be true afterwards (want).
func TestCases(t *testing.T) {
	wants, err := filepath.Glob("testdata/cases/*/want")
	if err != nil || len(wants) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, want := range wants {
		folder := filepath.Dir(want)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			runCase(t, folder)
		})
	}
}

func runCase(t *testing.T, folder string) {
	work := t.TempDir() // the case gets a copy: it may write
	dir := filepath.Join(work, filepath.Base(folder))
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	copyFile(t, "testdata/cases/fault_lib.sh", filepath.Join(work, "fault_lib.sh"))
	port := startCase(t, dir)

	args := []string{"-p", port}
	for line := range strings.Lines(read(t, dir, "args")) {
		args = append(args, strings.TrimSuffix(line, "\n"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "respipe", args...)
	cmd.Dir = dir
	if name := strings.TrimSpace(read(t, dir, "stdin")); name != "" {
		cmd.Stdin = strings.NewReader(read(t, dir, name))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			t.Fatal(err)
		}
	}
	o := outcome{status: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String(), port: port, password: strings.TrimSpace(read(t, dir, "checkpass"))}
	for line := range strings.Lines(read(t, dir, "want")) {
		if fault := o.check(strings.TrimSuffix(line, "\n")); fault != "" {
			t.Errorf("%s: %s", strings.TrimSpace(line), fault)
		}
	}
	if t.Failed() {
		t.Logf("respipe %q\n%s\n%s", args, stdout.String(), stderr.String())
	}
}

// startCase starts the server of a case and returns its port.
func startCase(t *testing.T, dir string) (port string) {
	if _, err := os.Stat(filepath.Join(dir, "setup.sh")); err != nil {
		s := redistest.Start(t)
		if commands := read(t, dir, "setup.redis"); commands != "" {
			s.Feed(strings.NewReader(commands))
		}
		return s.Port
	}
	ports, work := redistest.FreePorts(t, 6), t.TempDir() // of a cluster: three nodes and their buses
	t.Cleanup(func() { killAll(t, work) })
	setup := exec.Command("bash", filepath.Join(dir, "setup.sh"))
	setup.Env = append(os.Environ(), "WORK="+work, "PORT="+ports[0])
	for i, port := range ports[1:] {
		setup.Env = append(setup.Env, fmt.Sprintf("PORT%d=%s", i+2, port))
	}
	setup.Dir = dir
	setup.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it may leave processes that do something during the load
	log, err := os.Create(filepath.Join(work, "setup.log")) // no pipe: that would be waited for as long as they live
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	setup.Stdout, setup.Stderr = log, log
	if err = setup.Start(); err == nil {
		t.Cleanup(func() { syscall.Kill(-setup.Process.Pid, syscall.SIGKILL) })
		err = setup.Wait()
	}
	if err != nil {
		t.Fatalf("setup.sh: %v\n%s", err, read(t, work, "setup.log"))
	}
	return ports[0]
}

// killAll ends the servers whose process ids a setup.sh has left.
func killAll(t *testing.T, work string) {
	files, _ := filepath.Glob(filepath.Join(work, "*.pid"))
	for _, file := range files {
		pid, err := strconv.Atoi(strings.TrimSpace(read(t, "", file)))
		if err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		for err == nil && syscall.Kill(pid, 0) == nil { // it may still write into its folder
			time.Sleep(5 * time.Millisecond)
			if state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); bytes.Contains(state, []byte(") Z ")) {
				break
			}
		}
	}
}

// outcome is what a run of respipe has left.
type outcome struct {
	status         int
	stdout, stderr string
	port, password string
}

// check compares one line of a want file; it returns what is different.
func (o *outcome) check(line string) string {
	verb, want, _ := strings.Cut(line, " ")
	switch verb {
	case "exit":
		return differ(strconv.Itoa(o.status), want)
	case "errors", "replies":
		counts := regexp.MustCompile(`errors: (\d+), replies: (\d+)\n$`).FindStringSubmatch(o.stdout)
		if counts == nil {
			return "no counts"
		}
		return differ(counts[1+slices.Index([]string{"errors", "replies"}, verb)], want)
	case "stderr":
		if !regexp.MustCompile(want).MatchString(o.stderr) {
			return "no match"
		}
	case "nostderr":
		if re := regexp.MustCompile(want); re.MatchString(o.stderr) || re.MatchString(o.stdout) {
			return "a match"
		}
	case "get":
		return o.checkAnswer(want)
	default:
		return "cannot be checked"
	}
	return ""
}

var (
	database   = regexp.MustCompile(`^\[db (\d+)\] `)
	redirected = regexp.MustCompile(`(?m)^-> Redirected to slot .*\n`) // redis-cli says, on the way to another node
)

// checkAnswer compares an answer of the server: [db N] COMMAND => ANSWER || ...
func (o *outcome) checkAnswer(want string) string {
	args := []string{"-c", "-p", o.port, "--no-raw", "--no-auth-warning"}
	if db := database.FindStringSubmatch(want); db != nil {
		args, want = append(args, "-n", db[1]), want[len(db[0]):]
	}
	if o.password != "" {
		args = append(args, "-a", o.password)
	}
	command, answers, _ := strings.Cut(want, " => ")
	cmd := exec.Command("redis-cli", args...)
	cmd.Stdin = strings.NewReader(command + "\n")
	out, err := cmd.CombinedOutput()
	answer := strings.TrimSuffix(redirected.ReplaceAllString(string(out), ""), "\n")
	if err == nil && slices.Contains(strings.Split(answers, " || "), answer) {
		return ""
	}
	return fmt.Sprintf("the answer is %s (%v)", answer, err)
}

func differ(got, want string) string {
	if got == want {
		return ""
	}
	return "it is " + got
}

// read returns a file of a folder, "" when it is not there.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOutcomeCheckFindsFaults(t *testing.T) {
	s := redistest.Start(t)
	s.CLI("SET", "k", "v")
	s.CLI("-n", "3", "SET", "k", "three")
	o := outcome{status: 1, stdout: "errors: 2, replies: 30\n", stderr: "a.txt:3: bad\n", port: s.Port}
	for line, good := range map[string]bool{
		"exit 1": true, "exit 0": false,
		"errors 2": true, "errors 3": false,
		"replies 30": true, "replies 3": false,
		`stderr a\.txt:3`: true, `stderr b\.txt`: false,
		"nostderr worse": true, "nostderr bad": false, "nostderr replies": false,
		`get GET k => "v"`: true, `get GET k => "w"`: false, `get GET k => "w" || "v"`: true,
		`get [db 3] GET k => "three"`: true, `get [db 3] GET k => "v"`: false,
		"what else": false,
	} {
		if fault := o.check(line); (fault == "") != good {
			t.Errorf("%s: %q", line, fault)
		}
	}
}
