package loader

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"respipe/loader/window"
)

// Windows that are no number of commands.
const (
	WindowMax  = window.Max  // the bytes alone are bounded
	WindowAuto = window.Auto // the load finds the smallest window that keeps the server busy
)

// newLatencies returns a histogram of latencies in microseconds.
func newLatencies() *hdrhistogram.Histogram { return hdrhistogram.New(1, time.Hour.Microseconds(), 2) }

// latencyAt returns the latency that so many per cent were not above.
func latencyAt(latencies *hdrhistogram.Histogram, percent float64) time.Duration {
	return time.Duration(latencies.ValueAtQuantile(percent)) * time.Microsecond
}
