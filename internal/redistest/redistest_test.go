package redistest

import (
	"testing"
	"time"
)

func TestServer(t *testing.T) {
	s := Start(t, "--databases", "3")
	if got := s.CLI("SET", "k", "v"); got != "OK" {
		t.Errorf("SET: %q", got)
	}
	if got := s.CLI("CONFIG", "GET", "databases"); got != "databases\n3" {
		t.Errorf("the option did not arrive: %q", got)
	}
	s.Stop()
	if !s.Running() {
		t.Error("a halted server does not run")
	}
	if Answers(s.Addr) {
		t.Error("a halted server answers")
	}
	s.Cont()
	if !Answers(s.Addr) {
		t.Error("the server does not go on")
	}
	s.Kill()
	s.Kill() // again: no fault
	if Answers(s.Addr) || s.Running() {
		t.Error("a killed server answers")
	}
	s.Restart()
	if err := s.Client().Ping(t.Context()).Err(); err != nil || !s.Running() {
		t.Errorf("started again: %v", err)
	}
}

func TestFreePorts(t *testing.T) {
	seen := map[string]bool{}
	for _, port := range FreePorts(t, 50) {
		if seen[port] || Answers("127.0.0.1:"+port) {
			t.Errorf("port %s is not free, or comes twice", port)
		}
		seen[port] = true
	}
}

func TestServersStandApart(t *testing.T) {
	a, b := Start(t), Start(t)
	a.CLI("SET", "k", "of a")
	if got := b.CLI("--no-raw", "GET", "k"); got != "(nil)" {
		t.Errorf("b holds %s", got)
	}
}

func TestStartAnswersWithPassword(t *testing.T) {
	begin := time.Now()
	s := Start(t, "--requirepass", "p")
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if got := s.CLI("--no-auth-warning", "-a", "p", "PING"); got != "PONG" {
		t.Errorf("PING: %q", got)
	}
}

func TestStartTLS(t *testing.T) {
	s, port, files := StartTLS(t)
	s.CLI("SET", "k", "v")
	if got := s.CLI("-p", port, "--tls", "--cacert", files.CA, "--cert", files.ClientCert, "--key", files.ClientKey, "GET", "k"); got != "v" {
		t.Errorf("GET: %q", got)
	}
	if Answers("127.0.0.1:" + port) {
		t.Error("the TLS port answers in the clear")
	}
}
