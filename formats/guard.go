package formats

import (
	"errors"
	"fmt"
	"strings"

	"respipe/parser"
)

// guard refuses commands that would do harm in a stream. It knows the file up
// to the command at hand.
type guard struct {
	inMulti   bool // between MULTI and EXEC
	quoteLine int  // the first line with a quote left open; 0 if there was none
}

// suspect tells the guard about a refused record. Behind a quote left open may
// stand the rest of a value, which is no command, whatever it looks like.
func (g *guard) suspect(err error, line int) {
	if g.quoteLine == 0 && errors.Is(err, parser.ErrOpenQuote) {
		g.quoteLine = line
	}
}

// check says why a command must not be sent, or nil and takes note of it. Two
// kinds are refused: what is not plain data behind a quote left open, and what
// does not answer with one reply in good time. A wrong password inside MULTI is
// of the second kind: servers from Redis 7.2 on, and Valkey up to 8, leave its
// element out of the reply of EXEC, and what is answered next takes its place
// (github.com/redis/redis/issues/15640).
func (g *guard) check(op *parser.Op, args [][]byte) error {
	switch {
	case op.Unsafe && g.quoteLine > 0:
		return fmt.Errorf("%s is refused because line %d left a quote open: this may be the rest of a value", op.Name, g.quoteLine)
	case op.Class == parser.Refused, op.Class == parser.RefusedAlone && !g.inMulti:
		return fmt.Errorf("%s %s, it cannot be piped", op.Name, harm(op.Name))
	case g.inMulti && op.Name == "AUTH":
		return errors.New("AUTH inside MULTI may never be answered, it cannot be piped")
	case !g.inMulti && op.Blocks(args):
		return fmt.Errorf("%s without a timeout may wait for ever, it cannot be piped", op.Name)
	}
	switch op.Class {
	case parser.Multi:
		g.inMulti = true
	case parser.Exec, parser.Discard:
		g.inMulti = false
	}
	return nil
}

// harm is what a refused command does to the stream.
func harm(name string) string {
	switch name {
	case "MONITOR":
		return "never ends its replies"
	case "SYNC", "PSYNC", "REPLCONF":
		return "makes a replica of the connection"
	case "QUIT":
		return "closes the connection"
	case "RESET", "HELLO":
		return "changes how the connection talks"
	case "CLIENT REPLY":
		return "switches replies off"
	case "SHUTDOWN":
		return "stops the server"
	case "WAIT", "WAITAOF":
		return "holds up all that follows"
	}
	if strings.HasSuffix(name, "SUBSCRIBE") {
		return "does not answer with one reply"
	}
	return "breaks the order of replies"
}
