package main

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"respipe/internal/redistest"
)

var windows = []string{"1", "10", "100", "1000", "10000", "max", "auto"}

// sweep is the same load with one window after the other.
type sweep struct {
	title string
	names []string // in order
	seen  map[string][]sight
	probe bool
}

// window sweeps on loopback, with a probe beside the load.
func (w *workbench) window(b *testing.B) {
	o := w.newObserver(b)
	o.probe = newProbe(b, o.server.Addr)
	s := &sweep{title: "Loopback", names: slices.Concat([]string{"idle", "redis-cli"}, windows), probe: true}
	s.run(func(name string) sight {
		if name == "idle" {
			return o.idle(b)
		}
		return o.watch(b, loadWith(name, o.server.Port)...)
	})
	w.sweeps = append(w.sweeps, s)
	s.report(b)
	w.atLeast(0.80, "×", "default window, rate beside the best fixed window", s.autoBesideBest())
	w.atMost(0.40, "×", "the same, p99 of a probe beside its p99 beside `redis-cli --pipe`", median(s.seen["auto"], p99Of)/median(s.seen["redis-cli"], p99Of))
}

// delay sweeps through long ways, without a probe.
func (w *workbench) delay(b *testing.B) {
	o := w.newObserver(b)
	o.warm *= 2
	o.span /= 2
	for _, trip := range []time.Duration{1200 * time.Microsecond, 20 * time.Millisecond} {
		way := redistest.NewDelay(b, o.server.Addr, trip/2)
		s := &sweep{title: fmt.Sprintf("Round trip of %v", trip), names: windows}
		s.run(func(name string) sight { return o.watch(b, loadWith(name, way.Port)...) })
		w.sweeps = append(w.sweeps, s)
		b.Run(trip.String(), s.report)
		w.atLeast(0.90, "×", fmt.Sprintf("default window at a round trip of %v, rate beside the best fixed window", trip), s.autoBesideBest())
	}
}

func loadWith(window, port string) []string {
	if window == "redis-cli" {
		return []string{"redis-cli", "--pipe", "-p", port}
	}
	return []string{"respipe", "--window", window, "-p", port}
}

func (s *sweep) run(see func(name string) sight) {
	s.seen = map[string][]sight{}
	for range rounds {
		for _, name := range s.names {
			s.seen[name] = append(s.seen[name], see(name))
		}
	}
}

// autoBesideBest returns the rate of the window that tunes itself, as a
// multiple of that of the best other one.
func (s *sweep) autoBesideBest() float64 {
	best := 0.0
	for _, name := range windows {
		if name != "auto" {
			best = max(best, median(s.seen[name], rateOf))
		}
	}
	return median(s.seen["auto"], rateOf) / best
}

func (s *sweep) report(b *testing.B) {
	for _, name := range s.names {
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(s.seen[name], rateOf), "cmds/s")
			if s.probe {
				b.ReportMetric(median(s.seen[name], p50Of), "p50-ms")
				b.ReportMetric(median(s.seen[name], p99Of), "p99-ms")
			}
		})
	}
}

// print writes the sweep as a table in Markdown.
func (s *sweep) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s:\n\n| window | commands/s | client CPU, µs a command |", s.title)
	rule := "\n| --- | --- | --- |"
	if s.probe {
		fmt.Fprint(out, " probe p50, ms | p99, ms |")
		rule += " --- | --- |"
	}
	fmt.Fprintln(out, rule)
	for _, name := range s.names {
		seen := s.seen[name]
		label := name
		if name == "auto" {
			label = fmt.Sprintf("auto (%d)", median(seen, windowOf))
		}
		fmt.Fprintf(out, "| %s | %.0f | %.2f |", label, median(seen, rateOf), median(seen, cpuOf))
		if s.probe {
			fmt.Fprintf(out, " %.2f | %.2f |", median(seen, p50Of), median(seen, p99Of))
		}
		fmt.Fprintln(out)
	}
}
