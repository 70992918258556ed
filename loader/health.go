package loader

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"respipe/parser"
)

// Health is what a server's INFO says that a load should know.
type Health struct {
	EvictedKeys int64 // since the server was started
	UsedMemory  int64 // bytes
	MaxMemory   int64 // bytes; 0 is no limit
	Policy      string
	SaveFailed  bool // the last background save
	AOFFailed   bool // the last write of the append-only file
	Role        string

	runID string
}

// parseHealth reads the reply to INFO.
func parseHealth(info []byte) *Health {
	h := &Health{}
	for line := range bytes.Lines(info) {
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		text := string(value)
		switch string(name) {
		case "evicted_keys":
			h.EvictedKeys = number(text)
		case "used_memory":
			h.UsedMemory = number(text)
		case "maxmemory":
			h.MaxMemory = number(text)
		case "maxmemory_policy":
			h.Policy = text
		case "rdb_last_bgsave_status":
			h.SaveFailed = text != "ok"
		case "aof_last_write_status":
			h.AOFFailed = text != "ok"
		case "role":
			h.Role = text
		case "run_id":
			h.runID = text
		}
	}
	return h
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// Evicted returns how many keys the same server process evicted between two
// looks at it.
func Evicted(before, after *Health) int64 {
	if before == nil || after == nil || before.runID != after.runID {
		return 0
	}
	return after.EvictedKeys - before.EvictedKeys
}

// AfterError says that the load went well and the command after it did not.
type AfterError struct{ Err error }

func (e *AfterError) Error() string { return "the command after the load failed: " + e.Err.Error() }
func (e *AfterError) Unwrap() error { return e.Err }

// conclude has the last word with the server, on a connection of its own: the
// command that tells others that all went in, and how the server is now.
func (r *run) conclude() error {
	after := r.allWentIn() && len(r.cfg.After) > 0
	if r.lost != nil || !after && r.rep.Before == nil {
		return nil
	}
	cfg := r.cfg
	cfg.CountKeys = false
	g, err := connect(context.WithoutCancel(r.ctx), cfg, r.nodes[0].addr)
	if err != nil {
		if after {
			return &AfterError{err}
		}
		return nil
	}
	defer g.nc.Close()
	r.rep.After = g.info.Health
	if !after {
		return nil
	}
	if r.cfg.Timeout > 0 {
		g.nc.SetDeadline(time.Now().Add(r.cfg.Timeout))
	}
	v, err := g.exchange(parser.AppendCommand(nil, r.cfg.After))
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return &AfterError{err}
	}
	return nil
}

// allWentIn reports whether every record of the input took effect.
func (r *run) allWentIn() bool {
	return r.rep.InputDone && r.rep.Errors == 0 && r.rep.NotRun == 0 && r.rep.Records >= r.cfg.Expect &&
		errors.Join(r.stopped, r.lost, r.broken) == nil
}
