package loader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"respipe/parser"
)

// keyPrefix stands before the name of a load in the key of its position.
const keyPrefix = "respipe:"

// longestPosition bounds what is read from under the key of a position, in
// bytes.
const longestPosition = 1 << 20

// Position is how far a load that runs exactly once has come. It lies in the
// server, and is written together with the data.
type Position struct {
	// Mark is where the last record begins of which something is done, and DB
	// the database that is selected behind that. N is 0 when nothing is done.
	Mark parser.Mark
	// Commands is how many commands of that record are done; where the source
	// refused it, that is one.
	Commands int
	Records  int64           // read up to here, refused ones included
	Errors   int64           // among all that is known to be done
	Done     bool            // the input was loaded to its end
	Input    json.RawMessage // what ExactlyOnce.Identity returned

	// Confirmed is up to where replies had been seen by the run that wrote the
	// position; nil for all up to Mark. What lies between ran in one transaction,
	// and is unconfirmed unless its reply was seen.
	Confirmed *Confirmed
	// Unconfirmed is what is unconfirmed before that.
	Unconfirmed Unconfirmed
	// AfterUnconfirmed says that Config.After ran, and its reply was not seen by
	// the run that wrote the position.
	AfterUnconfirmed bool

	token string // of the run that wrote it
	raw   []byte // as it lies in the server
}

// Start returns the restart point: the Mark that a source must begin with, or
// before, and its Input. It lies before Mark if a transaction is unconfirmed.
func (p *Position) Start() (parser.Mark, json.RawMessage) {
	if c := p.Confirmed; c != nil {
		return c.Mark, c.Input
	}
	return p.Mark, p.Input
}

// placeJSON is a Mark, and how many commands of its record are done, as they are
// written.
type placeJSON struct {
	N        int64  `json:"n"`
	Commands int    `json:"commands"`
	File     int    `json:"file"`
	Offset   int64  `json:"offset"`
	Line     int    `json:"line"`
	DB       int    `json:"db"`
	State    []byte `json:"state,omitempty"`
}

func placeOf(m parser.Mark, commands int) placeJSON {
	return placeJSON{m.N, commands, m.File, m.Offset, m.Line, m.DB, m.State}
}

func (j *placeJSON) mark() parser.Mark {
	return parser.Mark{N: j.N, File: j.File, Offset: j.Offset, Line: j.Line, DB: j.DB, State: j.State}
}

func (j *placeJSON) valid() bool { return j.N >= 0 && j.Commands >= 0 && j.DB >= 0 }

// positionJSON is a Position as it is written. Positions of versions that knew
// nothing of unconfirmed records lack the last three members.
type positionJSON struct {
	placeJSON
	Records          int64            `json:"records"`
	Errors           int64            `json:"errors"`
	Done             bool             `json:"done"`
	Token            string           `json:"token"`
	Input            json.RawMessage  `json:"input,omitempty"`
	Confirmed        *confirmedJSON   `json:"confirmed,omitempty"`
	Unconfirmed      *unconfirmedJSON `json:"unconfirmed,omitempty"`
	AfterUnconfirmed bool             `json:"after_unconfirmed,omitempty"`
}

// encode writes p into its raw.
func (p *Position) encode() error {
	raw, err := json.Marshal(positionJSON{
		placeJSON: placeOf(p.Mark, p.Commands),
		Records:   p.Records, Errors: p.Errors, Done: p.Done, Token: p.token, Input: p.Input,
		Confirmed: p.Confirmed.json(), Unconfirmed: p.Unconfirmed.json(), AfterUnconfirmed: p.AfterUnconfirmed,
	})
	if err == nil && len(raw) > longestPosition {
		err = fmt.Errorf("the position would take %d bytes", len(raw))
	}
	p.raw = raw
	return err
}

// parsePosition reads what lies under a key.
func parsePosition(raw []byte) (*Position, error) {
	var j positionJSON
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&j); err != nil || dec.More() || j.Token == "" || !j.valid() {
		return nil, errNoPosition
	}
	p := &Position{
		Mark: j.mark(), Commands: j.Commands, Records: j.Records, Errors: j.Errors, Done: j.Done, Input: j.Input,
		Confirmed: j.Confirmed.confirmed(), Unconfirmed: j.Unconfirmed.unconfirmed(), AfterUnconfirmed: j.AfterUnconfirmed,
		token: j.Token, raw: bytes.Clone(raw),
	}
	if c := p.Confirmed; c != nil && (!j.Confirmed.valid() || !c.reach().before(p.reach())) || !p.Unconfirmed.valid() {
		return nil, errNoPosition
	}
	return p, nil
}

var errNoPosition = errors.New("what lies there is no position")

// reach is a place in the input, between two commands: so many of record n lie
// before it, and all of the records before that.
type reach struct {
	n        int64
	commands int
}

// reach returns where the position is; that of nil is the beginning.
func (p *Position) reach() reach {
	if p == nil {
		return reach{}
	}
	return reach{p.Mark.N, p.Commands}
}

func (a reach) before(b reach) bool {
	return a.n < b.n || a.n == b.n && a.commands < b.commands
}

// same reports whether two positions say the same, whoever wrote them.
func (p *Position) same(q *Position) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.reach() == q.reach() && p.Mark.DB == q.Mark.DB && p.Done == q.Done &&
		p.confirmed() == q.confirmed() && p.Unconfirmed.Records == q.Unconfirmed.Records && p.AfterUnconfirmed == q.AfterUnconfirmed
}

// confirmed returns up to where replies had been seen.
func (p *Position) confirmed() reach {
	if p == nil || p.Confirmed == nil {
		return p.reach()
	}
	return p.Confirmed.reach()
}

// identical reports whether two positions are one and the same.
func (p *Position) identical(q *Position) bool {
	if p == nil || q == nil {
		return p == q
	}
	return bytes.Equal(p.raw, q.raw)
}

// writtenBy reports whether the run with this token wrote the position: it adds
// to the token at each claim.
func (p *Position) writtenBy(token string) bool {
	return p != nil && strings.HasPrefix(p.token, token)
}

// PositionError says why a load that runs exactly once cannot go on.
type PositionError struct {
	Key string
	Err error // ErrTakenOver, ErrGone, ErrBehind, or the server's words
	// Refused says that the server does not let the position be read or written,
	// and so took no commands either: none is unknown.
	Refused bool
}

func (e *PositionError) Error() string {
	if e.Refused {
		return "the position in " + e.Key + " cannot be kept: " + e.Err.Error()
	}
	return e.Key + ": " + e.Err.Error()
}
func (e *PositionError) Unwrap() error { return e.Err }

// Why a load that runs exactly once cannot go on, in a PositionError.
var (
	ErrTakenOver = errors.New("another run has taken over")
	ErrGone      = errors.New("the position is gone, and with it the knowledge of what is loaded: was the database emptied?")
	ErrBehind    = errors.New("the server has lost what it had acknowledged, and the input cannot be read again from there")
)

// ReadPosition returns how far the load of a name has come, nil if it has not
// begun. It waits for the server as Run does. The error is a *ConnectError, a
// *PositionError or the cause of ctx.
func ReadPosition(ctx context.Context, cfg Config, name string) (*Position, error) {
	var p *Position
	err := visit(ctx, cfg, func(g *greeting) (err error) {
		p, err = g.position(keyPrefix + name)
		return err
	})
	return p, err
}

// Forget removes the position of a load, and reports whether there was one. The
// errors are those of ReadPosition.
func Forget(ctx context.Context, cfg Config, name string) (existed bool, err error) {
	err = visit(ctx, cfg, func(g *greeting) error {
		v, err := g.ask("DEL", keyPrefix+name)
		if err == nil && v.Kind == '-' {
			err = keyRefused(keyPrefix+name, v)
		}
		existed = string(v.Text) == "1"
		return err
	})
	return existed, err
}

// visit connects for a short talk, and again while WaitReady allows it.
func visit(ctx context.Context, cfg Config, talk func(*greeting) error) error {
	r := &run{ctx: ctx, cfg: cfg}
	r.cfg.CountKeys = false
	_, err := r.beginWith(func() (*greeting, error) {
		g, err := r.connectAny()
		if err != nil {
			return nil, err
		}
		defer g.nc.Close()
		if g.info.Mode == "cluster" {
			return nil, errOneServer(g)
		}
		return nil, g.within(ctx, func() error { return talk(g) })
	})
	return err
}

// errOneServer says that a position cannot be in one transaction with the data
// of several servers.
func errOneServer(g *greeting) error {
	return &ConnectError{Err: fmt.Errorf("%s is a node of a cluster: exactly once needs one server", g.addr)}
}

// position reads what lies under the key of a position; nil for nothing.
func (g *greeting) position(key string) (*Position, error) {
	v, err := g.ask("GET", key)
	if err != nil {
		return nil, err
	}
	return foundPosition(key, v)
}

// foundPosition reads the reply to GET. The error is a *ConnectError of a server
// that is not ready, or a *PositionError.
func foundPosition(key string, v parser.Value) (*Position, error) {
	switch {
	case v.Kind == '-':
		return nil, keyRefused(key, v)
	case v.Nil:
		return nil, nil
	}
	p, err := parsePosition(v.Text)
	if err != nil {
		return nil, &PositionError{Key: key, Err: err, Refused: true}
	}
	return p, nil
}

// keyRefused returns the error for an error reply that concerns the key of a
// position.
func keyRefused(key string, v parser.Value) error {
	if err := notReady(v, nil); err != nil {
		return err
	}
	return &PositionError{Key: key, Err: v.Err(), Refused: true}
}
