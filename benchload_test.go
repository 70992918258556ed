package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// contender is one way of loading.
type contender struct {
	name  string
	input string // file for its standard input
	args  []string
}

// figures are what one run took.
type figures struct{ wall, cpu time.Duration }

var (
	cliRESP     = &contender{"redis-cli/resp", "set.resp", []string{"redis-cli", "--pipe"}}
	respipeRESP = &contender{"respipe/resp", "set.resp", []string{"respipe", "--window", "max"}}
	respipeAuto = &contender{"respipe/resp-auto", "set.resp", []string{"respipe"}}
	respipeOnce = &contender{"respipe/exactly-once", "set.resp", []string{"respipe", "--exactly-once", "bench"}}
	cliText     = &contender{"redis-cli/text", "set.txt", []string{"redis-cli", "--pipe"}}
	respipeText = &contender{"respipe/text", "set.txt", []string{"respipe", "--window", "max"}}
)

// load loads distinct SETs from RESP and from text.
func (w *workbench) load(b *testing.B) {
	server := redistest.Start(b)
	took := w.race(b, server, server.Port, w.n, cliRESP, respipeRESP, respipeAuto, respipeOnce, cliText, respipeText)
	resp, text := median(took[cliRESP], wallOf), median(took[cliText], wallOf)
	w.atMost(1.00, "×", "RESP, wall time beside `redis-cli --pipe`", median(took[respipeRESP], wallOf)/resp)
	w.atMost(0.50, "×", "the same, client CPU", median(took[respipeRESP], cpuTimeOf)/median(took[cliRESP], cpuTimeOf))
	w.atLeast(0.80, "×", "exactly once, rate beside `--window max`", median(took[respipeRESP], wallOf)/median(took[respipeOnce], wallOf))
	w.atMost(0.80, "×", "text commands, wall time beside `redis-cli --pipe`", median(took[respipeText], wallOf)/text)
	w.atMost(0.75, "×", "the same, client CPU", median(took[respipeText], cpuTimeOf)/median(took[cliText], cpuTimeOf))
}

func wallOf(f figures) float64    { return f.wall.Seconds() }
func cpuTimeOf(f figures) float64 { return f.cpu.Seconds() }

// race runs the contenders in turn, each of which sends n commands to the port,
// and reports what each took, at the median. A server is emptied before.
func (w *workbench) race(b *testing.B, server *redistest.Server, port string, n int, contenders ...*contender) map[*contender][]figures {
	took := map[*contender][]figures{}
	for range rounds {
		for _, c := range contenders {
			if server != nil {
				server.CLI("FLUSHALL")
			}
			took[c] = append(took[c], w.run(b, c, port, n))
		}
	}
	report(b, took, n)
	return took
}

// report reports what each contender took for n commands, at the median.
func report(b *testing.B, took map[*contender][]figures, n int) {
	for c, all := range took {
		b.Run(c.name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(all, wallOf), "s")
			b.ReportMetric(median(all, cpuTimeOf)/float64(n)*1e6, "cpu-µs/cmd")
		})
	}
}

// run runs a contender, which must be answered n times.
func (w *workbench) run(b *testing.B, c *contender, port string, n int) figures {
	cmd := exec.Command(c.args[0], slices.Concat(c.args[1:], []string{"-p", port})...)
	input, err := os.Open(filepath.Join(w.dir, c.input))
	if err != nil {
		b.Fatal(err)
	}
	defer input.Close()
	cmd.Stdin = input
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("errors: 0, replies: %d\n", n)) {
		b.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return figures{took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// writeSets writes n SETs as RESP and as text.
func (w *workbench) writeSets(b *testing.B) {
	w.write(b, "set.resp", func(out io.Writer) { writeRESP(out, w.n) })
	w.write(b, "set.txt", func(out io.Writer) {
		for i := range w.n {
			fmt.Fprintf(out, "SET key:%010d value-%d\n", i, i*7919)
		}
	})
}

func writeRESP(out io.Writer, n int) {
	for i := range n {
		value := fmt.Sprintf("value-%d", i*7919)
		fmt.Fprintf(out, "*3\r\n$3\r\nSET\r\n$14\r\nkey:%010d\r\n$%d\r\n%s\r\n", i, len(value), value)
	}
}

// write makes a file among the inputs.
func (w *workbench) write(b *testing.B, name string, content func(io.Writer)) {
	f, err := os.Create(filepath.Join(w.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	content(out)
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
}
