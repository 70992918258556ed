package loader

import (
	"fmt"
	"strconv"
	"time"

	"respipe/parser"
)

// With Config.WaitReplicas an answer settles nothing: a batch is kept until a
// WAIT behind it was answered with enough replicas, so that a successor of the
// server has it, or gets it again.

const confirmEvery = time.Second

// anyWrite goes before the first WAIT of a new connection: from Redis 7.2 on that
// waits for what its own connection has sent to the replicas, which is nothing
// yet. It changes no key.
const anyWrite = "*3\r\n$7\r\nPUBLISH\r\n$7\r\nrespipe\r\n$0\r\n\r\n"

// confirmation is where a pipeline stands with its WAITs.
type confirmation struct {
	asked  bool      // one is under way
	anew   bool      // the connection is not the one on which what is kept was sent
	last   time.Time // when the last one was sent
	vainly time.Time // since when they are answered with too few replicas
}

// replicasOf returns how many replicas of a server are waited for. One that has
// taken the place of another while the load runs may have none yet: then it is
// not waited for.
func (r *run) replicasOf(g *greeting) int {
	wait, h := r.cfg.WaitReplicas, g.info.Health
	if r.rep.Server == nil || h == nil || h.Replicas >= wait {
		return wait
	}
	r.note(fmt.Sprintf("warning: %s has %d replicas: what it acknowledges is taken without waiting for %d", g.addr, h.Replicas, wait))
	return 0
}

// askConfirm sends a WAIT when it is time for one, or in any case when now is
// set: what is kept is needed, or the load ends.
func (r *run) askConfirm(p *pipeline, now bool) {
	k := &p.confirm
	if p.node.wait == 0 || k.asked || p.kept == 0 || p.sentOpen || p.redo || p.down != nil {
		return
	}
	much := p.keptBytes > r.cfg.WindowBytes/2 || p.kept > maxBatches/2
	if !now && !much && time.Since(k.last) < confirmEvery {
		return
	}
	k.asked, k.last = true, time.Now()
	patience := confirmEvery
	if r.cfg.Timeout > 0 {
		patience = min(patience, r.cfg.Timeout/2)
	}
	mark := r.markHere(nil)
	b := r.free.get(r.cut, p.usual)
	b.reset(mark, "")
	if k.anew {
		k.anew = false
		b.resp = append(b.resp, anyWrite...)
		b.add(mark.N, parser.Pos{Line: mark.Line}, parser.Write, own)
	}
	b.resp = parser.AppendCommand(b.resp, [][]byte{
		[]byte("WAIT"), strconv.AppendInt(nil, int64(r.cfg.WaitReplicas), 10), strconv.AppendInt(nil, max(1, patience.Milliseconds()), 10)})
	b.add(mark.N, parser.Pos{Line: mark.Line}, parser.RefusedAlone, own)
	b.plain = false
	r.send(p, b)
}

// confirmed is told what a WAIT was answered: whether enough replicas have all
// that was sent before, or why it was refused.
func (r *run) confirmed(p *pipeline, enough bool, refusal error) {
	k := &p.confirm
	k.asked = false
	switch {
	case refusal != nil:
		r.lost = &LostError{Addr: p.node.addr, Err: fmt.Errorf("WAIT was refused: %w", refusal)}
	case enough:
		k.vainly = time.Time{}
	case k.vainly.IsZero():
		k.vainly = time.Now()
		r.note(fmt.Sprintf("waiting for %d replicas of %s", r.cfg.WaitReplicas, p.node.addr))
	case time.Since(k.vainly) > r.cfg.RetryFor:
		r.lost = &LostError{Addr: p.node.addr, Err: fmt.Errorf("fewer than %d replicas have what was sent, for %v", r.cfg.WaitReplicas, r.cfg.RetryFor)}
	}
}

// confirmAll asks for what is still kept at the end of a load. It reports
// whether there is an answer to wait for: not where something was refused for
// now, which is not sent again when the load has been stopped.
func (r *run) confirmAll() (kept bool) {
	for _, p := range r.pipes {
		if p.node.wait > 0 && p.kept > 0 && !p.sentOpen && !p.redo {
			r.askConfirm(p, true)
			kept = true
		}
	}
	return kept
}
