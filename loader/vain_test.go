package loader

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"respipe/internal/redistest"
)

func TestVain(t *testing.T) {
	const s = time.Second
	type loss struct {
		after time.Duration // the one before
		at    int64
		pause time.Duration
		tried time.Duration
	}
	for name, losses := range map[string][]loss{
		"one record":         {{0, 7, 0, 0}, {10 * s, 7, firstPause, 10 * s}, {s, 7, 2 * firstPause, 11 * s}},
		"another each time":  {{0, 7, 0, 0}, {40 * s, 8, 0, 0}, {40 * s, 9, 0, 0}, {s, 9, firstPause, s}},
		"idle":               {{0, 0, 0, 0}, {60 * s, 0, 0, 0}, {60 * s, 0, 0, 0}},
		"idle, and at once":  {{0, 0, 0, 0}, {0, 0, firstPause, 0}, {s / 2, 0, 2 * firstPause, 0}, {s / 2, 0, 4 * firstPause, 0}, {2 * s, 0, 0, 0}},
		"idle, then one":     {{0, 0, 0, 0}, {60 * s, 7, 0, 0}, {s, 7, firstPause, s}},
		"one with idle ones": {{0, 7, 0, 0}, {s, 0, 0, 0}, {s, 7, 0, 0}, {s, 7, firstPause, s}},
	} {
		t.Run(name, func(t *testing.T) {
			var v vain
			now := time.Now()
			for i, l := range losses {
				now = now.Add(l.after)
				if pause, tried := v.lost(l.at, now); pause != l.pause || tried != l.tried {
					t.Errorf("loss %d: %v, %v, want %v, %v", i, pause, tried, l.pause, l.tried)
				}
			}
		})
	}
}

// TestIdleForLong: a source that says nothing for longer than RetryFor, while
// the server closes each idle connection, is no fault.
func TestIdleForLong(t *testing.T) {
	server := redistest.Start(t, "--timeout", "1")
	for _, mode := range []string{"one connection", "two connections", "exactly once"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			key := fmt.Sprintf("n:%.3s", mode)
			cfg := resuming(server.Addr)
			switch mode {
			case "two connections":
				cfg.Connections = 2
			case "exactly once":
				cfg = once(server.Addr, "")
			}
			cfg.RetryFor = time.Second
			src := &trickle{lines: script("INCR " + key + "\nINCR " + key), ready: make(chan []byte)}
			go func() {
				src.ready <- nil
				time.Sleep(4 * time.Second)
				src.ready <- nil
				close(src.ready)
			}()
			rep, err := Run(context.Background(), src, cfg)
			if err != nil || rep.Replies != 2 || rep.Reconnects == 0 {
				t.Errorf("%v, %+v", err, rep)
			}
			if got := server.CLI("GET", key); got != "2" {
				t.Errorf("it is %s", got)
			}
		})
	}
}

// TestNeverAnswered holds that a command that is never answered ends the load,
// though the server answers others on each new connection.
func TestNeverAnswered(t *testing.T) {
	cfg := config(serve(t, func(args []string) []byte {
		switch args[0] {
		case "MULTI":
			return []byte("+OK\r\n")
		case "EXEC":
			return []byte{}
		case "CLIENT":
			return []byte(":1\r\n")
		}
		return []byte("+QUEUED\r\n")
	}))
	cfg.OnDisconnect, cfg.Timeout, cfg.RetryFor = Resume, 20*time.Millisecond, 300*time.Millisecond
	rep, err := Run(context.Background(), script("MULTI\nSET a 1\nEXEC"), cfg)
	if _, lost := errors.AsType[*LostError](err); !lost || rep.Unanswered != 1 || rep.Reconnects == 0 {
		t.Errorf("%v, %+v", err, rep)
	}
}
