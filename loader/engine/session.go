package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"respipe/loader/batch"
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

	databases map[string]bool // selected successfully before, or refused by a trial
	trial     trial
	inside    inside   // of the transaction whose EXEC is a barrier
	align     [][]byte // commands of a transaction that the other connections have not got
	doomed    []ConnID // connections that have refused what the others have
}

// inside are the session commands of a transaction.
type inside struct {
	number   batch.Number // of its MULTI
	commands []insideCommand
}

// insideCommand is one of them.
type insideCommand struct {
	element int // of the reply to EXEC
	op      *parser.Op
	resp    []byte
}

// begin takes the database of the handshake.
func (s *session) begin() {
	s.databases = map[string]bool{strconv.Itoa(s.e.cfg.DB): true}
}

// restore returns the commands that restore the state, in RESP.
func (s *session) restore() [][]byte {
	return slices.DeleteFunc(slices.Clone(s.resp[:]), func(resp []byte) bool { return resp == nil })
}

// selectCurrent returns the SELECT of the current database, in RESP.
func (s *session) selectCurrent() []byte {
	if resp := s.resp[slices.Index(remembered, "SELECT")]; resp != nil {
		return resp
	}
	db := strconv.Itoa(s.e.cfg.DB)
	return fmt.Appendf(nil, "*2\r\n$6\r\nSELECT\r\n$%d\r\n%s\r\n", len(db), db)
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
	if !failed && op.Name == "SELECT" {
		s.learn(databaseOf(appendArgs(nil, resp)), true)
	}
	return failed
}

// mostDatabases bounds how many databases are known: a server has fewer.
const mostDatabases = 1 << 16

// learn notes whether a database can be selected.
func (s *session) learn(database string, selected bool) {
	if len(s.databases) < mostDatabases || s.databases[database] != selected {
		s.databases[database] = selected
	}
}

// databaseOf returns what a SELECT names.
func databaseOf(args [][]byte) string { return string(bytes.Join(args[1:], []byte{' '})) }

// completed takes what became of a transaction. What its session commands have
// changed becomes the state, and the other connections must get it, too. If it
// is not known whether a SELECT of it has run, no command may follow until
// another one succeeds.
func (s *session) completed(c *Completion) {
	p := &c.Parts[0]
	if len(s.inside.commands) == 0 || p.Batch.Number(p.First) != s.inside.number {
		return
	}
	for _, in := range s.inside.commands {
		failed := slices.ContainsFunc(c.Errors, func(f batch.Failure) bool { return f.Element == in.element })
		switch c.Outcome {
		case batch.Acknowledged:
			if !s.changed(in.op, in.resp, failed) {
				s.align = append(s.align, in.resp)
				c.Session = append(c.Session, in.resp)
			}
		case batch.Unknown:
			s.refused = s.refused || in.op.Name == "SELECT"
		}
	}
	s.inside = inside{}
}
