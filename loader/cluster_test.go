package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"respipe/internal/redistest"
	"respipe/parser"
)

const clusterLines = 200_000

// clusterConfig is one for a load that lasts about so many seconds.
func clusterConfig(c *redistest.Cluster, seconds int) Config {
	cfg := resuming("")
	cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	cfg.Addrs = []string{c.Masters()[1].Addr}
	cfg.Rate = float64(clusterLines / seconds)
	cfg.Window = WindowAuto
	return cfg
}

// writer makes lines of commands for keys that come up in groups, forty times
// each, so that some have their last value early and others late; it knows what
// each key holds in the end, and which line gave it that.
type writer struct {
	text []string
	want map[string]string
	last map[string]int // line of the last command
}

// key returns the key of a line.
func (w *writer) key(line int) string { return fmt.Sprintf("k%d", line/400*10+line%10) }

func (w *writer) add(text string, key, value string) {
	w.text = append(w.text, text)
	w.want[key], w.last[key] = value, len(w.text)
}

// overwriting writes lines that can be repeated.
func overwriting() *writer {
	w := &writer{want: map[string]string{}, last: map[string]int{}}
	for len(w.text) < clusterLines {
		key, value := w.key(len(w.text)), strconv.Itoa(len(w.text))
		w.add("SET "+key+" "+value, key, value)
	}
	return w
}

// appending writes lines that must run once and in order, some of them in
// blocks and some with keys of several slots.
func appending() *writer {
	w := &writer{want: map[string]string{}, last: map[string]int{}}
	for len(w.text) < clusterLines-4 {
		n := len(w.text)
		key, value := w.key(n), strconv.Itoa(n)
		switch n % 97 {
		case 13:
			w.text = append(w.text, "MULTI", "PING")
			w.add("APPEND "+key+" ,"+value, key, w.want[key]+","+value)
			w.text = append(w.text, "EXEC")
		case 31:
			other := w.key(n + 7)
			w.add("MSET "+key+" "+value+" "+other+" "+value, key, value)
			w.want[other], w.last[other] = value, len(w.text)
		default:
			w.add("APPEND "+key+" ,"+value, key, w.want[key]+","+value)
		}
	}
	return w
}

// wrong returns the keys of a cluster that do not hold what they should.
func (w *writer) wrong(t *testing.T, c *redistest.Cluster) (keys []string) {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{c.Owner(0).Addr}, DisableRoutingPolicies: true})
	defer client.Close()
	var names []string
	for key := range w.want {
		names = append(names, key)
	}
	for some := range slices.Chunk(names, 1000) {
		pipe := client.Pipeline()
		replies := make([]*redis.StringCmd, len(some))
		for i, key := range some {
			replies[i] = pipe.Get(t.Context(), key)
		}
		pipe.Exec(t.Context())
		for i, key := range some {
			got, err := replies[i].Result()
			if err != nil && err != redis.Nil {
				t.Fatal(err)
			}
			if got != w.want[key] {
				if len(keys) == 0 {
					t.Logf("%s holds\n%s, not\n%s", key, got, w.want[key])
				}
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func (w *writer) load(t *testing.T, cfg Config) *Report {
	t.Helper()
	rep, err := Run(t.Context(), script(strings.Join(w.text, "\n")), cfg)
	if err != nil {
		t.Fatalf("%v\n%+v", err, rep)
	}
	all := int64(len(w.text))
	if rep.Errors != 0 || rep.Replies != all || rep.Acknowledged != all || rep.Unknown+rep.NotSent != 0 {
		t.Errorf("%d errors, %d replies, %d acknowledged, %d unknown, %d not sent of %d, %v", rep.Errors, rep.Replies, rep.Acknowledged, rep.Unknown, rep.NotSent, all, kindTexts(rep))
	}
	return rep
}

func kindTexts(rep *Report) (texts []string) {
	for _, k := range rep.Kinds {
		texts = append(texts, fmt.Sprint(k.Count, " ", k.Text, " ", k.First))
	}
	return texts
}

// While slots move to and fro, and to a node that is added, every command runs
// once and in order.
func TestClusterWhileSlotsMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 3)
	w := appending()
	var slots []int
	for line := range clusterLines {
		if line%4000 < 10 {
			slots = append(slots, parser.Slot([]byte(w.key(line))))
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	moved := make(chan int, 1)
	go func() {
		n := 0
		began, added := time.Now(), false
		for ; ctx.Err() == nil; n++ { // no slot moves back while a command is under way
			if !added && time.Since(began) > time.Second {
				added = true
				cluster.AddMaster()
			}
			slot, masters := slots[n%len(slots)], cluster.Masters()
			from, to := cluster.Owner(slot), masters[(n/len(slots)+n)%len(masters)]
			if from == to {
				continue
			}
			if err := cluster.MigrateSlot(slot, from, to, 2*time.Millisecond); err != nil {
				t.Error(err)
			}
		}
		moved <- n
	}()
	rep := w.load(t, clusterConfig(cluster, 8))
	stop()
	if n := <-moved; n < 20 {
		t.Errorf("only %d slots have moved", n)
	}
	cluster.Settle()
	if keys := w.wrong(t, cluster); len(keys) > 0 {
		t.Errorf("%d keys are wrong, as %s, of line %d", len(keys), keys[0], w.last[keys[0]])
	}
	if len(rep.Nodes) != 4 || rep.Split == 0 {
		t.Errorf("%d nodes were loaded, %d commands split", len(rep.Nodes), rep.Split)
	}
}

// failover loads w while the master of a slot is killed, whose replica has been
// behind for a second.
func failover(t *testing.T, w *writer, cfg func(*redistest.Cluster) Config) (*redistest.Cluster, *redistest.Server, *Report) {
	cluster := redistest.StartCluster(t, 3, 3)
	victim := cluster.Owner(parser.Slot([]byte("k0")))
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(time.Second)
		cluster.ReplicaOf(victim).Hold()
		time.Sleep(time.Second)
		cluster.Failover(victim)
	}()
	rep := w.load(t, cfg(cluster))
	<-done
	cluster.Settle()
	return cluster, victim, rep
}

// What a replica lacked that took its master's place is inside the part of the
// input that the report names.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	w := overwriting()
	cluster, victim, rep := failover(t, w, func(c *redistest.Cluster) Config { return clusterConfig(c, 5) })
	if len(rep.AtRisk) != 1 || rep.AtRisk[0].Addr != victim.Addr {
		t.Fatalf("at risk: %+v", rep.AtRisk)
	}
	risk := rep.AtRisk[0]
	wrong := w.wrong(t, cluster)
	for _, key := range wrong {
		if line := w.last[key]; line < risk.First.Line || line > risk.Last.Line {
			t.Errorf("%s of line %d is wrong, and only lines %d to %d are said to be at risk", key, line, risk.First.Line, risk.Last.Line)
		}
	}
	if len(wrong) == 0 {
		t.Error("the replica lacked nothing: this proves nothing")
	}
	t.Logf("%d keys are wrong; at risk %+v", len(wrong), risk)
}

// With WaitReplicas what the replica lacked is sent again.
func TestClusterFailoverWithWaitReplicas(t *testing.T) {
	t.Parallel()
	w := overwriting()
	cluster, _, rep := failover(t, w, func(c *redistest.Cluster) Config {
		cfg := clusterConfig(c, 5)
		cfg.WaitReplicas = 1
		return cfg
	})
	if len(rep.AtRisk) != 0 {
		t.Errorf("at risk: %+v", rep.AtRisk)
	}
	if keys := w.wrong(t, cluster); len(keys) > 0 {
		t.Errorf("%d keys are wrong, as %s, of line %d", len(keys), keys[0], w.last[keys[0]])
	}
}

// What has run and cannot run twice stops a load whose master is gone; the
// report tells it from what has not.
func TestClusterFailoverOfWhatCannotRunTwice(t *testing.T) {
	t.Parallel()
	input := script(strings.Join(appending().text, "\n"))
	cluster := redistest.StartCluster(t, 3, 3)
	victim := cluster.Owner(parser.Slot([]byte("k0")))
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(time.Second)
		victim.Stop() // commands are on their way and will not be answered
		time.Sleep(100 * time.Millisecond)
		cluster.Failover(victim)
	}()
	rep, err := Run(t.Context(), input, clusterConfig(cluster, 5))
	<-done
	lost, ok := errors.AsType[*LostError](err)
	if !ok || !strings.Contains(lost.Why, "cannot run twice without harm") || rep.Unknown == 0 {
		t.Fatalf("%v, %+v", err, rep)
	}
	if sum := rep.Acknowledged + rep.Refused + rep.Unknown + rep.NotSent; sum != rep.Records {
		t.Errorf("%d acknowledged, %d refused, %d unknown, %d not sent of %d", rep.Acknowledged, rep.Refused, rep.Unknown, rep.NotSent, rep.Records)
	}
	if rep.Position.N > int64(rep.FirstLost.Line) {
		t.Errorf("the load goes on from %d, and %v is unknown", rep.Position.N, rep.FirstLost)
	}
}

// A cluster with passwords is asked for its nodes with them.
func TestClusterWithPassword(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	for _, s := range cluster.Masters() {
		s.CLI("ACL", "SETUSER", "loader", "on", ">secret", "~*", "+@all")
		s.CLI("ACL", "SETUSER", "default", "-@all", "+cluster", "+ping", "+info")
	}
	cfg := clusterConfig(cluster, 1)
	cfg.User, cfg.Pass = "loader", "secret"
	rep, err := Run(t.Context(), script("SET a 1\nSET b 1\nSET c 1"), cfg)
	if err != nil || rep.Errors != 0 || rep.Replies != 3 || len(rep.Nodes) != 2 {
		t.Errorf("%v, %+v", err, rep)
	}
}

// Where the keys of a command stand that the table does not have, the server
// tells; only then two connections can keep its order.
func TestKeysOfUnknownCommandsAreAskedFor(t *testing.T) {
	var asked atomic.Int32
	var order sync.Map // by key: what was stored last
	cfg := config(serve(t, func(args []string) []byte {
		switch args[0] {
		case "COMMAND":
			asked.Add(1)
			return []byte("*1\r\n*6\r\n$7\r\nmod.set\r\n:3\r\n*0\r\n:1\r\n:1\r\n:1\r\n")
		case "MOD.SET":
			order.Store(args[1], args[2])
		}
		return []byte("+OK\r\n")
	}))
	cfg.Connections = 3
	var text []string
	for i := range 300 {
		text = append(text, fmt.Sprint("MOD.SET k", i%7, " ", i))
	}
	rep, err := Run(context.Background(), script(strings.Join(text, "\n")), cfg)
	if err != nil || rep.Acknowledged != 300 || asked.Load() != 1 {
		t.Errorf("%v, asked %d times, %+v", err, asked.Load(), rep)
	}
	for i := 293; i < 300; i++ {
		if got, _ := order.Load(fmt.Sprint("k", i%7)); got != strconv.Itoa(i) {
			t.Errorf("k%d holds %v, not %d", i%7, got, i)
		}
	}
}

// A slot that no master has refuses its own commands and no others.
func TestClusterSlotWithoutMaster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	slot := strconv.Itoa(parser.Slot([]byte("foo")))
	for _, m := range cluster.Masters() {
		m.CLI("CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := false
		for _, m := range cluster.Masters() { // each may tell the others of it once more
			left = left || strings.HasPrefix(m.CLI("CLUSTER", "DELSLOTS", slot), "OK")
		}
		if !left {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the slot comes back")
		}
	}
	cfg := clusterConfig(cluster, 8)
	cfg.RetryFor = 200 * time.Millisecond
	rep, err := Run(t.Context(), script("SET foo 1\nSET a 1\nSET b 1\nSET foo 2"), cfg)
	if err != nil || rep.Errors != 2 || rep.Acknowledged != 2 || len(rep.Kinds) != 1 || !strings.HasPrefix(rep.Kinds[0].Text, "CLUSTERDOWN") {
		t.Errorf("%v, %+v, %v", err, rep, kindTexts(rep))
	}
}

// TestClusterBlocksThroughLostConnections is TestBlocksThroughLostConnections
// while slots move, so that a block may have to go to another node than the one
// on which it began.
func TestClusterBlocksThroughLostConnections(t *testing.T) {
	c := redistest.StartCluster(t, 3, 0)
	const blocks, keys = 4000, 60
	var text strings.Builder
	slots := map[int]bool{}
	for i := range blocks {
		fmt.Fprintf(&text, "MULTI\nSET k%[1]d %[2]d\nPING\nSET {k%[1]d}2 %[2]d\nEXEC\nSET lone%[1]d %[2]d\n", i%keys, i)
		slots[parser.Slot([]byte(fmt.Sprint("k", i%keys)))] = true
	}
	for _, connections := range []int{1, 2} {
		cfg := clusterConfig(c, 20)
		cfg.Connections, cfg.Window, cfg.Rate, cfg.RetryFor = connections, 100, 4000, 20*time.Second
		rng := rand.New(rand.NewPCG(uint64(connections), 1))
		var mu sync.Mutex
		proxies := map[string]*redistest.Proxy{}
		cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			mu.Lock()
			p := proxies[addr]
			if p == nil {
				p = redistest.NewProxy(t, addr, func(int) redistest.Fault {
					mu.Lock()
					defer mu.Unlock()
					return redistest.Fault{CutReplies: int64(6000 + rng.IntN(20000)), GoOn: rng.IntN(2) == 0, Reset: rng.IntN(2) == 0}
				})
				proxies[addr] = p
			}
			mu.Unlock()
			return new(net.Dialer).DialContext(ctx, "tcp", p.Addr)
		}
		ctx, cancel := context.WithCancel(t.Context())
		moved := make(chan error)
		go func() {
			_, err := c.MigrateSlots(ctx, rand.New(rand.NewPCG(1, 2)), 5*time.Millisecond, slices.Collect(maps.Keys(slots))...)
			moved <- err
		}()
		rep, err := Run(t.Context(), script(text.String()), cfg)
		cancel()
		if err := <-moved; err != nil {
			t.Error(err)
		}
		if err != nil || rep.Errors > 0 || rep.Replies != 6*blocks || rep.Reconnects == 0 {
			t.Errorf("%d connections: %v, %+v", connections, err, rep)
		}
		t.Logf("%d connections made again", rep.Reconnects)
		for i := blocks - keys; i < blocks; i++ {
			for _, key := range []string{"k%d", "{k%d}2", "lone%d"} {
				if key = fmt.Sprintf(key, i%keys); c.CLI("GET", key) != strconv.Itoa(i) {
					t.Errorf("%d connections: %s is %s, want %d", connections, key, c.CLI("GET", key), i)
				}
			}
		}
	}
}
