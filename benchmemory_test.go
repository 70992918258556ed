package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
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

// usage is what one load took that was fed through a pipe.
type usage struct {
	seconds float64 // until all was written
	memory  float64 // largest resident set, in MiB
}

func secondsOf(u usage) float64 { return u.seconds }
func memoryOf(u usage) float64  { return u.memory }

const hundredMB = 100_000_000

// memory loads from pipes into a server that has all the keys before, so that
// its own growth does not count: nothing, n records, ten times n records, and
// one record of 100 MB.
func (w *workbench) memory(b *testing.B) {
	server := redistest.Start(b)
	w.run(b, respipeRESP, server.Port, w.n)
	one := filepath.Join(w.dir, "set.resp")
	set := fmt.Sprintf("*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$%d\r\n", hundredMB)
	ways := []*fed{
		{name: "empty"},
		{name: "n", feed: feedFiles(one)},
		{name: "ten-n", feed: feedFiles(slices.Repeat([]string{one}, 10)...)},
		{name: "window-100000", args: []string{"--window", "100000"}, feed: feedFiles(one)},
		{name: "errors", feed: feedUnknown, fails: true},
		{name: "nodes", port: startSink(b, "sink-cluster"), feed: feedFiles(one)},
		{name: "100MB-resp", feed: feedRecord(set, "\r\n")},
		{name: "100MB-csv", args: []string{"--type", "string", "--key", "{id}", "--value", "{v}"}, feed: feedRecord("id,v\nbig,", "\n")},
	}
	for range rounds {
		for _, way := range ways {
			way.runs = append(way.runs, way.run(b, cmp.Or(way.port, server.Port)))
		}
	}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(way.runs, secondsOf), "s")
			b.ReportMetric(median(way.runs, memoryOf), "MiB")
		})
	}
	above := func(way *fed) float64 { return median(way.runs, memoryOf) - median(ways[0].runs, memoryOf) }
	w.atMost(32, "MiB", fmt.Sprintf("resident memory above an empty load: %d records, %d records, `--window 100000`", w.n, 10*w.n), above(ways[1]), above(ways[2]), above(ways[3]))
	w.atMost(32, "MiB", fmt.Sprintf("the same: a million different errors, a cluster of %d nodes", sinkNodes), above(ways[4]), above(ways[5]))
	w.atMost(32+5*hundredMB/(1<<20), "MiB", "the same: a record of 100 MB in RESP, in CSV", above(ways[6]), above(ways[7]))
	growth := median(ways[2].runs, secondsOf) / median(ways[1].runs, secondsOf)
	w.atMost(11, "×", fmt.Sprintf("time of %d records beside %d", 10*w.n, w.n), growth)
}

// fed is one load that is fed through a pipe.
type fed struct {
	name  string
	args  []string
	feed  func(io.Writer) error
	port  string // of a server of its own
	fails bool   // commands are refused
	runs  []usage
}

// run looks at the memory when all was written and had time to be read.
func (f *fed) run(b *testing.B, port string) (u usage) {
	cmd := exec.Command("respipe", append(f.args, "-q", "-p", port)...)
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	began := time.Now()
	if err == nil && f.feed != nil {
		err = f.feed(input)
	}
	u.seconds = time.Since(began).Seconds()
	time.Sleep(300 * time.Millisecond)
	u.memory = residentMost(b, cmd.Process.Pid)
	input.Close()
	if err == nil {
		err = cmd.Wait()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !(f.fails && exited) {
		b.Fatalf("%q: %v", cmd.Args, err)
	}
	return u
}

// feedFiles feeds files, one behind the other.
func feedFiles(names ...string) func(io.Writer) error {
	return func(out io.Writer) error {
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			_, err = io.Copy(out, f)
			f.Close()
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// feedUnknown feeds a million commands that no server has, each another one.
func feedUnknown(out io.Writer) error {
	lines := bufio.NewWriter(out)
	for i := range 1_000_000 {
		fmt.Fprintf(lines, "FROB%d x\n", i)
	}
	return lines.Flush()
}

// feedRecord feeds 100 MB with something before and behind.
func feedRecord(before, behind string) func(io.Writer) error {
	return func(out io.Writer) error {
		million := bytes.Repeat([]byte("x"), 1_000_000)
		_, err := io.WriteString(out, before)
		for range hundredMB / len(million) {
			if err == nil {
				_, err = out.Write(million)
			}
		}
		if err == nil {
			_, err = io.WriteString(out, behind)
		}
		return err
	}
}

// residentMost returns the largest resident set that a process has had, in MiB.
func residentMost(b *testing.B, pid int) (mib float64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	b.Fatal("no VmHWM")
	return 0
}
