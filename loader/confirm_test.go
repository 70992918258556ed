package loader

import (
	"cmp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// A connection that is lost while a WAIT is under way takes that with it: what
// waits for replicas is asked for anew, also where the replica was away for a
// while.
func TestLostConnectionWhileReplicasAreWaitedFor(t *testing.T) {
	t.Parallel()
	group := redistest.StartSentinels(t, 1, 1)
	master, replica := group.Master(), group.Replica()
	for _, away := range []bool{false, true} {
		cfg := resuming(master.Addr)
		cfg.WaitReplicas, cfg.Window, cfg.WindowBytes = 1, 10, 4096
		struck := make(chan struct{})
		var released atomic.Bool
		released.Store(away) // it may get all of it by a new synchronization
		cfg.OnSettled = func(b Completed) error {
			for i := range b.Len() {
				if b.Acknowledged(i) && !released.Load() {
					t.Errorf("command %d is settled before the replica has it", b.N(i))
				}
			}
			return nil
		}
		begun := make(chan struct{})
		cfg.OnConnect = func(*Server) { close(begun) }
		replica.Hold()
		go func() {
			defer close(struck)
			<-begun
			time.Sleep(300 * time.Millisecond)
			if away {
				master.CLI("CLIENT", "KILL", "TYPE", "replica")
			}
			master.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			time.Sleep(500 * time.Millisecond)
			released.Store(true)
			replica.Release()
		}()
		rep, err := Run(t.Context(), script(sets(1000)), cfg)
		<-struck
		if err != nil || rep.Acknowledged != 1000 || rep.Reconnects == 0 {
			t.Errorf("replica away %v: %v, %+v", away, err, rep)
		}
	}
}

// TestWaitOnANewConnection has a server that counts in WAIT what its connection
// has written, as it is from Redis 7.2 on: what was answered before the
// connection was lost is not confirmed by a WAIT with nothing before it.
func TestWaitOnANewConnection(t *testing.T) {
	for _, refusal := range []string{"", "-NOPERM no PUBLISH\r\n"} {
		var wrote atomic.Bool
		var waits atomic.Int32
		cfg := config(serve(t, func(args []string) []byte {
			switch args[0] {
			case "WAIT":
				if waits.Add(1) == 1 {
					wrote.Store(false)
					return nil // it hangs up
				}
				if !wrote.Load() && refusal == "" {
					t.Error("WAIT without a write before it")
				}
				return []byte(":1\r\n")
			case "PUBLISH":
				if waits.Load() == 0 {
					t.Error("PUBLISH on the first connection")
				}
				wrote.Store(true)
				return []byte(cmp.Or(refusal, ":0\r\n"))
			case "CLIENT":
				return []byte(":1\r\n")
			}
			wrote.Store(true)
			return []byte("+OK\r\n")
		}))
		cfg.OnDisconnect, cfg.RetryFor, cfg.WaitReplicas = Resume, time.Second, 1
		rep, err := Run(t.Context(), script("INCR a"), cfg)
		if refusal == "" && (err != nil || rep.Acknowledged != 1) || refusal != "" && (err == nil || !strings.Contains(err.Error(), "NOPERM no PUBLISH")) {
			t.Errorf("%v, %+v", err, rep)
		}
	}
}

// A server that has too few replicas at the start is not loaded, and nothing is
// said of going on without them.
func TestTooFewReplicasAtTheStart(t *testing.T) {
	cfg := resuming(redistest.Start(t).Addr)
	cfg.WaitReplicas = 1
	cfg.OnNote = func(text string) { t.Errorf("noted: %s", text) }
	rep, err := Run(t.Context(), script("SET a 1"), cfg)
	if err == nil || rep.Server != nil || rep.Replies > 0 {
		t.Errorf("%v, %+v", err, rep)
	}
}
