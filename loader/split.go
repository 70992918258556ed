package loader

import (
	"bytes"
	"fmt"
	"slices"

	"respipe/parser"
)

// split is a command of the input that is sent in several pieces: to several
// nodes, or its keys by slot. It counts as one command, with one reply.
type split struct {
	left   int      // pieces that are not settled
	faults []string // of pieces: what they were answered
	nodes  []string // from which
	n      int64
	pos    parser.Pos
	from   origin
	adds   bool   // its reply is the sum of those to the pieces
	reply  []byte // with Config.KeepReplies

	last  *Batch // in which it counts, at place lastI: that of its last piece
	lastI int
}

// ends reports whether a command sent in pieces counts at place i of b.
func (s *split) ends(b *Batch, i int) bool { return s != nil && s.last == b && s.lastI == i }

// takeEverywhere takes on a command that goes to several pipelines, when all
// before it is answered, and waits for the answers. Which ones they are is asked
// when all is answered: until then nodes may come and go.
func (r *run) takeEverywhere(c *parser.Command, to func() []*pipeline) error {
	if err := r.settleAll(); err != nil {
		return err
	}
	pipes := to()
	r.taken(c.Last)
	r.leader, r.stateBad = pipes[0], false
	defer func() { r.leader = nil }()
	s := &split{left: len(pipes), n: c.N, pos: c.Pos, from: keptOrigin(c)}
	for _, p := range pipes {
		if p.batch == nil {
			r.newBatch(p, c.Pos, nil)
		}
		r.addPiece(p, s, c.Op.Class, c.Args)
	}
	if err := r.settleAll(); err != nil {
		return err
	}
	if c.Op.Class != parser.State {
		return nil
	}
	if !r.stateBad {
		r.remember(c.Op, parser.AppendCommand(nil, c.Args))
		return nil
	}
	return r.alignDB(r.leader) // one may have refused what another one did
}

// keptOrigin returns where a command comes from whose pieces are not that: its
// text is kept.
func keptOrigin(c *parser.Command) origin {
	s := originOf(c, 0)
	s.asSent = false
	s.text = bytes.Clone(s.text)
	return s
}

func (r *run) allPipes() []*pipeline { return slices.Clone(r.pipes) }

// masters returns one pipeline for each node.
func (r *run) masters() (pipes []*pipeline) {
	for _, n := range r.nodes {
		pipes = append(pipes, n.pipes[0])
	}
	return pipes
}

// takeSplit takes on a command whose keys lie in several slots, as one piece
// for each slot.
func (r *run) takeSplit(c *parser.Command) error {
	pieces := piecesOf(c)
	s := &split{left: len(pieces), n: c.N, pos: c.Pos, from: keptOrigin(c), adds: true}
	for _, piece := range pieces {
		p, err := r.room(piece.slot, c.N, c.Pos, parser.CommandSize(piece.args)+s.from.size(), nil)
		if err != nil {
			return err
		}
		r.taken(false)
		r.addPiece(p, s, c.Op.Class, piece.args)
		if err := r.cutFull(p); err != nil {
			return err
		}
	}
	r.taken(c.Last)
	r.rep.Split++
	return nil
}

// addPiece appends a piece to the batch of p.
func (r *run) addPiece(p *pipeline, s *split, class parser.Class, args [][]byte) {
	b := p.batch
	b.resp = parser.AppendCommand(b.resp, args)
	b.add(s.n, s.pos, class, piece)
	b.trace(s.from)
	b.split(b.Len()-1, s)
	b.plain = false
}

// slotPiece is what a command does in one slot.
type slotPiece struct {
	slot int
	args [][]byte
}

// piecesOf returns the pieces of a command whose keys are all of its
// arguments, or every so many of them, in the order of their first keys.
func piecesOf(c *parser.Command) (pieces []slotPiece) {
	index := map[int]int{}
	step := c.Op.Keys[0].Step
	for i := 1; i < len(c.Args); i += step {
		slot := parser.Slot(c.Args[i])
		at, known := index[slot]
		if !known {
			at = len(pieces)
			index[slot] = at
			pieces = append(pieces, slotPiece{slot, [][]byte{c.Args[0]}})
		}
		pieces[at].args = append(pieces[at].args, c.Args[i:min(i+step, len(c.Args))]...)
	}
	return pieces
}

// settlePieces settles the pieces in b. With the last one its command counts,
// where that stands.
func (r *run) settlePieces(b *Batch) {
	for i := range b.places {
		s := b.splits[i]
		if s == nil {
			continue
		}
		s.left--
		s.take(b, i)
		s.takeReply(b.reply(i))
		if s.left > 0 {
			continue
		}
		s.last, s.lastI = b, i
		r.rep.Replies++
		r.rep.Sent++
		if len(s.faults) == 0 {
			r.rep.Acknowledged++
			continue
		}
		b.fail(i, []byte(s.text()), false)
	}
}

// take takes over what piece i of b was answered.
func (s *split) take(b *Batch, i int) {
	rest := b.failures[:0]
	for _, f := range b.failures {
		if f.I != i || f.Warning {
			rest = append(rest, f)
			continue
		}
		s.faults = append(s.faults, string(f.Text))
		s.nodes = append(s.nodes, b.node.addr)
	}
	b.failures = rest
}

// text joins the errors of the pieces in one, which names the nodes.
func (s *split) text() string {
	var text bytes.Buffer
	text.WriteString(s.faults[0])
	for i, addr := range s.nodes {
		word := ", "
		if i == 0 {
			word = " (on "
		}
		fmt.Fprintf(&text, "%s%s", word, addr)
		if s.faults[i] != s.faults[0] {
			fmt.Fprintf(&text, ": %s", s.faults[i])
		}
	}
	text.WriteByte(')')
	return text.String()
}
