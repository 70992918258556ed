package simulate

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"
)

var (
	schedules = flag.Int("schedules", 0, "run so many schedules")
	seed      = flag.Uint64("seed", 1, "the first seed")
	traced    = flag.Bool("trace", false, "print the trace of the first seed, and no more")
)

// usual is how many schedules are run where none are asked for.
func usual() int {
	if raceEnabled {
		return 1_500
	}
	return 100_000
}

func TestSchedules(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	if *traced {
		failure, _ := Run(*seed, os.Stdout)
		t.Log(failure)
		return
	}
	n := *schedules
	if n == 0 {
		n = usual()
	}
	var figures Figures
	begin := time.Now()
	for i := range n {
		failure, f := run(*seed + uint64(i))
		figures.Add(&f)
		if failure != "" {
			report(t, *seed+uint64(i), failure)
			return
		}
	}
	took := time.Since(begin)
	t.Logf("%d schedules from seed %d on, %.0f/s, %+v", n, *seed, float64(n)/took.Seconds(), figures)
}

// run runs one schedule. It names the seed of one that panics.
func run(seed uint64) (failure string, f Figures) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Printf("seed %d\n", seed)
			panic(p)
		}
	}()
	return Run(seed, nil)
}

// report prints a failing seed and the end of its trace.
func report(t *testing.T, seed uint64, failure string) {
	t.Helper()
	var trace bytes.Buffer
	Run(seed, &trace)
	text := trace.Bytes()
	const most = 4000
	if len(text) > most {
		text = text[len(text)-most:]
	}
	t.Errorf("seed %d: %s\n%s", seed, failure, text)
}
