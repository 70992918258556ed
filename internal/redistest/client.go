package redistest

import (
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Client returns a client of the server, always the same one, for what a
// process of redis-cli would be too slow for. It logs in as nobody, tries
// nothing again, and is closed when the test ends.
func (s *Server) Client() *redis.Client { return s.client() }

func (s *Server) newClient() *redis.Client {
	client := redis.NewClient(&redis.Options{
		Addr: s.Addr, Protocol: 2, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		DialTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	s.t.Cleanup(func() { client.Close() })
	return client
}

// Hold lets a replica fall behind: it takes what its master sends and executes
// nothing of it, until Release. To the master it looks like a slow replica, and
// if the master dies meanwhile, what it holds is lost.
func (s *Server) Hold() {
	s.t.Helper()
	s.must(s.do("CLIENT", "PAUSE", time.Hour.Milliseconds(), "WRITE"))
}

// Release lets a replica that was held catch up.
func (s *Server) Release() {
	s.t.Helper()
	s.must(s.do("CLIENT", "UNPAUSE"))
}

// mourn waits until a replica has noticed that its master is gone, and with it
// what was held, and lets it go on.
func (s *Server) mourn() {
	s.t.Helper()
	if !await(func() bool { return s.says("role:master") || s.says("master_link_status:down") }) {
		s.t.Errorf("replica %s does not notice the end of its master", s.Port)
	}
	s.Release()
}

// says tells whether the server's INFO about replication has a line.
func (s *Server) says(line string) bool {
	info, err := s.Client().Info(s.t.Context(), "replication").Result()
	return err == nil && hasLine(info, line)
}

// hasLine tells whether one of the lines of an INFO begins so.
func hasLine(info, line string) bool { return strings.Contains("\n"+info, "\n"+line) }

// do sends one command and returns its error.
func (s *Server) do(args ...any) error {
	return s.Client().Do(s.t.Context(), args...).Err()
}

// must fails the test, in any goroutine, if there is an error.
func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Errorf("server %s: %v", s.Port, err)
	}
}

// patience is how long a test waits for what servers do by themselves.
const patience = 30 * time.Second

// await polls until done says so; false if it does not in time.
func await(done func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return false
}
