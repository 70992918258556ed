package loader

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPace books batches on a clock of its own and counts what goes out in any
// tenth of a second.
func TestPace(t *testing.T) {
	for _, test := range []struct {
		commands         float64
		bytes            int64
		perBatch, bytes1 int
		want             int // commands in the second second
	}{
		{commands: 1000, perBatch: 10, bytes1: 50, want: 1000},
		{commands: 50, perBatch: 1, bytes1: 50, want: 50},
		{bytes: 100_000, perBatch: 7, bytes1: 50, want: 2000},
		{commands: 1000, bytes: 10_000, perBatch: 10, bytes1: 50, want: 200},
		{commands: 0.5, perBatch: 1, bytes1: 5, want: 1},
		{bytes: 1000, perBatch: 1, bytes1: 5000, want: 0}, // one command takes five seconds
	} {
		p := newPace(test.commands, test.bytes)
		start := time.Unix(1000, 0)
		now := start
		var tenths [30]int
		for {
			now = now.Add(p.reserve(now, test.perBatch, test.perBatch*test.bytes1))
			if now.Sub(start) >= 3*time.Second {
				break
			}
			tenths[int(now.Sub(start)/(100*time.Millisecond))] += test.perBatch
		}
		second := 0
		for i, n := range tenths[10:20] {
			second += n
			if limit := test.want/10 + test.perBatch + test.want/50 + 1; n > limit {
				t.Errorf("%+v: %d commands in tenth %d", test, n, i)
			}
		}
		if second < test.want-test.want/10-test.perBatch || second > test.want+test.perBatch {
			t.Errorf("%+v: %d commands in a second", test, second)
		}
	}
}

func TestRates(t *testing.T) {
	for _, rates := range []struct {
		commands float64
		bytes    int64
	}{{500, 0}, {0, 500 * 27}} {
		cfg := config(serve(t, like))
		cfg.Rate, cfg.ByteRate = rates.commands, rates.bytes
		rep, err := Run(context.Background(), script(strings.Repeat("SET a 1\n", 200)), cfg)
		if err != nil || rep.Duration < 350*time.Millisecond {
			t.Errorf("%s: %v after %v", fmt.Sprint(rates), err, rep.Duration)
		}
	}
}
