package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be respipe, when it is called so: "respipe" in
// scripts and in exec.Command is this very code, in a process of its own.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "respipe" {
		for _, name := range []string{"REDIS_URL", "REDISCLI_AUTH", "VALKEYCLI_AUTH"} {
			os.Unsetenv(name)
		}
		os.Setenv("GORACE", quickExit) // for those that it starts
	}
	testscript.Main(m, map[string]func(){"respipe": main})
}

// quickExit keeps the race detector from waiting a second at each exit.
const quickExit = "atexit_sleep_ms=0"

// respipe runs run() in this process.
func respipe(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(context.Background(), append([]string{"respipe"}, args...), strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

func TestImportsRunOneWay(t *testing.T) {
	for pkg, never := range map[string][]string{
		"respipe/parser":  {"respipe/formats", "respipe/loader", "net", "os/exec"},
		"respipe/formats": {"respipe/loader", "net"},
		"respipe/loader":  {"respipe/formats"},
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		deps := strings.Fields(string(out))
		for _, dep := range never {
			if slices.Contains(deps, dep) {
				t.Errorf("%s imports %s", pkg, dep)
			}
		}
		if pkg != "respipe/parser" {
			continue
		}
		for _, dep := range deps {
			if strings.Contains(strings.Split(dep, "/")[0], ".") {
				t.Errorf("%s is not of the standard library", dep)
			}
		}
	}
}

func TestHelpNamesEveryOption(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"load", "convert"} {
		status, help, stderr := respipe("", command, "--help")
		if status != 0 || stderr != "" {
			t.Fatalf("status %d, %s", status, stderr)
		}
		for _, f := range optionsOf(command) {
			name := dashed(f.Names()[0])
			if !strings.Contains(help, name) {
				t.Errorf("the help of %s does not have %s", command, name)
			}
			if !strings.Contains(string(readme), "`"+name) && !strings.Contains(string(readme), name+"`") {
				t.Errorf("the README does not have %s", name)
			}
		}
		for line := range strings.Lines(help) {
			if len(line) > 140 {
				t.Errorf("a long line: %s", line)
			}
		}
	}
}
