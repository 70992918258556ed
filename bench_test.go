package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// contender is one way of loading the same SETs.
type contender struct {
	name   string
	beside string // the contender whose figures it is compared with
	input  string // file in the folder of inputs
	args   []string
}

var contenders = []contender{
	{"redis-cli/resp", "redis-cli/resp", "set.resp", []string{"redis-cli", "--pipe"}},
	{"respipe/resp", "redis-cli/resp", "set.resp", []string{"respipe", "--window", "max"}},
	{"respipe/resp-window-1000", "redis-cli/resp", "set.resp", []string{"respipe"}},
	{"respipe/resp-window-100000", "redis-cli/resp", "set.resp", []string{"respipe", "--window", "100000"}},
	{"redis-cli/text", "redis-cli/text", "set.txt", []string{"redis-cli", "--pipe"}},
	{"respipe/text", "redis-cli/text", "set.txt", []string{"respipe", "--window", "max"}},
	{"respipe/csv", "redis-cli/resp", "set.csv", []string{"respipe", "--window", "max", "-f", "csv", "--type", "string", "--key", "key:{id}", "--value", "{value}"}},
}

// figures are what one run, or the median of several, took.
type figures struct {
	wall, cpu time.Duration
	memory    int64 // largest resident set in bytes; never below that of the benchmark, which Linux counts in
}

// BenchmarkLoad loads distinct SETs into one server, side by side, and reports
// medians of five: wall time in seconds, client CPU in microseconds a command,
// memory in MiB, and wall and CPU as multiples of what redis-cli --pipe takes.
// BENCH is the number of SETs, two million if it is not set.
func BenchmarkLoad(b *testing.B) {
	n := benchSize(b)
	dir := b.TempDir()
	writeInputs(b, dir, n)
	respipe := buildRespipe(b, dir)
	server := redistest.Start(b)
	runs := map[string][]figures{}
	for range rounds {
		for _, c := range contenders {
			server.CLI("FLUSHALL")
			runs[c.name] = append(runs[c.name], c.run(b, dir, respipe, server))
			if got := server.CLI("DBSIZE"); got != strconv.Itoa(n) {
				b.Fatalf("%s: %s of %d keys", c.name, got, n)
			}
		}
	}
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			f, beside := median(runs[c.name]), median(runs[c.beside])
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(f.wall.Seconds(), "s")
			b.ReportMetric(float64(f.cpu.Nanoseconds())/float64(n)/1e3, "cpu-µs/cmd")
			b.ReportMetric(float64(f.memory)/(1<<20), "MiB")
			b.ReportMetric(f.wall.Seconds()/beside.wall.Seconds(), "x-wall")
			b.ReportMetric(f.cpu.Seconds()/beside.cpu.Seconds(), "x-cpu")
		})
	}
}

// rounds is how often each load is run; the median counts.
const rounds = 5

// buildRespipe builds respipe as it is used, and returns its path.
func buildRespipe(b *testing.B, dir string) string {
	respipe := filepath.Join(dir, "respipe")
	if out, err := exec.Command("go", "build", "-o", respipe, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return respipe
}

func benchSize(b *testing.B) int {
	text := os.Getenv("BENCH")
	if text == "" {
		return 2_000_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("BENCH=%s is no number of commands", text)
	}
	return n
}

func (c *contender) run(b *testing.B, dir, respipe string, server *redistest.Server) figures {
	program := c.args[0]
	if program == "respipe" {
		program = respipe
	}
	cmd := exec.Command(program, append(slices.Clone(c.args[1:]), "-p", server.Port)...)
	input, err := os.Open(filepath.Join(dir, c.input))
	if err != nil {
		b.Fatal(err)
	}
	defer input.Close()
	cmd.Stdin = input
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	state := cmd.ProcessState
	return figures{
		wall:   time.Since(began),
		cpu:    state.UserTime() + state.SystemTime(),
		memory: state.SysUsage().(*syscall.Rusage).Maxrss << 10,
	}
}

// median takes the median of each figure on its own.
func median(runs []figures) figures {
	middle := func(figure func(figures) int64) int64 {
		var all []int64
		for _, f := range runs {
			all = append(all, figure(f))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return figures{
		wall:   time.Duration(middle(func(f figures) int64 { return int64(f.wall) })),
		cpu:    time.Duration(middle(func(f figures) int64 { return int64(f.cpu) })),
		memory: middle(func(f figures) int64 { return f.memory }),
	}
}

// writeInputs writes the same n SETs as RESP, as text and as CSV.
func writeInputs(b *testing.B, dir string, n int) {
	write := func(name, head string, record func(w io.Writer, key, value string)) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		w := bufio.NewWriterSize(f, 1<<20)
		io.WriteString(w, head)
		for i := range n {
			record(w, fmt.Sprintf("%010d", i), fmt.Sprintf("value-%d", i*7919))
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	write("set.resp", "", func(w io.Writer, key, value string) {
		fmt.Fprintf(w, "*3\r\n$3\r\nSET\r\n$14\r\nkey:%s\r\n$%d\r\n%s\r\n", key, len(value), value)
	})
	write("set.txt", "", func(w io.Writer, key, value string) { fmt.Fprintf(w, "SET key:%s %s\n", key, value) })
	write("set.csv", "id,value\n", func(w io.Writer, key, value string) { fmt.Fprintf(w, "%s,%s\n", key, value) })
}
