package loader

import (
	"context"
	"errors"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// TestExactlyOnceStallAfterInterrupt: an interrupt does not answer for the
// server. A stopped server is given up after one timeout, wherever the interrupt
// comes; a busy one still gets ten times the timeout.
func TestExactlyOnceStallAfterInterrupt(t *testing.T) {
	server := redistest.Start(t, "--lua-time-limit", "5")
	const timeout = 300 * time.Millisecond
	for _, test := range []struct {
		name      string
		stopped   bool
		interrupt time.Duration // after the transaction was sent
	}{
		{"stopped, interrupted before the probe", true, timeout / 2},
		{"stopped, interrupted while the probe waits", true, timeout + timeout/2},
		{"busy", false, timeout / 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			server.CLI("FLUSHALL")
			input := "SET a 1\nSET b 1"
			if !test.stopped {
				input = "SET a 1\nEVAL local~t=redis.call('TIME')[1]~repeat~until~redis.call('TIME')[1]-t>1 0"
			}
			cfg := once(server.Addr, input)
			cfg.Window, cfg.Timeout, cfg.ConnectTimeout = 1, timeout, timeout
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			src := script(input)
			src.spaces = true
			src.before = func(n int64) {
				if n != 2 {
					return
				}
				committed(t, cfg, 1)
				if test.stopped {
					server.Stop()
				}
				time.AfterFunc(test.interrupt, cancel)
			}
			defer server.Cont()
			began := time.Now()
			rep, err := Run(ctx, src, cfg)
			_, stalled := errors.AsType[*StallError](err)
			if took := time.Since(began); stalled != test.stopped || took > 6*timeout && test.stopped {
				t.Errorf("%v after %v, %+v", err, took, rep)
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the interrupt is missing: %v", err)
			}
			if !test.stopped && (rep.Unknown != 0 || rep.Acknowledged != 2) {
				t.Errorf("%+v", rep)
			}
		})
	}
}
