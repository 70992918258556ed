package loader

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"respipe/internal/redistest"
	"respipe/loader/window"
	"respipe/parser"
)

// sundry writes n lines of commands of all kinds on few keys: of one key and of
// several, without one, blocks with keys of anywhere, such that begin without a
// key, and some that change the connection.
func sundry(rng *rand.Rand, n int) string {
	key := func() string { return fmt.Sprint("k", rng.IntN(20)) }
	single := func(i int) string {
		switch rng.IntN(4) {
		case 0:
			return fmt.Sprint("SET s", key(), " ", i)
		case 1:
			return fmt.Sprint("APPEND s", key(), " x", i)
		case 2:
			return fmt.Sprint("RPUSH l", key(), " ", i)
		}
		return fmt.Sprint("DEL s", key())
	}
	var text []string
	for i := range n {
		switch rng.IntN(16) {
		case 0:
			text = append(text, fmt.Sprint("MSET s", key(), " ", i, " s", key(), " ", i, " s", key(), " ", i))
		case 1:
			text = append(text, fmt.Sprint("DEL s", key(), " l", key()))
		case 2:
			text = append(text, fmt.Sprint("LMOVE l", key(), " l", key(), " LEFT RIGHT"))
		case 3:
			text = append(text, "MULTI", single(i), single(i+1), "EXEC")
		case 4:
			text = append(text, "MULTI", "PING", "EXEC", "MULTI", "PING", single(i), "DISCARD")
		case 5:
			k := key()
			text = append(text, "WATCH s"+k, "MULTI", "APPEND s"+k+" w", single(i), "EXEC")
		case 6:
			text = append(text, []string{"PING", "SELECT " + fmt.Sprint(rng.IntN(2)), "CLIENT SETNAME x", "DBSIZE"}[rng.IntN(4)])
		case 7:
			text = append(text, "MULTI", "SELECT "+fmt.Sprint(rng.IntN(2)), single(i), "EXEC")
		case 8:
			if rng.IntN(10) == 0 {
				text = append(text, "FLUSHDB")
			}
		default:
			text = append(text, single(i))
		}
	}
	return strings.Join(text, "\n")
}

// Several connections leave the same as one.
func TestConnectionsKeepTheOrder(t *testing.T) {
	server := redistest.Start(t, "--enable-debug-command", "yes")
	load := func(text string, connections, window int) (string, *Report) {
		server.CLI("FLUSHALL")
		cfg := config(func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Addr)
		})
		cfg.Connections, cfg.Window = connections, window
		rep, err := Run(context.Background(), script(text), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return server.CLI("DEBUG", "DIGEST"), rep
	}
	for seed := range uint64(20) {
		text := sundry(rand.New(rand.NewPCG(seed, 1)), 500)
		want, one := load(text, 1, 100)
		for _, connections := range []int{2, 5} {
			got, rep := load(text, connections, []int{1, 10, 1000}[seed%3])
			if got != want || rep.Errors != one.Errors || rep.Replies != one.Replies || rep.Acknowledged != one.Acknowledged {
				t.Fatalf("seed %d: %d connections: digest %s, %+v; one: %s, %+v", seed, connections, got, rep, want, one)
			}
		}
	}
}

// What was sent again is answered while a block is open on one pipeline and
// something was refused on another: the rest of the block must be able to go.
func TestAnOpenBlockGoesOnBeforeARedo(t *testing.T) {
	for _, resending := range []bool{false, true} {
		open := &pipeline{node: &node{}, sentOpen: true}
		refused := &pipeline{node: &node{}, redo: true}
		r := &run{pipes: []*pipeline{open, refused}, resending: resending}
		r.router.owners = new(slotMap)
		if err := r.proceed(); err != nil || r.troubled() {
			t.Errorf("resending %v: %v, troubled %v", resending, err, r.troubled())
		}
		if open.sentOpen = false; !r.troubled() {
			t.Error("and then nothing is sent again")
		}
	}
}

// The end of a block that is filled in but not sent goes before a redo though
// the next block has begun, of which it is not known yet where it goes.
func TestTheEndOfABlockGoesBeforeARedo(t *testing.T) {
	ours, theirs := tcpPair(t)
	go io.Copy(io.Discard, theirs)
	r := &run{mail: newMailbox(), tune: window.NewTuner(10), backlog: newBacklog(1 << 20)}
	open := &pipeline{node: &node{}, sentOpen: true}
	open.conn = newConn(ours, open, r)
	defer open.conn.close()
	open.batch = r.free.get(100, 1)
	open.batch.reset(parser.Mark{}, "a.txt")
	open.batch.resp = append(open.batch.resp, "*1\r\n$4\r\nEXEC\r\n"...)
	open.batch.add(1, parser.Pos{}, parser.Exec, 0)
	refused := &pipeline{node: &node{}, redo: true, unanswered: 1} // so that the redo itself waits
	r.pipes = []*pipeline{open, refused}
	r.router.owners = new(slotMap)
	r.block = OpenBlock{Open: true}
	r.lost = errString("the test is over") // when the turn of the redo has come
	r.catchUp()
	if open.batch != nil || open.sentOpen || open.unanswered != 1 {
		t.Errorf("the end of the block was not sent: %+v", open)
	}
}
