package loader

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"respipe/parser"
)

// claim makes the position ours: it writes it anew, with a token that nobody
// has, until that succeeds. From then on nothing of an older connection or an
// older run can be committed, as these watch the key. It returns what was found
// there, nil for nothing, and leaves the key watched. May looks at that first;
// its error ends the claim.
func (x *exactly) claim(g *greeting, may func(found *Position) error) (found *Position, err error) {
	found, err = x.watch(g)
	for err == nil {
		if err = may(found); err != nil {
			break
		}
		var mine, now *Position
		if mine, err = x.renewed(found); err != nil {
			break
		}
		var won bool
		won, now, err = x.put(g, mine)
		switch {
		case err != nil:
		case won && now != nil && bytes.Equal(now.raw, mine.raw):
			x.held = mine
			return found, nil
		case won:
			err = x.contested(now)
		case x.ctx.Err() != nil:
			err = context.Cause(x.ctx)
		}
		found = now
	}
	return nil, err
}

// renewed returns a position that says what p says, with a fresh token.
func (x *exactly) renewed(p *Position) (*Position, error) {
	mine := Position{Mark: parser.Mark{DB: x.cfg.DB}}
	if p != nil {
		mine = *p
	} else if err := x.identify(&mine); err != nil {
		return nil, err
	}
	x.claims++
	mine.token = x.token + "." + strconv.Itoa(x.claims)
	return &mine, mine.encode()
}

// identify notes in p what tells the input.
func (x *exactly) identify(p *Position) (err error) {
	if x.once.Identity != nil {
		p.Input, err = x.once.Identity(p.Mark)
	}
	return err
}

// watch watches the key and reads it.
func (x *exactly) watch(g *greeting) (*Position, error) {
	if _, err := g.nc.Write(slices.Concat(x.request("WATCH"), x.request("GET"))); err != nil {
		return nil, err
	}
	return x.watched(g)
}

// watched reads the replies to WATCH and GET.
func (x *exactly) watched(g *greeting) (*Position, error) {
	v, err := g.reply()
	if err != nil {
		return nil, err
	}
	if v.Kind == '-' {
		err = keyRefused(x.key, v)
	}
	if v, lost := g.reply(); lost != nil {
		return nil, lost
	} else if err == nil {
		return foundPosition(x.key, v)
	}
	return nil, err
}

// put writes p, if the key is what it was when it was watched, and watches and
// reads it again. Nothing is sent before the reply to MULTI: if MULTI is
// refused, a SET would run at once, whatever lies under the key.
func (x *exactly) put(g *greeting, p *Position) (won bool, now *Position, err error) {
	v, err := g.exchange(multiRequest)
	if err == nil && v.Kind == '-' {
		err = keyRefused(x.key, v)
	}
	if err != nil {
		return false, nil, err
	}
	command := slices.Concat(x.request("SET", p.raw), execRequest, x.request("WATCH"), x.request("GET"))
	if _, err := g.nc.Write(command); err != nil {
		return false, nil, err
	}
	var refused error
	for range 2 {
		v, err := g.reply()
		if err != nil {
			return false, nil, err
		}
		if v.Kind == '-' && refused == nil {
			refused = keyRefused(x.key, v)
		}
		won = v.Kind == '*' && !v.Nil
	}
	if now, err = x.watched(g); refused != nil {
		err = refused
	}
	return won, now, err
}

var (
	multiRequest = []byte("*1\r\n$5\r\nMULTI\r\n")
	execRequest  = []byte("*1\r\n$4\r\nEXEC\r\n")
)

// request returns a command on the key of the position.
func (x *exactly) request(name string, args ...[]byte) []byte {
	return parser.AppendCommand(nil, append([][]byte{[]byte(name), []byte(x.key)}, args...))
}

// contested returns why the position that lies under the key, nil for none, is
// not the one that we wrote.
func (x *exactly) contested(now *Position) error {
	if now == nil {
		return &PositionError{Key: x.key, Err: ErrGone}
	}
	return &PositionError{Key: x.key, Err: ErrTakenOver}
}
