package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"respipe/internal/redistest"
)

// observer watches loads at full speed: for a span of time, some time after
// their beginning, it counts on the server what they achieve.
type observer struct {
	server     *redistest.Server
	client     *redis.Client
	input      string
	warm, span time.Duration
	probe      *probe // nil for none
}

// sight is what was seen of one load.
type sight struct {
	rate     float64 // commands a second
	cpu      float64 // of the client, in microseconds a command
	window   int     // what auto has found
	p50, p99 float64 // of the probe, in milliseconds
}

func rateOf(s sight) float64 { return s.rate }
func p50Of(s sight) float64  { return s.p50 }
func p99Of(s sight) float64  { return s.p99 }
func cpuOf(s sight) float64  { return s.cpu }
func windowOf(s sight) int   { return s.window }

// newObserver returns an observer of loads that find more SETs in its input
// than the time allows. The server has all the keys before: when a table of its
// grows, it is half as fast for a while, which must not fall to one load and
// not to another.
func (w *workbench) newObserver(b *testing.B) *observer {
	server := redistest.Start(b)
	sets := max(3*w.n, 500_000)
	w.write(b, "sweep.resp", func(out io.Writer) { writeRESP(out, sets) })
	w.run(b, &contender{input: "sweep.resp", args: respipeRESP.args}, server.Port, sets)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	b.Cleanup(func() { client.Close() })
	second := max(time.Second*time.Duration(w.n)/2_000_000, 100*time.Millisecond)
	return &observer{server: server, client: client, input: filepath.Join(w.dir, "sweep.resp"), warm: second, span: 3 * second / 2}
}

// watch watches one load, and ends it.
func (o *observer) watch(b *testing.B, args ...string) sight {
	o.server.CLI("CONFIG", "RESETSTAT")
	input, err := os.Open(o.input)
	if err != nil {
		b.Fatal(err)
	}
	defer input.Close()
	var said bytes.Buffer
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &said, &said
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	time.Sleep(o.warm)
	s := o.measure(b)
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if cmd.ProcessState.Success() {
		b.Fatalf("%q was over too soon", args)
	}
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.cpu = took.Seconds() * 1e6 / float64(o.settle(b))
	if text := windowFound.FindSubmatch(said.Bytes()); text != nil {
		s.window, _ = strconv.Atoi(string(text[1]))
	}
	return s
}

var windowFound = regexp.MustCompile(`window (\d+),`)

// measure counts for a span of time.
func (o *observer) measure(b *testing.B) (s sight) {
	before, began := o.sets(b), time.Now()
	if o.probe == nil {
		time.Sleep(o.span)
	} else {
		s = o.idle(b)
	}
	s.rate = float64(o.sets(b)-before) / time.Since(began).Seconds()
	return s
}

// idle is what the probe sees, whatever else goes on.
func (o *observer) idle(b *testing.B) sight {
	delays := o.probe.measure(b, o.span)
	return sight{p50: quantile(delays, 50), p99: quantile(delays, 99)}
}

var setCalls = regexp.MustCompile(`cmdstat_set:calls=(\d+)`)

// sets returns how many SETs the server has executed.
func (o *observer) sets(b *testing.B) int {
	info, err := o.client.Info(context.Background(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	calls := setCalls.FindStringSubmatch(info)
	if calls == nil {
		return 0
	}
	n, _ := strconv.Atoi(calls[1])
	return n
}

// settle waits until the server has executed all that an ended client had sent,
// and returns how many SETs that were in all.
func (o *observer) settle(b *testing.B) int {
	for {
		n := o.sets(b)
		time.Sleep(20 * time.Millisecond)
		if o.sets(b) == n {
			return n
		}
	}
}
