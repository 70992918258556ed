package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// counting writes lines that give each of a hundred keys new values, and what
// they hold in the end.
func counting(n int) (text string, want map[string]string) {
	var lines strings.Builder
	want = map[string]string{}
	for i := range n {
		key := "k" + strconv.Itoa(i%100)
		want[key] = strconv.Itoa(i)
		fmt.Fprintf(&lines, "SET %s %d\n", key, i)
	}
	return lines.String(), want
}

// behindSentinels loads for some seconds, in which happens is called, and
// compares what the master has then. The last quarter is loaded afterwards.
func behindSentinels(t *testing.T, g *redistest.SentinelGroup, happens func()) *child {
	text, want := counting(200_000)
	args := []string{"--sentinel-master", g.Name(), "--rate", "40000", "--retry-for", "20s"}
	for _, addr := range g.Addrs() {
		args = append(args, "--sentinel", addr)
	}
	c := start(t, args...)
	happened := make(chan struct{})
	go func() {
		last := len(text) / 4
		io.WriteString(c.stdin, text[:len(text)-last])
		<-happened
		io.WriteString(c.stdin, text[len(text)-last:])
		c.stdin.Close()
	}()
	eventually(t, g.Replica(), "1", "EXISTS", "k99")
	happens()
	close(happened)
	c.cmd.Wait()
	for key, value := range want {
		if got := g.Master().Client().Get(t.Context(), key).Val(); got != value {
			t.Errorf("%s is %s, not %s", key, got, value)
		}
	}
	return c
}

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t, 3, 2)
	old := g.Master().Addr
	c := behindSentinels(t, g, func() {
		g.Replica().Hold()
		time.Sleep(time.Second)
		g.Failover()
	})
	risk := regexp.MustCompile(`(?m)^` + old + ` was lost .* of \d+ commands that it had acknowledged, from <stdin>:1 to <stdin>:\d+, the last ones may be gone$`)
	if status := c.cmd.ProcessState.ExitCode(); status != exitLost || !risk.MatchString(c.stderr.String()) {
		t.Errorf("exit %d\n%s", status, c.stderr.String())
	}
	if !strings.HasSuffix(c.stdout.String(), "errors: 0, replies: 200000\n") {
		t.Error(c.stdout.String())
	}
}

func TestSentinelSwitchOver(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t, 3, 2)
	c := behindSentinels(t, g, func() { g.SwitchOver() })
	if status := c.cmd.ProcessState.ExitCode(); status != exitLost || !strings.HasSuffix(c.stdout.String(), "errors: 0, replies: 200000\n") {
		t.Errorf("exit %d\n%s%s", status, c.stdout.String(), c.stderr.String())
	}
}

func TestSentinelMistakes(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t, 1, 1)
	free := redistest.FreePort(t)
	for _, test := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"--sentinel", g.Addrs()[0], "--sentinel-master", "other"}, exitConnect, "watches no master of the name other"},
		{[]string{"--sentinel", "127.0.0.1:" + free}, exitConnect, "no sentinel tells who is master"},
		{[]string{"--sentinel", g.Addrs()[0], "-p", "1"}, exitUsage, "--sentinel: it tells where the server is"},
		{[]string{"--sentinel-master", "x"}, exitUsage, "there is no sentinel to ask"},
		{[]string{"-h", strings.Replace(g.Addrs()[0], ":", " ", 1)}, exitConnect, ""},
		{[]string{"--sentinel", "127.0.0.1:" + free, "--sentinel", g.Addrs()[0]}, 0, ""}, // any of them will do
	} {
		c := start(t, test.args...)
		c.write("SET a 1\n")
		c.stdin.Close()
		if status := c.wait(); status != test.status || !strings.Contains(c.stderr.String(), test.says) {
			t.Errorf("%q: exit %d, %s", test.args, status, c.stderr.String())
		}
	}
}
