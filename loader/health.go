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
	Replicas    int // connected

	runID string
	mode  string // standalone, cluster, sentinel
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
		case "connected_slaves":
			h.Replicas = int(number(text))
		case "role":
			h.Role = text
		case "redis_mode", "server_mode":
			h.mode = text
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

// conclude has the last word with the servers, on connections of their own: the
// command that tells others that all went in, and how each of them is now.
func (r *run) conclude() error {
	if r.lost != nil {
		return nil
	}
	after := r.allWentIn() && len(r.cfg.After) > 0
	target := r.afterNode()
	var failed error
	for _, n := range r.nodes {
		if n != target || !after {
			r.inquire(n)
			continue
		}
		if err := r.sendAfter(n); err != nil {
			failed = &AfterError{err}
		}
	}
	return failed
}

// afterNode returns the node that Config.After belongs to.
func (r *run) afterNode() *node {
	if len(r.cfg.After) > 0 && r.router.owners != nil {
		var ops parser.Ops
		if keys := ops.Find(r.cfg.After).AppendKeys(nil, r.cfg.After); len(keys) > 0 {
			return r.pipeOf(parser.Slot(keys[0])).node
		}
	}
	return r.nodes[0]
}

// inquire asks a node how it is, if it told that at the beginning.
func (r *run) inquire(n *node) {
	if n.report.Server.Health == nil {
		return
	}
	if g, err := r.lastWord(n); err == nil {
		g.nc.Close()
	}
}

// lastWord connects to a node at the end.
func (r *run) lastWord(n *node) (*greeting, error) {
	cfg := r.cfg
	cfg.CountKeys = false
	g, err := connect(context.WithoutCancel(r.ctx), cfg, n.addr)
	if err == nil {
		n.report.After = g.info.Health
	}
	return g, err
}

// sendAfter sends Config.After.
func (r *run) sendAfter(n *node) error {
	g, err := r.lastWord(n)
	if err != nil {
		return err
	}
	defer g.nc.Close()
	if r.cfg.Timeout > 0 {
		g.nc.SetDeadline(time.Now().Add(r.cfg.Timeout))
	}
	v, err := g.exchange(parser.AppendCommand(nil, r.cfg.After))
	if err != nil {
		return err
	}
	return v.Err()
}

// allWentIn reports whether every record of the input took effect.
func (r *run) allWentIn() bool {
	return r.rep.InputDone && r.rep.Errors == 0 && r.rep.NotRun == 0 && r.rep.EarlierRecords+r.rep.Records >= r.cfg.Expect &&
		r.rep.EarlierErrors == 0 && r.cfg.Earlier.NotRun == 0 &&
		errors.Join(r.stopped, r.lost, r.broken) == nil
}
