package engine

import (
	"bytes"
	"slices"

	"respipe/parser"
)

// remembered are the commands that are part of the session state, in the order
// in which a handshake restores them.
var remembered = []string{"AUTH", "SELECT", "CLIENT SETNAME", "CLIENT NO-EVICT", "CLIENT NO-TOUCH"}

// session knows the session state: the last successful command of each kind
// that changes it. Each connection that is made gets it in its handshake.
type session struct {
	e       *Engine
	resp    [5][]byte // by index in remembered
	refused bool      // the last SELECT was refused: no command may follow it
}

// restore returns the commands that restore the state, in RESP.
func (s *session) restore() [][]byte {
	return slices.DeleteFunc(slices.Clone(s.resp[:]), func(resp []byte) bool { return resp == nil })
}

// changed takes a command that changes the state; failed says that every
// connection refused it. It reports whether the command counts as refused:
// where one connection took it, the others get it by connecting again.
func (s *session) changed(op *parser.Op, resp []byte, failed bool) (refused bool) {
	i := slices.Index(remembered, op.Name)
	if op.Name == "SELECT" {
		s.refused = failed
	}
	if !failed && i >= 0 {
		s.resp[i] = bytes.Clone(resp)
	}
	return failed
}
