package loader

import (
	"context"
	"fmt"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// TestExactlyOnceCutAtTheStart cuts a connection behind each byte of what is
// sent on it first, until the position is read and claimed: with WaitReady that
// is no more than a server that is not ready yet. Without it the load ends
// before anything was sent, or, once the position is claimed, goes on. A
// transaction that ran without an answer is unconfirmed.
func TestExactlyOnceCutAtTheStart(t *testing.T) {
	server := redistest.Start(t)
	const input = "INCR n\nINCR n"
	for _, wait := range []time.Duration{10 * time.Second, 0} {
		for at := int64(1); at < 500; at += 6 {
			t.Run(fmt.Sprint(wait, " ", at), func(t *testing.T) {
				server.CLI("FLUSHALL")
				proxy := redistest.NewProxy(t, server.Addr, func(n int) redistest.Fault {
					return redistest.Fault{CutRequests: []int64{at, 0}[min(n, 1)], Reset: at%4 == 1}
				})
				cfg := once(proxy.Addr, input)
				cfg.WaitReady = wait
				rep, err := Run(context.Background(), script(input), cfg)
				switch got := server.CLI("GET", "n"); {
				case err == nil && rep.Acknowledged+rep.Unconfirmed.Records == 2 && rep.Unknown == rep.Unconfirmed.Records && got == "2":
				case wait == 0 && err != nil && rep.Sent == 0 && got == "":
				default:
					t.Errorf("%v, n is %q, %+v", err, got, rep)
				}
				proxy = redistest.NewProxy(t, server.Addr, func(n int) redistest.Fault {
					return redistest.Fault{CutRequests: []int64{at, 0}[min(n, 1)]}
				})
				cfg = once(proxy.Addr, input)
				cfg.WaitReady = wait
				if p, err := ReadPosition(t.Context(), cfg, "load"); wait > 0 && (err != nil || !p.Done) {
					t.Errorf("%v, position %+v", err, p)
				}
			})
		}
	}
}
