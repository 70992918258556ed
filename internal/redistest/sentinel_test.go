package redistest

import (
	"testing"
	"time"
)

func TestSentinels(t *testing.T) {
	t.Parallel()
	g := StartSentinels(t, 3, 2, "--databases", "3")
	count := func(want int64) {
		t.Helper()
		if got, err := g.Master().Client().Incr(t.Context(), "n").Result(); got != want || err != nil {
			t.Errorf("n is %d, want %d: %v", got, want, err)
		}
		synchronize(t, g.Master())
	}
	a, b := g.Master(), g.Replica()
	if got := a.CLI("CONFIG", "GET", "databases"); got != "databases\n3" || len(g.Addrs()) != 3 || len(g.Sentinels()) != 3 {
		t.Errorf("%q, %q", got, g.Addrs())
	}
	count(1)
	if got := g.SwitchOver(); got != b || g.Master() != b || g.Replica() != a {
		t.Fatal("no switch over")
	}
	count(2)
	began := time.Now()
	if got := g.Failover(); got != a || g.Master() != a || b.Running() {
		t.Fatal("no failover")
	}
	t.Logf("took %v", time.Since(began))
	b.Restart()
	if !await(func() bool { return b.says("master_link_status:up") }) {
		t.Error("the old master does not become a replica")
	}
	count(3)
	if got := b.CLI("GET", "n"); got != "3" {
		t.Errorf("n is %s at the replica", got)
	}
}

// TestSentinelFailoverLosesWhatWasHeld is TestFailoverLosesWhatWasHeld without
// a cluster, and with one sentinel.
func TestSentinelFailoverLosesWhatWasHeld(t *testing.T) {
	t.Parallel()
	g := StartSentinels(t, 1, 1)
	master := g.Master()
	set(t, master, "kept")
	synchronize(t, master)
	g.Replica().Hold()
	set(t, master, "lost")
	promoted := g.Failover()
	if got := promoted.CLI("--no-raw", "KEYS", "*"); got != `1) "kept"` {
		t.Errorf("the keys are %s", got)
	}
	set(t, promoted, "lost")
}

// TestSentinelsTakeHaltedMasterForDead has two of three agree, and the third
// one dead.
func TestSentinelsTakeHaltedMasterForDead(t *testing.T) {
	t.Parallel()
	g := StartSentinels(t, 3, 2)
	g.Sentinels()[2].Kill()
	master, replica := g.Master(), g.Replica()
	master.Stop()
	if g.swap() != replica {
		t.Error("another server than the replica is named")
	}
	master.Cont()
	if !await(func() bool { return master.says("master_link_status:up") }) {
		t.Error("the old master does not become a replica")
	}
}
