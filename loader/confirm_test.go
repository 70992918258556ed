package loader

import (
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
		replica.Hold()
		go func() {
			defer close(struck)
			time.Sleep(300 * time.Millisecond)
			if away {
				master.CLI("CLIENT", "KILL", "TYPE", "replica")
			}
			master.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			time.Sleep(100 * time.Millisecond)
			replica.Release()
		}()
		rep, err := Run(t.Context(), script(sets(1000)), cfg)
		<-struck
		if err != nil || rep.Acknowledged != 1000 || rep.Reconnects == 0 {
			t.Errorf("replica away %v: %v, %+v", away, err, rep)
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
