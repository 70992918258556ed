package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// rounds is how often everything is measured; the median counts.
const rounds = 5

// workbench is what the benchmarks have in common.
type workbench struct {
	dir     string // of programs, the first in PATH, and of inputs
	n       int    // SETs
	goals   []goal
	sweeps  []*sweep
	machine string
}

// BenchmarkSpeed measures respipe beside other ways of loading the same, each
// time side by side, and ends with a table of what was to be reached and what
// was. All figures are medians of five. BENCH is the number of SETs to load,
// two million if it is not set; PICTURE is a file for a picture of the sweep
// of windows.
func BenchmarkSpeed(b *testing.B) {
	w := &workbench{dir: b.TempDir(), n: benchSize(b)}
	w.buildPrograms(b)
	w.writeSets(b)
	w.machine = machine()
	b.Run("load", w.load)
	b.Run("format", w.formats)
	b.Run("sink", w.sink)
	b.Run("window", w.window)
	b.Run("delay", w.delay)
	b.Run("memory", w.memory)
	b.Run("cluster", w.cluster)
	w.print(os.Stdout)
	if name := os.Getenv("PICTURE"); name != "" {
		w.draw(b, name)
	}
}

func benchSize(b *testing.B) int {
	text := os.Getenv("BENCH")
	if text == "" {
		return 2_000_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		b.Fatalf("BENCH=%s is no number of commands from 1000 up", text)
	}
	return n
}

// buildPrograms builds respipe as it is used, lets the test binary be found by
// the names of its helpers, and puts both before all other programs.
func (w *workbench) buildPrograms(b *testing.B) {
	if out, err := exec.Command("go", "build", "-o", w.dir, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	for name := range helpers {
		if err == nil {
			err = os.Symlink(self, filepath.Join(w.dir, name))
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("PATH", w.dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// helpers are programs that the benchmarks run in processes of their own: the
// test binary, when it is called so.
var helpers = map[string]func(){"sink": beSink, "sink-cluster": beCluster, "go-redis": beGoRedis}

func init() {
	if help, ok := helpers[filepath.Base(os.Args[0])]; ok {
		help()
		os.Exit(0)
	}
}

// machine says on what and with what was measured.
func machine() string {
	version, _ := exec.Command("redis-server", "--version").Output()
	fields := append(strings.Fields(string(version)), "", "", "")
	model := "unknown processor"
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
		}
	}
	return fmt.Sprintf("%d cores (%s), redis %s, %s", runtime.NumCPU(), model, strings.TrimPrefix(fields[2], "v="), runtime.Version())
}

// goal is one row of what is to be reached.
type goal struct {
	work    string
	least   bool // the figure must be at least the limit, else at most
	limit   float64
	figures []float64
	unit    string
}

// atMost notes a goal and its figures, none of which may be above the limit.
func (w *workbench) atMost(limit float64, unit, work string, figures ...float64) {
	w.goals = append(w.goals, goal{work, false, limit, figures, unit})
}

// atLeast notes a goal and its figures, none of which may be below the limit.
func (w *workbench) atLeast(limit float64, unit, work string, figures ...float64) {
	w.goals = append(w.goals, goal{work, true, limit, figures, unit})
}

func (g *goal) reached() bool {
	if g.least {
		return slices.Min(g.figures) >= g.limit
	}
	return slices.Max(g.figures) <= g.limit
}

// String returns the row of a table in Markdown.
func (g *goal) String() string {
	sign, verdict := "≤", "missed"
	if g.least {
		sign = "≥"
	}
	if g.reached() {
		verdict = "yes"
	}
	var figures []string
	for _, f := range g.figures {
		figures = append(figures, fmt.Sprintf("%.4g", f))
	}
	return fmt.Sprintf("| %s | %s %.4g %s | %s | %s |", g.work, sign, g.limit, g.unit, strings.Join(figures, ", "), verdict)
}

// print writes all tables in Markdown.
func (w *workbench) print(out io.Writer) {
	fmt.Fprintf(out, "\n%d SETs, %s, %s\n\n", w.n, w.machine, time.Now().Format(time.DateOnly))
	fmt.Fprintf(out, "| work | goal | figure | reached |\n| --- | --- | --- | --- |\n")
	for _, g := range w.goals {
		fmt.Fprintln(out, g.String())
	}
	for _, s := range w.sweeps {
		s.print(out)
	}
	fmt.Fprintln(out)
}

// median returns the one in the middle of what pick takes from each.
func median[E any, V cmp.Ordered](all []E, pick func(E) V) V {
	var values []V
	for _, e := range all {
		values = append(values, pick(e))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
