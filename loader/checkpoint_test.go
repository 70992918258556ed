package loader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// TestNotTooFarAhead: while one connection is slow, the others are at most four
// windows ahead of it.
func TestNotTooFarAhead(t *testing.T) {
	const window, connections, records = 10, 3, 5000
	var text strings.Builder
	text.WriteString("SET slow 1\n")
	for i := range records {
		fmt.Fprintf(&text, "SET k%d 1\n", i)
	}
	go1 := make(chan struct{})
	var seen atomic.Int64
	cfg := config(serve(t, func(args []string) []byte {
		if args[1] == "slow" {
			<-go1
		}
		seen.Add(1)
		return []byte("+OK\r\n")
	}))
	cfg.Window, cfg.Connections = window, connections
	cfg.CheckpointEvery = time.Millisecond
	var last Checkpoint
	cfg.OnCheckpoint = func(c Checkpoint) error {
		if last = c; c.Ahead > aheadWindows*window*connections+window {
			t.Errorf("%d records ahead", c.Ahead)
		}
		return nil
	}
	time.AfterFunc(300*time.Millisecond, func() {
		if n := seen.Load(); n < window || n > aheadWindows*window*connections+window {
			t.Errorf("%d commands were sent before the slow one was answered", n)
		}
		close(go1)
	})
	rep, err := Run(context.Background(), script(text.String()), cfg)
	if err != nil || rep.Replies != records+1 || rep.Checkpoint.Next != records+2 || last.Next < 2 {
		t.Errorf("%v, %+v, %+v", err, rep, last)
	}
}

// TestBlockIsNotTooFarAhead: a block may be longer than that.
func TestBlockIsNotTooFarAhead(t *testing.T) {
	server := redistest.Start(t)
	cfg := resuming(server.Addr)
	cfg.Window, cfg.Connections = 2, 3
	cfg.OnCheckpoint = func(Checkpoint) error { return nil }
	rep, err := Run(context.Background(), script("MULTI\n"+strings.Repeat("INCR n\n", 500)+"EXEC\n"+sets(200)), cfg)
	if err != nil || rep.Replies != 702 {
		t.Errorf("%v, %+v", err, rep)
	}
}

// TestGoOnElsewhere: a load that goes on is in the database of its place, and
// its last command in that of the load.
func TestGoOnElsewhere(t *testing.T) {
	server := redistest.Start(t)
	for _, connections := range []int{1, 3} {
		server.CLI("FLUSHALL")
		cfg := resuming(server.Addr)
		cfg.Connections = connections
		cfg.Earlier = Earlier{Next: 1, DB: 3, Records: 10}
		cfg.Expect, cfg.After = 110, [][]byte{[]byte("SET"), []byte("ready"), []byte("1")}
		rep, err := Run(context.Background(), script(sets(100)), cfg)
		if err != nil || rep.EarlierRecords != 10 || rep.Position.DB != 3 {
			t.Errorf("%v, %+v", err, rep)
		}
		if got := server.CLI("-n", "3", "DBSIZE") + server.CLI("KEYS", "*"); got != "100ready" {
			t.Errorf("%d connections: %s", connections, got)
		}
	}
	for _, earlier := range []Earlier{{Next: 1, Errors: 1}, {Next: 1, NotRun: 1}, {Next: 1, Records: 9}} {
		server.CLI("FLUSHALL")
		cfg := resuming(server.Addr)
		cfg.Earlier, cfg.Expect, cfg.After = earlier, 11, [][]byte{[]byte("SET"), []byte("ready"), []byte("1")}
		if _, err := Run(context.Background(), script("SET a 1"), cfg); err != nil || server.CLI("EXISTS", "ready") != "0" {
			t.Errorf("%+v: %v", earlier, err)
		}
	}
	cfg := resuming(server.Addr)
	cfg.Earlier = Earlier{Next: 7, DB: 99}
	rep, err := Run(context.Background(), script("SET a 1"), cfg)
	if _, is := errors.AsType[*ConnectError](err); !is || rep.Replies > 0 {
		t.Errorf("a database that is not there: %v", err)
	}
}

// TestStopBehindWatch: a load goes on from the WATCH of a block that has not
// run.
func TestStopBehindWatch(t *testing.T) {
	enough := errors.New("enough")
	for _, row := range []struct {
		input string
		stop  int64 // when this line is settled; the next one may be on its way
		least int64
		most  int64
	}{
		{"SET a 1\nWATCH a\nGET a\nGET b\nMULTI\nINCR n\nEXEC", 3, 2, 2},
		{"SET a 1\nWATCH a\nUNWATCH\nGET a\nGET b\nMULTI\nINCR n\nEXEC", 4, 5, 6},
		{"WATCH a\nMULTI\nINCR n\nEXEC\nGET a\nGET b", 5, 6, 7},
		{"WATCH a\nMULTI\nINCR n\n---\nGET a\nGET b\nGET c", 4, 5, 6},
	} {
		server := redistest.Start(t)
		cfg := resuming(server.Addr)
		cfg.Window = 1
		cfg.OnCheckpoint = func(Checkpoint) error { return nil }
		cfg.OnSettled = func(b Completed) error {
			if b.N(b.Len()-1) >= row.stop {
				return enough
			}
			return nil
		}
		rep, err := Run(context.Background(), script(row.input), cfg)
		if !errors.Is(err, enough) || rep.Position.N < row.least || rep.Position.N > row.most || rep.Checkpoint.Next != rep.Position.N {
			t.Errorf("%q: %v, goes on from %d", row.input, err, rep.Position.N)
		}
	}
}

// TestCheckpointFails: a checkpoint that cannot be kept ends the load.
func TestCheckpointFails(t *testing.T) {
	cfg := config(serve(t, like))
	full := errors.New("full")
	for _, at := range []int{1, 2} {
		calls := 0
		cfg.CheckpointEvery = time.Millisecond
		cfg.OnCheckpoint = func(Checkpoint) error {
			if calls++; calls == at {
				return full
			}
			return nil
		}
		src := script(sets(3000))
		src.before = func(n int64) {
			if n%100 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		rep, err := Run(context.Background(), src, cfg)
		if !errors.Is(err, full) || rep.InputDone || at == 1 && rep.Replies > 0 || calls > at+1 {
			t.Errorf("at call %d of %d: %v, %+v", at, calls, err, rep)
		}
	}
}

// TestCheckpointBehindABlock: where all is settled that was read, and the load
// ends behind a block, the place to read from is not the end of that block.
func TestCheckpointBehindABlock(t *testing.T) {
	server := redistest.Start(t)
	cfg := resuming(server.Addr)
	cfg.RetryFor = 100 * time.Millisecond
	cfg.OnCheckpoint = func(Checkpoint) error { return nil }
	src := &trickle{lines: script("SET a 1\nMULTI\nINCR n\nEXEC\nSET b 1"), ready: make(chan []byte)}
	go func() {
		for range 4 {
			src.ready <- nil
		}
		for server.CLI("GET", "n") != "1" {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond) // it is answered
		server.Kill()
	}()
	rep, err := Run(t.Context(), src, cfg)
	if c := rep.Checkpoint; err == nil || c.Next != 5 || c.Mark.N == 3 || c.Mark.N == 4 {
		t.Errorf("%v, %+v", err, c)
	}
}
