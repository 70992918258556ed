package window

import (
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
		p := NewPace(test.commands, test.bytes)
		now := time.Duration(0)
		var tenths [30]int
		for {
			now += p.Reserve(now, test.perBatch, test.perBatch*test.bytes1)
			if now >= 3*time.Second {
				break
			}
			tenths[int(now/(100*time.Millisecond))] += test.perBatch
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

func TestNoPace(t *testing.T) {
	p := NewPace(0, 0)
	if p != nil || p.Most(7) != 7 || p.MostBytes(7) != 7 || p.Reserve(0, 1000, 1000) != 0 {
		t.Errorf("%+v limits a load without a rate", p)
	}
}
