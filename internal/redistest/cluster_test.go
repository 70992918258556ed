package redistest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterClient returns a client of the whole cluster, which follows MOVED and
// ASK as often as it takes.
func clusterClient(t *testing.T, c *Cluster) *redis.ClusterClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{c.Masters()[0].Addr}, MaxRedirects: 1000, DisableRoutingPolicies: true, // which do not follow
	})
	t.Cleanup(func() { client.Close() })
	return client
}

// set sets keys one by one, each of them acknowledged.
func set(t *testing.T, s *Server, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if err := s.do("SET", key, key); err != nil {
			t.Fatalf("SET %s: %v", key, err)
		}
	}
}

// synchronize waits until the replica of a master has all that it has. WAIT is
// for what its own connection has written, hence the PUBLISH.
func synchronize(t *testing.T, master *Server) {
	t.Helper()
	pipe := master.Client().Pipeline()
	pipe.Publish(t.Context(), "any", "")
	n := pipe.Do(t.Context(), "WAIT", 1, patience.Milliseconds())
	if _, err := pipe.Exec(t.Context()); n.Val() != int64(1) || err != nil {
		t.Fatalf("WAIT: %v, %v", n.Val(), err)
	}
}

// numbered returns n keys of one slot.
func numbered(name string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("{%s}:%d", name, i))
	}
	return keys
}

// slotOf returns the slot of a key, as a node says.
func slotOf(t *testing.T, c *Cluster, key string) int {
	t.Helper()
	slot, err := c.Masters()[0].Client().ClusterKeySlot(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return int(slot)
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 3, 4, "--databases", "1")
	masters, replicas := c.Masters(), c.Replicas()
	if len(masters) != 3 || len(replicas) != 4 {
		t.Fatalf("%d masters, %d replicas", len(masters), len(replicas))
	}
	for slot, want := range map[int]int{0: 0, 5460: 0, 5461: 1, 10921: 1, 10922: 2, 16383: 2} {
		if c.Owner(slot) != masters[want] {
			t.Errorf("slot %d is not with master %d", slot, want)
		}
	}
	if c.Owner(16384) != nil {
		t.Error("somebody has slot 16384")
	}
	for i, s := range replicas {
		if i < 3 && c.ReplicaOf(masters[i]) == nil || c.ReplicaOf(s) != nil || !s.says("master_port:"+masters[i%3].Port) {
			t.Errorf("replica %d is not that of master %d", i, i%3)
		}
	}
	for i := range 20 {
		key := fmt.Sprint("k", i)
		if got := c.CLI("SET", key, "v"); got != "OK" {
			t.Errorf("SET %s: %s", key, got)
		}
		if got := c.Owner(slotOf(t, c, key)).CLI("GET", key); got != "v" {
			t.Errorf("%s is %q at its owner", key, got)
		}
	}
	if got := masters[0].CLI("CONFIG", "GET", "databases"); got != "databases\n1" {
		t.Errorf("the option did not arrive: %q", got)
	}
}

// TestClustersStandApart has two of them side by side, without replicas.
func TestClustersStandApart(t *testing.T) {
	t.Parallel()
	a, b := StartCluster(t, 2, 0), StartCluster(t, 1, 0)
	a.CLI("SET", "k", "of a")
	if got := b.CLI("--no-raw", "GET", "k"); got != "(nil)" {
		t.Errorf("b holds %s", got)
	}
	if a.ReplicaOf(a.Masters()[0]) != nil {
		t.Error("a replica from nowhere")
	}
}

func TestFailover(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 3, 3)
	master := c.Owner(slotOf(t, c, "k"))
	replica := c.ReplicaOf(master)
	c.CLI("SET", "k", "1")
	synchronize(t, master)
	began := time.Now()
	if got := c.Failover(master); got != replica || c.Owner(slotOf(t, c, "k")) != replica {
		t.Fatal("its replica has not taken over")
	}
	t.Logf("took %v", time.Since(began))
	if got := c.CLI("INCR", "k"); got != "2" {
		t.Errorf("INCR: %s", got)
	}
	master.Restart()
	c.Settle()
	if c.ReplicaOf(replica) != master {
		t.Error("the old master is not the new one's replica")
	}
	synchronize(t, replica)
	if got := c.Failover(replica); got != master {
		t.Error("it does not go back")
	}
	if got := c.CLI("INCR", "k"); got != "3" {
		t.Errorf("INCR: %s", got)
	}
}

// TestFailoverLosesWhatWasHeld proves that a replica that was held lacks all
// that its master has acknowledged meanwhile, and nothing else.
func TestFailoverLosesWhatWasHeld(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 3, 3)
	kept, lost := numbered("k", 2000), numbered("k", 4000)[2000:]
	master := c.Owner(slotOf(t, c, kept[0]))
	set(t, master, kept...)
	synchronize(t, master)
	c.ReplicaOf(master).Hold()
	set(t, master, lost...)
	if n, err := master.Client().Wait(t.Context(), 1, 100*time.Millisecond).Result(); n != 0 || err != nil {
		t.Errorf("WAIT on a replica that is held: %d, %v", n, err)
	}
	promoted := c.Failover(master)
	if promoted == nil {
		return
	}
	if n, err := promoted.Client().Exists(t.Context(), kept...).Result(); n != int64(len(kept)) || err != nil {
		t.Errorf("%d of %d keys are there: %v", n, len(kept), err)
	}
	if n, err := promoted.Client().Exists(t.Context(), lost...).Result(); n != 0 || err != nil {
		t.Errorf("%d keys are there that were held: %v", n, err)
	}
	set(t, promoted, lost...) // it goes on
}

// TestHeldReplicaCatchesUp holds that a slow replica is only that.
func TestHeldReplicaCatchesUp(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 1, 1)
	master, replica := c.Masters()[0], c.Replicas()[0]
	replica.Hold()
	set(t, master, "a", "b")
	if !master.says("connected_slaves:1") {
		t.Error("the master has no replica")
	}
	replica.Release()
	synchronize(t, master)
	if n, err := replica.Client().DBSize(t.Context()).Result(); n != 2 || err != nil {
		t.Errorf("%d keys: %v", n, err)
	}
}

// watched keeps what a Cluster says to its test, to test that.
type watched struct {
	testing.TB
	said []string
}

func (w *watched) Error(args ...any) { w.said = append(w.said, fmt.Sprint(args...)) }
func (w *watched) Errorf(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func TestClusterSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 2, 0)
	if _, err := c.view(); err != nil || c.agreed() != nil {
		t.Fatalf("%v, %v", err, c.agreed())
	}
	c.Masters()[1].Kill()
	if err := c.ready(); err == nil || !strings.Contains(err.Error(), "8192 slots are with masters that run") {
		t.Errorf("half a cluster is ready: %v", err)
	}
	c.Masters()[0].Kill()
	w := &watched{TB: t}
	c.t = w
	if c.Owner(1) != nil || c.ReplicaOf(c.Masters()[0]) != nil || len(w.said) != 2 || !strings.Contains(w.said[0], "no master of the cluster runs") {
		t.Errorf("of a dead cluster: %q", w.said)
	}
	if err := errors.Join(c.ready(), c.agreed()); err != nil {
		t.Errorf("nobody disagrees, but %v", err)
	}
}
