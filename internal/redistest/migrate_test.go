package redistest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestMigrateSlot(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 2, 0)
	keys := numbered("k", 3*keysAtOnce+1)
	slot := slotOf(t, c, keys[0])
	from := c.Owner(slot)
	to := c.AddMaster()
	set(t, from, keys...)

	done := make(chan error)
	go func() { done <- c.MigrateSlot(slot, from, to, 200*time.Millisecond) }()
	if !await(func() bool { err := from.do("GET", keys[0]); return err != nil || to.do("PING") != nil }) {
		t.Error("keys do not leave one by one")
	}
	if err := from.do("SET", "{k}:new", 1); err == nil || err.Error() != fmt.Sprintf("ASK %d %s", slot, to.Addr) {
		t.Errorf("while it moves: %v", err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := from.do("GET", keys[0]); err == nil || err.Error() != fmt.Sprintf("MOVED %d %s", slot, to.Addr) {
		t.Errorf("when it has moved: %v", err)
	}
	if n, err := to.Client().Exists(t.Context(), keys...).Result(); n != int64(len(keys)) || err != nil {
		t.Errorf("%d keys have moved: %v", n, err)
	}
	if c.Owner(slot) != to || len(c.Masters()) != 3 {
		t.Error("the new master is not there")
	}
	c.Settle()
}

func TestMigrateSlotRefused(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 2, 1)
	a, b := c.Masters()[0], c.Masters()[1]
	for _, tt := range []struct {
		slot     int
		from, to *Server
		err      string
	}{
		{0, b, a, "I'm already the owner of hash slot 0"},
		{0, c.Replicas()[0], b, "Target node is not a master"},
		{0, a, c.Replicas()[0], "only with masters"},
		{16384, a, b, "Invalid or out of range slot"},
		{16383, a, b, "I'm already the owner"},
	} {
		if err := c.MigrateSlot(tt.slot, tt.from, tt.to, 0); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("slot %d: %v, want %q", tt.slot, err, tt.err)
		}
	}
	a.Kill()
	if err := c.MigrateSlot(0, a, b, 0); err == nil {
		t.Error("a slot moves from a dead node")
	}
	if n, err := c.MigrateSlots(t.Context(), rand.New(rand.NewPCG(1, 1)), 0, 1); n != 0 || err == nil {
		t.Errorf("%d slots move from nowhere: %v", n, err)
	}
}

// TestMigrateSlotsUnderLoad counts on keys while their slots move, by a client
// that is known to follow.
func TestMigrateSlotsUnderLoad(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 3, 0)
	var keys []string
	var slots []int
	for i := range 8 {
		keys = append(keys, fmt.Sprint("k", i))
		slots = append(slots, slotOf(t, c, keys[i]))
	}
	ctx, cancel := context.WithCancel(t.Context())
	type result struct {
		moved int
		err   error
	}
	done := make(chan result)
	go func() {
		moved, err := c.MigrateSlots(ctx, rand.New(rand.NewPCG(1, 2)), time.Millisecond, slots...)
		done <- result{moved, err}
	}()
	client, rounds := clusterClient(t, c), 0
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); rounds++ {
		for _, key := range keys {
			if err := client.Incr(t.Context(), key).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel()
	got := <-done
	t.Logf("%d slots moved during %d rounds", got.moved, rounds)
	if got.err != nil || got.moved < 10 {
		t.Errorf("%d slots have moved: %v", got.moved, got.err)
	}
	for i, key := range keys {
		if got := c.Owner(slots[i]).CLI("GET", key); got != fmt.Sprint(rounds) {
			t.Errorf("%s is %s, want %d", key, got, rounds)
		}
	}
	c.Settle()
}
