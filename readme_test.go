package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"respipe/internal/redistest"
)

// TestReadme runs every command of the README, in its order and on one server,
// and compares what it prints, but for times. The commands find their files in
// testdata; "go run ." is run where it is written.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t)
	examples := readmeExamples(string(text))
	if len(examples) < 8 {
		t.Fatalf("only %d examples", len(examples))
	}
	for _, e := range examples {
		if e.command == "make test" {
			continue // this is part of it
		}
		cmd := exec.Command("bash", "-c", `redis-cli() { command redis-cli -p "$PORT" "$@"; }; `+e.command)
		cmd.Env = append(os.Environ(), "PORT="+server.Port, "REDIS_URL=redis://"+server.Addr)
		if !strings.HasPrefix(e.command, "go ") {
			cmd.Dir = "testdata"
		}
		out, err := cmd.CombinedOutput()
		if got := masked(string(out)); got != masked(e.output) {
			t.Errorf("$ %s\n%swhere the README has\n%s(%v)", e.command, out, e.output, err)
		}
	}
}

type example struct{ command, output string }

// readmeExamples returns the commands of the code blocks, which begin with $,
// and what stands below each.
func readmeExamples(text string) (examples []example) {
	inBlock := false
	for line := range strings.Lines(text) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = !inBlock && strings.HasPrefix(line, "```console")
		case !inBlock:
		case isCommand:
			command, _, _ = strings.Cut(strings.TrimSuffix(command, "\n"), "   # ")
			examples = append(examples, example{command: strings.TrimSpace(command)})
		case len(examples) > 0:
			examples[len(examples)-1].output += line
		}
	}
	return examples
}

var times = regexp.MustCompile(`in [0-9.]+ s: .*`)

func masked(text string) string { return times.ReplaceAllString(text, "in N s: N") }
