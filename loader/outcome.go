package loader

import "slices"

// Outcome is what became of a command of a Batch.
type Outcome uint8

const (
	Elsewhere Outcome = iota // another place tells it: it was sent again, or in pieces; or it is a command of our own
	Ran                      // answered, and not with an error
	Failed                   // answered with an error, or refused: one of Failures says why
	NotRun                   // of a block that was not executed
	Unknown                  // sent, and never answered
	NotSent                  // never sent to its end, or of a block whose end was not
)

// Outcome returns what became of command i.
func (b *Batch) Outcome(i int) Outcome {
	flags := b.places[i].flags
	switch {
	case flags&moved != 0:
		return Elsewhere
	case b.Failure(i) != nil:
		return Failed
	case flags&own != 0:
		return Elsewhere
	case flags&piece != 0 && !b.splits[i].ends(b, i):
		return Elsewhere
	case flags&unrun != 0:
		return NotRun
	case flags&unsure != 0:
		return Unknown
	case flags&acked != 0, b.settled && flags&refused == 0:
		return Ran
	}
	return NotSent
}

// Failure returns the error of command i, nil if there is none.
func (b *Batch) Failure(i int) *Failure {
	at, _ := slices.BinarySearchFunc(b.failures, i, func(f Failure, i int) int { return f.I - i })
	for ; at < len(b.failures) && b.failures[at].I == i; at++ {
		if f := &b.failures[at]; !f.Warning {
			return f
		}
	}
	return nil
}
