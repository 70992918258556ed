// Command mutants shows what the simulator is worth: it plants known faults in
// the engine, one at a time, and lets the simulator look for each. A fault that
// is not found fails.
//
// A mutant is a file of testdata/mutants: comments that say what the fault is,
// and blocks of text to be replaced:
//
//	# what is wrong
//	file loader/engine/repair.go
//	<<<<
//	the text, which must stand in the file once
//	====
//	what replaces it
//	>>>>
//
// The changed files are laid over the real ones (go test -overlay); nothing in
// the tree is touched.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	schedules := flag.Int("schedules", 200_000, "schedules to look for each mutant")
	dir := flag.String("dir", "testdata/mutants", "where the mutants are")
	flag.Parse()
	files, err := filepath.Glob(filepath.Join(*dir, "*.txt"))
	if err != nil || len(files) == 0 {
		fmt.Fprintln(os.Stderr, "mutants: no mutants in", *dir)
		os.Exit(2)
	}
	missed := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if flag.NArg() > 0 && !contains(flag.Args(), name) {
			continue
		}
		begin := time.Now()
		found, err := hunt(file, *schedules)
		switch took := time.Since(begin).Round(time.Second); {
		case err != nil:
			fmt.Printf("%-36s %v\n", name, err)
			missed++
		case found.seed == 0:
			fmt.Printf("%-36s NOT FOUND in %d schedules, %v\n", name, *schedules, took)
			missed++
		default:
			fmt.Printf("%-36s %6d  %s\n", name, found.seed, found.why)
		}
	}
	if missed > 0 {
		fmt.Printf("%d mutants are not found\n", missed)
		os.Exit(1)
	}
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// finding is the first schedule that convicts a mutant.
type finding struct {
	seed int // schedules that it took; 0: none has
	why  string
}

// hunt builds the simulator with a mutant and runs it.
func hunt(file string, schedules int) (finding, error) {
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return finding{}, err
	}
	defer os.RemoveAll(tmp)
	overlay, err := plant(file, tmp)
	if err != nil {
		return finding{}, err
	}
	binary := filepath.Join(tmp, "simulate.test")
	build := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, "./internal/simulate")
	if out, err := build.CombinedOutput(); err != nil {
		return finding{}, fmt.Errorf("does not build: %s", out)
	}
	run := exec.Command(binary, "-test.run", "^TestSchedules$", "-first", "-schedules", fmt.Sprint(schedules))
	out, err := run.CombinedOutput()
	return read(out, err)
}

var failed = regexp.MustCompile(`seed (\d+): (.*)`)

// read finds the failing seed in what the simulator has printed.
func read(out []byte, err error) (finding, error) {
	if m := failed.FindSubmatch(out); m != nil {
		var seed int
		fmt.Sscan(string(m[1]), &seed)
		return finding{seed, string(m[2])}, nil
	}
	if _, exited := errors.AsType[*exec.ExitError](err); exited || err != nil {
		return finding{}, fmt.Errorf("ends without a seed: %v\n%s", err, out)
	}
	return finding{}, nil
}

// plant writes the changed files and returns the name of the overlay.
func plant(file, tmp string) (overlay string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	changed := map[string]string{}
	target := ""
	for rest := string(text); rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		switch {
		case strings.HasPrefix(line, "file "):
			target = strings.TrimPrefix(line, "file ")
		case line == "<<<<":
			before, after, ok1 := strings.Cut(rest, "====\n")
			now, next, ok2 := strings.Cut(after, ">>>>\n")
			if !ok1 || !ok2 {
				return "", fmt.Errorf("a block without its end")
			}
			rest = next
			before, now = strings.TrimSuffix(before, "\n"), strings.TrimSuffix(now, "\n")
			if changed[target], err = replace(changed[target], target, before, now); err != nil {
				return "", err
			}
		}
	}
	return write(changed, tmp)
}

// replace replaces a text in a file that may have been changed before.
func replace(text, target, before, now string) (string, error) {
	if text == "" {
		data, err := os.ReadFile(target)
		if err != nil {
			return "", err
		}
		text = string(data)
	}
	if n := strings.Count(text, before); n != 1 {
		return "", fmt.Errorf("the text to be replaced stands %d times in %s", n, target)
	}
	return strings.Replace(text, before, now, 1), nil
}

// write writes the changed files and the overlay that names them.
func write(changed map[string]string, tmp string) (overlay string, err error) {
	names := map[string]string{}
	for target, text := range changed {
		path, err := filepath.Abs(target)
		if err != nil {
			return "", err
		}
		names[path] = filepath.Join(tmp, strings.ReplaceAll(target, "/", "_"))
		if err := os.WriteFile(names[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": names})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(tmp, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}
