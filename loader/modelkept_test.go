package loader

import (
	"strings"
	"testing"
	"time"
)

// keptModel holds what OnSettled and OnCheckpoint are told to what is right:
// each line is told of once, in its own words; and whatever place a checkpoint
// names, all before it is settled, and no block is torn.
type keptModel struct {
	*testing.T
	*schedule
	fates []outcome

	checkpoints int
	last        Checkpoint
}

func (k *keptModel) watch(cfg *Config) {
	cfg.OnSettled = k.settled
	cfg.OnCheckpoint, cfg.CheckpointEvery = k.checkpoint, time.Millisecond
}

func (k *keptModel) settled(b Completed) error {
	for i := range b.Len() {
		n := b.N(i)
		fate := map[Outcome]outcome{Ran: applied, Failed: rejected, NotRun: rejected, Unknown: pending, NotSent: unsent}[b.Outcome(i)]
		if b.Outcome(i) == Elsewhere {
			continue
		}
		if k.fates[n-1] != unsent {
			k.Errorf("line %d was told of twice, as %d and as %d", n, k.fates[n-1], fate)
		}
		k.fates[n-1] = fate
		k.checkKept(b, i)
		k.checkReply(b, i)
	}
	return nil
}

// checkKept compares the source text.
func (k *keptModel) checkKept(b Completed, i int) {
	text := string(b.Src(i))
	if want := k.lines[b.N(i)-1]; k.cfg.KeepSource && text != want && (text != "" || b.Command(i) != nil) || !k.cfg.KeepSource && text != "" {
		k.Errorf("line %d is kept as %q, want %q", b.N(i), text, want)
	}
	if index, last := b.Index(i); index != 0 || !last {
		k.Errorf("line %d is command %d, %v", b.N(i), index, last)
	}
	if block := b.Block(i); (k.cfg.KeepSource || k.cfg.KeepReplies != 0) && block != k.blockOf(b.N(i)) {
		k.Errorf("line %d is in block %d, want %d", b.N(i), block, k.blockOf(b.N(i)))
	}
}

// blockOf returns the number of the MULTI of a line's block, 0 for none.
func (k *keptModel) blockOf(n int64) int64 {
	for at := n; at >= 1; at-- {
		switch line := k.lines[at-1]; {
		case line == "MULTI":
			return at
		case line == "EXEC" && at < n:
			return 0
		}
	}
	return 0
}

// checkReply looks whether the reply is there, and fits what became of a line.
func (k *keptModel) checkReply(b Completed, i int) {
	reply, outcome := string(b.Reply(i)), b.Outcome(i)
	answered := outcome == Ran || outcome == NotRun || outcome == Failed && !failureOf(b, i).Ours
	if k.cfg.KeepReplies == 0 || !answered {
		if reply != "" && (k.cfg.KeepReplies == 0 || outcome == NotSent && b.Block(i) == 0) {
			k.Errorf("line %d has the reply %q", b.N(i), reply)
		}
		return
	}
	line := k.lines[b.N(i)-1]
	want := ":"
	switch {
	case outcome == NotRun, outcome == Ran && b.Block(i) > 0 && line != "EXEC" && line != "MULTI", outcome == Failed && strings.HasPrefix(reply, "+Q"):
		want = "+Q"
		if line == "MULTI" {
			want = "+O"
		}
	case outcome == Failed:
		want = "-"
	case line == "EXEC":
		want = "*"
	case line == "MULTI", strings.HasPrefix(line, "SET "):
		want = "+O"
	}
	if !strings.HasPrefix(reply, want) && !strings.HasPrefix(reply, "-WRO") || k.cfg.KeepReplies > 0 && len(reply) > k.cfg.KeepReplies {
		k.Errorf("line %d (%s), %d: the reply is %q, want %s", b.N(i), line, outcome, reply, want)
	}
}

// checkpoint holds a checkpoint to what OnSettled was told before.
func (k *keptModel) checkpoint(c Checkpoint) error {
	k.checkpoints++
	for n := k.last.Next; n < c.Next; n++ {
		if n > 0 && k.fates[n-1] != applied && k.fates[n-1] != rejected {
			k.Errorf("a checkpoint at line %d, and line %d (%s) is not settled", c.Next, n, k.lines[n-1])
		}
	}
	if c.Next < k.last.Next || c.Mark.N > c.Next || c.Ahead < 0 {
		k.Errorf("checkpoint %+v after %+v", c, k.last)
	}
	for _, n := range []int64{c.Mark.N, c.Next} {
		if n > 0 && n <= int64(len(k.lines)) && k.blockOf(n) > 0 && k.blockOf(n) != n {
			k.Errorf("checkpoint %+v is in the middle of a block", c)
		}
	}
	k.last = c
	return nil
}

// ended looks at the last checkpoint.
func (k *keptModel) ended(rep *Report, err error) {
	if rep.Server == nil {
		return
	}
	if c := rep.Checkpoint; c.Next != rep.Position.N || err == nil && (c.Next != int64(len(k.lines))+1 || c.Ahead != 0) {
		k.Errorf("the last checkpoint is %+v, the load goes on from %d (%v)", c, rep.Position.N, err)
	}
	k.checkpoint(rep.Checkpoint)
}
