package loader

import "time"

// vain is for how long connections have been lost with the same record
// unanswered: one that makes the server hang up, or that it never answers, would
// have them lost for ever. A connection on which nothing is owed an answer may
// be lost as often as it likes, as it is where something between closes those
// that are idle.
type vain struct {
	at    int64 // the first record without an answer, 0 for none
	since time.Time
	pause time.Duration
}

// lost takes note of a connection that was lost now, with record at the first
// without an answer. It returns how long to pause before the next connection,
// and for how long that record has been tried.
func (v *vain) lost(at int64, now time.Time) (pause, tried time.Duration) {
	idle := at == 0 && now.Sub(v.since) > longPause
	if at != v.at || v.since.IsZero() || idle {
		*v = vain{at: at, since: now, pause: firstPause}
		return 0, 0
	}
	pause = v.pause
	v.pause = min(2*pause, longPause)
	if at == 0 {
		v.since = now
	}
	return pause, now.Sub(v.since)
}

// stuck reports whether connections have been lost for too long with record at
// unanswered, and pauses when the last one was.
func (r *run) stuck(v *vain, at int64) bool {
	pause, tried := v.lost(at, time.Now())
	select {
	case <-time.After(pause):
	case <-r.ctx.Done():
	}
	return tried > r.cfg.RetryFor
}
