package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"respipe/internal/redistest"
)

// clusterRows is CSV with a text in each seventh row, where a list is wanted,
// and what will be refused of it.
func clusterRows(t *testing.T, cluster *redistest.Cluster, records int) (path, refused string) {
	t.Helper()
	var rows, bad, sets strings.Builder
	rows.WriteString("id,t\n")
	bad.WriteString("id,t\n")
	for n := 1; n <= records; n++ {
		if n%7 > 0 {
			fmt.Fprintf(&rows, "%d,list\n", n)
			continue
		}
		fmt.Fprintf(&rows, "%d,text\n", n)
		fmt.Fprintf(&bad, "%d,text\n", n)
		fmt.Fprintf(&sets, "SET text:%d x\n", n)
	}
	expectRun(t, sets.String(), []string{"-p", cluster.Masters()[0].Port}, 0)
	path = filepath.Join(t.TempDir(), "in.csv")
	must(t, os.WriteFile(path, []byte(rows.String()), 0o600))
	return path, bad.String()
}

// TestClusterKeepsFiles: while slots move, and the commands of a record go to
// several nodes, each record that is refused is one reject with its reason, and
// each command has its reply; the rejects, mended, can be loaded again.
func TestClusterKeepsFiles(t *testing.T) {
	t.Parallel()
	const records = 5000
	cluster := redistest.StartCluster(t, 3, 0)
	input, refused := clusterRows(t, cluster, records)
	dir := t.TempDir()
	bad, replies := filepath.Join(dir, "bad.csv"), filepath.Join(dir, "replies.jsonl")
	args := []string{"-p", cluster.Masters()[0].Port, "--cmd", "INCR c:{id}", "--cmd", "LPUSH {t}:{id} x", "--cmd", "INCR d:{id}"}

	c := start(t, append(args, "--rate", "5000", "--rejects", bad, "--replies", replies, input)...)
	c.stdin.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go func() { c.cmd.Wait(); cancel() }()
	moved, err := cluster.MigrateSlots(ctx, rand.New(rand.NewPCG(1, 2)), time.Millisecond)
	if err != nil || moved == 0 {
		t.Errorf("%d slots moved, %v", moved, err)
	}
	c.expect(exitErrors, fmt.Sprintf("^errors: %d, replies: %d$", records/7, 3*records))

	got := strings.SplitAfter(read(t, dir, "bad.csv"), "\n")
	if !sameLines(got, strings.SplitAfter(refused, "\n")) {
		t.Errorf("%d rejects, want %d", len(got)-2, records/7)
	}
	for line := range strings.Lines(read(t, dir, "bad.csv"+reasonsSuffix)) {
		var reason struct {
			Record int
			Ran    []struct{ Command string }
		}
		must(t, json.Unmarshal([]byte(line), &reason))
		if reason.Record%7 > 0 || len(reason.Ran) != 2 || !strings.Contains(line, `"command":"LPUSH"`) {
			t.Error(line)
		}
	}
	perRecord := map[int]int{}
	for line := range bytes.Lines([]byte(read(t, dir, "replies.jsonl"))) {
		var reply struct{ Record int }
		must(t, json.Unmarshal(line, &reply))
		perRecord[reply.Record]++
	}
	for n := 1; n <= records; n++ {
		if perRecord[n] != 3 {
			t.Errorf("record %d has %d replies", n, perRecord[n])
		}
	}
	mended := strings.ReplaceAll(read(t, dir, "bad.csv"), ",text", ",list")
	must(t, os.WriteFile(bad, []byte(mended), 0o600))
	c = start(t, append(args, bad)...)
	c.stdin.Close()
	c.expect(0, fmt.Sprintf("^errors: 0, replies: %d$", 3*(records/7)))
}

// sameLines compares without regard to the order.
func sameLines(a, b []string) bool {
	count := map[string]int{}
	for _, line := range a {
		count[line]++
	}
	for _, line := range b {
		count[line]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// TestClusterCheckpoint: a load into a cluster goes on where it was stopped, and
// where it was killed, at most a second's worth runs once more.
func TestClusterCheckpoint(t *testing.T) {
	t.Parallel()
	const records = 6000
	cluster := redistest.StartCluster(t, 3, 0)
	dir := t.TempDir()
	input := filepath.Join(dir, "in.csv")
	var rows strings.Builder
	rows.WriteString("id\n")
	for n := range records {
		fmt.Fprintf(&rows, "%d\n", n)
	}
	must(t, os.WriteFile(input, []byte(rows.String()), 0o600))
	args := []string{"-p", cluster.Masters()[0].Port, "--rate", "2000", "--checkpoint", filepath.Join(dir, "at"), "--cmd", "INCR c:{id}", input}

	load := func() *child {
		c := start(t, args...)
		c.stdin.Close()
		return c
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{cluster.Masters()[0].Addr}})
	defer client.Close()
	twice := func(upTo int) (more int) {
		t.Helper()
		pipe := client.Pipeline()
		for n := range upTo {
			pipe.Get(t.Context(), fmt.Sprint("c:", n))
		}
		counts, err := pipe.Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for n, count := range counts {
			switch got := count.(*redis.StringCmd).Val(); got {
			case "1":
			case "2", "3": // it may have stood behind both places to go on from
				more++
			default:
				t.Errorf("record %d ran %s times", n+1, got)
			}
		}
		return more
	}
	loadedTo := func(n int) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); client.Exists(t.Context(), fmt.Sprint("c:", n)).Val() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("record %d is not loaded", n)
			}
		}
	}
	c := load()
	loadedTo(2000)
	c.signal(syscall.SIGTERM)
	c.expect(143)
	next := readCheckpoint(t, filepath.Join(dir, "at"))
	if more := twice(next - 1); more > 0 || next < 2 || next > records {
		t.Errorf("at record %d, %d twice", next, more)
	}
	c = load()
	loadedTo(4500) // a checkpoint is behind it
	c.signal(syscall.SIGKILL)
	c.cmd.Wait()
	load().expect(0, "^going on from .*a second.s worth")
	if more := twice(records); more > 3000 {
		t.Errorf("%d ran twice", more)
	}
}
