// Package redistest starts real Redis servers for tests, as net/http/httptest
// starts web servers.
package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a redis-server process of one test.
type Server struct {
	Addr string // "127.0.0.1:port"
	Port string

	t       testing.TB
	dir     string
	command []string // how it is started
	client  func() *redis.Client

	mu      sync.Mutex // guards what another start changes
	process *os.Process
	ended   chan struct{} // closed when the process is gone
}

// Start starts a redis-server on a free loopback port, with nothing saved and
// a directory of its own, and waits until it answers. More options are given
// as on its command line. The server is killed when the test ends. A machine
// without redis-server fails the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, func(s *Server) []string { return s.options(args...) })
}

// start starts a redis-server as command says for its port and its directory.
func start(t testing.TB, command func(*Server) []string) *Server {
	t.Helper()
	binary, err := exec.LookPath(program())
	if err != nil {
		t.Fatal(program() + " is missing: run `make test` as root, or install the packages redis-server and redis-tools")
	}
	for range 5 { // another process may take the port before the server does
		s := &Server{Port: FreePort(t), t: t, dir: t.TempDir()}
		s.Addr = net.JoinHostPort("127.0.0.1", s.Port)
		s.client = sync.OnceValue(s.newClient)
		s.command = append([]string{binary}, command(s)...)
		if err = s.run(); err == nil {
			t.Cleanup(s.Kill)
			return s
		}
	}
	t.Fatalf("%s does not start: %v", program(), err)
	return nil
}

// program is what is started: redis-server, or what the environment names as
// REDIS_SERVER, such as valkey-server.
func program() string { return cmp.Or(os.Getenv("REDIS_SERVER"), "redis-server") }

// IsValkey tells whether the server is Valkey.
func (s *Server) IsValkey() bool { return hasLine(s.CLI("INFO", "server"), "valkey_version:") }

// options are those of every server, and then args.
func (s *Server) options(args ...string) []string {
	return append([]string{"--port", s.Port, "--bind", "127.0.0.1", "--dir", s.dir,
		"--logfile", filepath.Join(s.dir, "log"), "--save", "", "--appendonly", "no"}, args...)
}

// FreePort returns a loopback port on which nobody listens.
func FreePort(t testing.TB) string {
	t.Helper()
	return FreePorts(t, 1)[0]
}

// FreePorts returns n different loopback ports on which nobody listens.
func FreePorts(t testing.TB, n int) []string {
	t.Helper()
	ports := make([]string, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // all of them at the end, so that none comes twice
		_, ports[i], _ = net.SplitHostPort(l.Addr().String())
	}
	return ports
}

// Kill ends the server as a power cut would (SIGKILL), and waits for its end.
func (s *Server) Kill() {
	process, ended := s.life()
	process.Signal(syscall.SIGKILL) // one that is gone already is no fault
	<-ended
}

// Running tells whether the server's process is there, be it halted.
func (s *Server) Running() bool {
	_, ended := s.life()
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

// Restart starts a killed server again, in the same directory and on the same
// port, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.run(); err != nil {
		s.t.Fatalf("redis-server does not start again: %v", err)
	}
}

// Stop halts the server: its sockets stay open, and nothing answers (SIGSTOP).
func (s *Server) Stop() { s.signal(syscall.SIGSTOP) }

// Cont lets a halted server go on (SIGCONT).
func (s *Server) Cont() { s.signal(syscall.SIGCONT) }

// CLI runs redis-cli with the given arguments against the server and returns
// what it prints, without the last line end.
func (s *Server) CLI(args ...string) string {
	s.t.Helper()
	return s.Feed(nil, args...)
}

// Feed is CLI with a standard input.
func (s *Server) Feed(stdin io.Reader, args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // nodes that redirect to each other keep -c busy for ever
	defer cancel()
	cmd := exec.CommandContext(ctx, "redis-cli", append([]string{"-p", s.Port}, args...)...)
	cmd.Stdin = stdin
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("redis-cli %q: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (s *Server) run() error {
	cmd := exec.Command(s.command[0], s.command[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	s.mu.Lock()
	s.process, s.ended = cmd.Process, ended
	s.mu.Unlock()
	go func() {
		cmd.Wait()
		close(ended)
	}()
	if err := s.waitReady(); err != nil {
		s.Kill()
		said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("%w\n%s", err, said)
	}
	return nil
}

// waitReady waits until the server answers anything to a PING.
func (s *Server) waitReady() error {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !s.Running() {
			return errors.New("it ended at once")
		}
		if Answers(s.Addr) {
			return nil
		}
	}
	return errors.New("it does not answer")
}

// Answers tells whether a server at addr answers a PING, be it with an error.
func Answers(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err = conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

// life returns the server's process, and what is closed at its end.
func (s *Server) life() (*os.Process, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process, s.ended
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	process, _ := s.life()
	if err := process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
