package simulate

import (
	"slices"

	"respipe/loader/batch"
	"respipe/loader/engine"
)

// knowledge is how often the run id of a process is known.
type knowledge uint8

const (
	alwaysKnown knowledge = iota
	sometimesKnown
	neverKnown
)

// loss is one time that a server lost what it had executed.
type loss struct {
	failover bool
	seen     bool // the engine has lost a connection to it then
	known    bool // the engine knew its process before
	told     bool // and one that came later
}

// process returns the run id of a server's process as the engine is told it.
func (s *schedule) process(sv *server) string {
	if s.shape.ids == neverKnown || s.shape.ids == sometimesKnown && s.extra.IntN(3) == 0 {
		return ""
	}
	sv.told = true
	for _, l := range sv.losses {
		l.told = true
	}
	return sv.runID()
}

// verifyLost checks that the engine says of everything that was acknowledged
// and is lost that it may be. A load that stops for another reason has not
// learnt of it.
func (s *schedule) verifyLost() {
	switch reason := s.engine.Result().Reason; {
	case reason == engine.ReasonRestarted && (s.disasters == 0 || s.shape.ids == neverKnown):
		s.fail("no server was restarted, or none is known to be")
	case reason == engine.ReasonComplete:
	case reason == engine.ReasonRestarted && s.disasters == 1:
	default:
		return
	}
	for record, l := range s.lost {
		again := !l.seen || !l.failover && !(l.known && l.told)
		for k := range s.history {
			again = again || slices.Contains(s.history[k], record)
		}
		if again || s.outcomes[record-1] != batch.Acknowledged {
			continue
		}
		atRisk := slices.ContainsFunc(s.engine.Result().AtRisk, func(r engine.Risk) bool {
			return r.Range.First.Record <= int64(record) && int64(record) <= r.Range.Last.Record
		})
		if !atRisk {
			s.fail("record %d is acknowledged and lost, and not at risk: %v", record, s.engine.Result().AtRisk)
		}
	}
}
