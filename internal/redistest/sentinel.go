package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinelMaster is the name under which sentinels know their master.
const sentinelMaster = "mymaster"

// SentinelGroup is a group of sentinels of one test, with the master that they
// watch and its replica. Its methods may be called in any goroutine: what goes
// wrong in them fails the test, but does not end it.
type SentinelGroup struct {
	t         testing.TB
	sentinels []*Server

	mu              sync.Mutex
	master, replica *Server
}

// StartSentinels starts a master and a replica as Start does, with these args,
// and n sentinels, quorum of which must agree that a master is gone, for half a
// second. It returns when they all know each other and the replica.
func StartSentinels(t testing.TB, n, quorum int, args ...string) *SentinelGroup {
	t.Helper()
	g := &SentinelGroup{t: t}
	args = append([]string{"--repl-diskless-sync-delay", "0"}, args...)
	g.master = Start(t, args...)
	g.replica = Start(t, append([]string{"--replicaof", "127.0.0.1 " + g.master.Port}, args...)...)
	if !await(func() bool { return g.replica.says("master_link_status:up") }) {
		t.Fatal("the replica does not get its master's data")
	}
	for range n {
		g.sentinels = append(g.sentinels, startSentinel(t, g.master, quorum))
	}
	g.publishEvery(100 * time.Millisecond)
	if !await(g.ready) {
		t.Fatal("the sentinels do not find each other and the replica")
	}
	g.publishEvery(time.Second)
	return g
}

// publishEvery says how often the sentinels tell each other what they know. If
// a replica says it is a master, and they hear of no failover four times as
// long, they make it a replica again: by default after 8 seconds.
func (g *SentinelGroup) publishEvery(period time.Duration) {
	for _, s := range g.sentinels {
		s.must(s.do("SENTINEL", "DEBUG", "publish-period", period.Milliseconds()))
	}
}

// startSentinel starts a sentinel that is less patient than is usual.
func startSentinel(t testing.TB, master *Server, quorum int) *Server {
	t.Helper()
	s := start(t, func(s *Server) []string {
		file := filepath.Join(s.dir, "sentinel.conf") // it must have one, and writes to it
		text := fmt.Sprintf(`port %s
bind 127.0.0.1
dir %s
logfile %s
sentinel monitor %[5]s 127.0.0.1 %[4]s %[6]d
sentinel down-after-milliseconds %[5]s 500
sentinel failover-timeout %[5]s 2000
`, s.Port, s.dir, filepath.Join(s.dir, "log"), master.Port, sentinelMaster, quorum)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{file, "--sentinel"}
	})
	// The period of pings is that of trying to connect, too, which must not take
	// half a second, and a fifth of the time for which it trusts what a replica
	// has said, which it asks every second.
	s.must(s.do("SENTINEL", "DEBUG", "ping-period", 250, "info-period", 200))
	return s
}

// ready tells whether every sentinel knows all others, and a replica that could
// take the master's place.
func (g *SentinelGroup) ready() bool {
	others := fmt.Sprint(len(g.sentinels) - 1)
	return g.all(func(s *Server) bool {
		master := redis.NewMapStringStringCmd(g.t.Context(), "SENTINEL", "MASTER", sentinelMaster)
		replicas := redis.NewMapStringStringSliceCmd(g.t.Context(), "SENTINEL", "REPLICAS", sentinelMaster)
		if s.Client().Process(g.t.Context(), master) != nil || s.Client().Process(g.t.Context(), replicas) != nil {
			return false
		}
		known := master.Val()
		return known["flags"] == "master" && known["num-other-sentinels"] == others &&
			slices.ContainsFunc(replicas.Val(), func(replica map[string]string) bool {
				return replica["flags"] == "slave" && replica["role-reported"] == "slave" && replica["master-link-status"] == "ok"
			})
	})
}

// name tells whether all sentinels that run name a server as the master.
func (g *SentinelGroup) name(master *Server) bool {
	return g.all(func(s *Server) bool {
		cmd := redis.NewStringSliceCmd(g.t.Context(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinelMaster)
		s.Client().Process(g.t.Context(), cmd)
		return slices.Equal(cmd.Val(), []string{"127.0.0.1", master.Port})
	})
}

// all tells whether something holds of all sentinels that run.
func (g *SentinelGroup) all(holds func(*Server) bool) bool {
	return !slices.ContainsFunc(g.sentinels, func(s *Server) bool { return s.Running() && !holds(s) })
}

// Name returns the name under which the sentinels know the master.
func (g *SentinelGroup) Name() string { return sentinelMaster }

// Sentinels returns the sentinels.
func (g *SentinelGroup) Sentinels() []*Server { return slices.Clone(g.sentinels) }

// Addrs returns the addresses of the sentinels.
func (g *SentinelGroup) Addrs() []string {
	var addrs []string
	for _, s := range g.sentinels {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// Master returns the master as it is after the last change.
func (g *SentinelGroup) Master() *Server {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.master
}

// Replica returns the other server. After Failover it is dead; started again, it
// becomes a replica within seconds.
func (g *SentinelGroup) Replica() *Server {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.replica
}

// Failover kills the master and returns the replica that has taken its place,
// when all sentinels name it, in about two seconds. What the replica was made to
// hold is lost, see Server.Hold.
func (g *SentinelGroup) Failover() (promoted *Server) {
	g.t.Helper()
	g.Master().Kill()
	g.Replica().mourn()
	return g.swap()
}

// SwitchOver has the sentinels make the replica the master and the master its
// replica, and returns the new master when all of them name it and the old one
// has its data. That takes some seconds, in which both say they are masters.
func (g *SentinelGroup) SwitchOver() (promoted *Server) {
	g.t.Helper()
	if !await(func() bool { return g.sentinels[0].do("SENTINEL", "FAILOVER", sentinelMaster) == nil }) {
		g.t.Error("the sentinels do not switch over")
	}
	promoted = g.swap()
	if !await(func() bool { return g.Replica().says("master_link_status:up") && g.ready() }) {
		g.t.Error("the old master does not become a replica")
	}
	return promoted
}

// swap waits until the replica is the master, to itself and to all sentinels.
func (g *SentinelGroup) swap() *Server {
	g.t.Helper()
	promoted := g.Replica()
	if !await(func() bool { return promoted.says("role:master") && g.name(promoted) }) {
		g.t.Errorf("the sentinels do not name %s", promoted.Port)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.master, g.replica = g.replica, g.master
	return promoted
}
