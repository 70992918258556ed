package loader

import (
	"context"
	"testing"

	"respipe/parser"
)

// BenchmarkRun loads into a sink that only counts and answers, over loopback.
func BenchmarkRun(b *testing.B) {
	for _, bench := range []struct {
		name   string
		window int
	}{{"max", 0}, {"1000", 1000}, {"100", 100}} {
		b.Run("window="+bench.name, func(b *testing.B) {
			src := repeated(int64(b.N), "SET", "key:000000123", "value-000123")
			src.command.Raw = parser.AppendCommand(nil, src.command.Args)
			cfg := config(sink(b, len(src.command.Raw)))
			cfg.Window = bench.window
			b.ReportAllocs()
			b.ResetTimer()
			if rep, err := Run(context.Background(), src, cfg); err != nil || rep.Replies != int64(b.N) {
				b.Fatal(err)
			}
		})
	}
}
