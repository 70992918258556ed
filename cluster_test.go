package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// expectRun starts respipe with an input, waits for its end and compares.
func expectRun(t *testing.T, input string, args []string, status int, patterns ...string) {
	t.Helper()
	c := start(t, args...)
	c.write(input)
	c.stdin.Close()
	c.expect(status, patterns...)
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	port := cluster.Masters()[1].Port
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "SET key:%d %d\n", i, i)
	}
	expectRun(t, many.String(), []string{"-p", port}, 0,
		"^cluster of 3 masters: loading into all of them$", `^  127\.0\.0\.1:\d+: 1\d\d\d replies, 0 errors, \d+ commands/s, reply delay p50`, "^errors: 0, replies: 5000$")
	if n := cluster.CLI("GET", "key:4711"); n != "4711" {
		t.Error(n)
	}

	expectRun(t, "FLUSHALL\nMSET a 1 b 2 c 3\nDEL a b nosuch\nEXISTS a b c\n", []string{"-c", "-p", port}, 0,
		"errors: 0, replies: 4", "3 commands sent in pieces by slot")
	if c := cluster.CLI("GET", "c") + cluster.CLI("GET", "a"); c != "3" {
		t.Error(c)
	}
	expectRun(t, "SET before 1\nRENAME a b\nMULTI\nSET {x}1 1\nSET y 1\nEXEC\nWATCH {x}1\nWATCH y\nMULTI\nSET {x}1 2\nEXEC\n", []string{"-p", port}, 1,
		`^<stdin>:2: keys of different slots in one command: "a" \(slot 15495\) and "b" \(slot 3300\)`,
		`^<stdin>:5: key of another slot than the first one of its transaction: "y" \(slot 12222, not 16287\)`,
		`^<stdin>:6: EXEC not sent: line 5`, `^<stdin>:8: key of another slot than the first one of what is watched`, "^<stdin>:11: EXEC not sent: line 8", "errors: 5, replies: 4")
	expectRun(t, "CONFIG SET nosuch 1\nSCRIPT LOAD 'return 1'\nEVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 z\nEVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 a\nSELECT 1\nSET a 1\n", []string{"-p", port}, 1,
		`^<stdin>:1: ERR .* \(on 127\.0\.0\.1:\d+, 127\.0\.0\.1:\d+, 127\.0\.0\.1:\d+\)`, "^<stdin>:5: ERR SELECT is not allowed in cluster mode", "^<stdin>:6: database 1 was not selected", "errors: 3, replies: 5")

	lone := redistest.Start(t)
	expectRun(t, "SET a 1\n", []string{"-c", "-p", lone.Port}, exitConnect, "is no node of a cluster", "hint: leave out -c")
	free := redistest.FreePort(t)
	expectRun(t, "SET a 1\n", []string{"-h", "127.0.0.1:" + free, "-h", "127.0.0.1", "-p", port}, 0, "errors: 0, replies: 1")
}

// A cluster whose nodes tell nothing by HELLO is recognised by what INFO says.
func TestClusterByInfo(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0, "--rename-command", "HELLO", "")
	var many strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&many, "APPEND key:%d %d\nAPPEND key:%d ,%d\n", i, i, i, i)
	}
	expectRun(t, many.String(), []string{"-p", cluster.Masters()[0].Port, "--connections", "2"}, 0, "errors: 0, replies: 4000")
	for _, i := range []int{0, 7, 1234, 1999} {
		if got := cluster.CLI("GET", fmt.Sprint("key:", i)); got != fmt.Sprint(i, ",", i) {
			t.Error(got)
		}
	}
}

// Addresses that a cluster announces and that cannot be reached are named.
func TestClusterNodeAddress(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	args := []string{"-p", cluster.Masters()[0].Port}
	for i, s := range cluster.Masters() {
		host := fmt.Sprintf("node%d.invalid", i)
		s.CLI("CONFIG", "SET", "cluster-announce-hostname", host)
		s.CLI("CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname")
		args = append(args, "--node-address", host+":"+s.Port+"="+s.Addr)
	}
	for _, s := range cluster.Masters() { // they tell each other
		eventuallyMatch(t, s, `(?s)node0\.invalid.*node1\.invalid|node1\.invalid.*node0\.invalid`, "CLUSTER", "SLOTS")
	}
	expectRun(t, "SET a 1\nSET b 1\nSET c 1\n", args[:2], exitConnect,
		`a node of the cluster cannot be reached at node\d\.invalid:\d+, the address that 127\.0\.0\.1:\d+ announces`, `hint: --node-address node\d\.invalid:\d+=HOST:PORT`)
	expectRun(t, "SET a 1\nSET b 1\nSET c 1\n", args, 0, "errors: 0, replies: 3")
}

func eventuallyMatch(t *testing.T, s *redistest.Server, pattern string, command ...string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(10 * time.Second); !re.MatchString(s.CLI(command...)); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q: %s", command, s.CLI(command...))
		}
	}
}

// CSV goes into a cluster like into one server, and so does --after.
func TestClusterFromCSV(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	file := filepath.Join(t.TempDir(), "users.csv")
	if err := os.WriteFile(file, []byte("id,name\n1,Ann\n2,Bob\n3,Cid\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expectRun(t, "", []string{"-p", cluster.Masters()[0].Port, "--key", "user:{id}", "--ttl", "1000", "--after", "SET cache:ready 1", file}, 0,
		"errors: 0, replies: 6")
	if got := cluster.CLI("HGET", "user:2", "name") + cluster.CLI("GET", "cache:ready"); got != "Bob1" {
		t.Error(got)
	}
}
