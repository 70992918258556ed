package loader

import (
	"fmt"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// TestCutAtTheStart cuts each of the first connections behind each byte of what
// is sent on it before the load begins: with WaitReady that is no more than a
// server that is not ready yet.
func TestCutAtTheStart(t *testing.T) {
	server := redistest.Start(t)
	for _, connections := range []int{1, 3} {
		for cut := range connections {
			for at := int64(1); at < 120; at += 3 {
				t.Run(fmt.Sprint(connections, " ", cut, " ", at), func(t *testing.T) {
					server.CLI("FLUSHALL")
					proxy := redistest.NewProxy(t, server.Addr, func(n int) redistest.Fault {
						if n != cut {
							return redistest.Fault{}
						}
						return redistest.Fault{CutRequests: at, Reset: at%2 == 0}
					})
					cfg := resuming(proxy.Addr)
					cfg.Connections, cfg.WaitReady = connections, 10*time.Second
					cfg.Earlier = Earlier{Next: 2, DB: 7} // which is selected before the load begins
					src := script("SET a 1\nSET b 2")
					src.n = 1
					rep, err := Run(t.Context(), src, cfg)
					if got := server.CLI("-n", "7", "DBSIZE"); err != nil || rep.Acknowledged != 2 || got != "2" {
						t.Errorf("%v, %s keys, %+v", err, got, rep)
					}
				})
			}
		}
	}
}
