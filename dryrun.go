package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"strings"

	"github.com/alicebob/miniredis/v2"

	"respipe/loader"
	"respipe/parser"
)

// rehearsed is how many records a dry run executes, if --limit is not above.
const rehearsed = 10_000

// rehearse loads source into a Redis inside this process, which opens no port,
// and shows on c what would be there.
func rehearse(ctx context.Context, source loader.Source, s *settings, c *console) (*loader.Report, error) {
	redis, oracle := miniredis.NewMiniRedis(), miniredis.NewMiniRedis()
	defer redis.Close()
	defer oracle.Close()
	r := &rehearsal{Source: source, ctx: ctx, limit: max(rehearsed, s.input.Limit), oracle: oracle, known: map[*parser.Op]bool{}, notSimulated: map[string]int64{}}
	cfg := s.config(c)
	cfg.Dial = func(context.Context, string) (net.Conn, error) { return redis.Dial() }
	cfg.Connections, cfg.Cluster, cfg.Master = 1, false, nil
	cfg.User, cfg.Pass, cfg.OnConnect, cfg.After = "", "", nil, nil
	cfg.Timeout = 0 // nothing is answered while the rest of the input is checked
	report, err := loader.Run(ctx, r, cfg)
	report.Records = r.records
	c.rehearsal(r, takeStock(redis, s.server.db))
	return report, err
}

// rehearsal hands out the first records of a source, as far as the Redis at
// hand can execute them, and only checks and counts the others.
type rehearsal struct {
	loader.Source
	ctx          context.Context
	limit        int64
	oracle       *miniredis.Miniredis // tells which commands there are; holds nothing
	known        map[*parser.Op]bool
	notSimulated map[string]int64

	last    int64 // number of the record that the last command came from
	records int64 // read, refused ones included
}

// Next is that of loader.Source.
func (r *rehearsal) Next(cmd *parser.Command) error {
	for {
		err := r.Source.Next(cmd)
		if err != nil {
			if _, refused := errors.AsType[*parser.Error](err); refused {
				r.records++
			}
			return err
		}
		if cmd.N != r.last {
			r.last = cmd.N
			r.records++
		}
		switch {
		case r.records > r.limit && r.ctx.Err() == nil: // with it, Run wants to stop
		case r.simulates(cmd.Op):
			return nil
		default:
			r.notSimulated[cmd.Op.Name]++
		}
	}
}

// simulates tells whether the command can be executed here. One that the table
// does not know either is left to the Redis at hand to refuse.
func (r *rehearsal) simulates(op *parser.Op) bool {
	if !op.Known() {
		return true
	}
	known, asked := r.known[op]
	if !asked {
		known = r.ask(op.Name)
		r.known[op] = known
	}
	return known
}

// ask sends the bare name of a command to the oracle.
func (r *rehearsal) ask(name string) bool {
	conn, err := r.oracle.Dial()
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := conn.Write(parser.AppendCommand(nil, bytes.Fields([]byte(name)))); err != nil {
		return false
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && !strings.HasPrefix(answer, "-ERR unknown command") && !strings.HasPrefix(answer, "-ERR unknown subcommand '")
}
