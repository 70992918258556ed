package engine

import (
	"bytes"

	"respipe/loader/batch"
	"respipe/loader/cluster"
)

// The kinds of error replies, as batch.Failure.Kind.
const (
	permanent  uint8 = iota // final at once
	persistent              // every further command will get it, too
	busy                    // LOADING, BUSY, MASTERDOWN, CLUSTERDOWN: retried after a pause
	tryAgain                // retried when the slot has moved
	moved                   // retried where the topology says
	ask                     // retried once at the node that imports the slot
	aborted                 // EXECABORT: the errors of the queued commands say why
	null                    // the nil of an EXEC
)

// kinds are the kinds of errors by their first word; others are permanent.
var kinds = map[string]uint8{
	"LOADING": busy, "BUSY": busy, "MASTERDOWN": busy, "CLUSTERDOWN": busy,
	"TRYAGAIN":  tryAgain,
	"EXECABORT": aborted,
	"NOAUTH":    persistent, "READONLY": persistent, "MISCONF": persistent, "OOM": persistent,
}

// retryable reports whether an error of a kind is retried.
func retryable(kind uint8) bool { return busy <= kind && kind <= ask }

// classify makes a failure of an error reply to the entry at an index. The
// address of a redirect is completed by that of the node that answered.
func classify(r *ErrorReply, entry int, teller string) batch.Failure {
	f := batch.Failure{Entry: entry, Element: r.Element, Kind: null, Node: teller}
	if r.Text == nil {
		return f
	}
	f.Text = bytes.Clone(r.Text)
	if d, ok := cluster.ParseRedirect(r.Text); ok {
		f.Kind, f.Address = moved, cluster.Resolve(d.Address, teller)
		if d.Ask {
			f.Kind = ask
		}
		return f
	}
	word, _, _ := bytes.Cut(r.Text, []byte{' '})
	f.Kind = kinds[string(word)]
	return f
}

// wrongType reports whether an error says that a key holds another type.
func wrongType(text []byte) bool { return bytes.HasPrefix(text, []byte("WRONGTYPE ")) }
