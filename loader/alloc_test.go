package loader

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"

	"respipe/parser"
)

// repeat is a Source of n times the same command.
type repeat struct {
	command parser.Command
	n       int64
}

func repeated(n int64, args ...string) *repeat {
	var words [][]byte
	for _, arg := range args {
		words = append(words, []byte(arg))
	}
	var ops parser.Ops
	return &repeat{n: n, command: parser.Command{Pos: parser.Pos{File: "x", Line: 1}, Last: true, Args: words, Op: ops.Find(words)}}
}

func (s *repeat) Await(parser.Wait) {}
func (s *repeat) Mark() parser.Mark { return parser.Mark{N: s.command.N, Line: s.command.Pos.Line} }
func (s *repeat) Next(c *parser.Command) error {
	if s.command.N == s.n {
		return io.EOF
	}
	s.command.N++
	s.command.Pos.Line++
	*c = s.command
	return nil
}

// sink answers +OK for each so many bytes that it reads, after the greeting.
func sink(t testing.TB, size int) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		ours, theirs := tcpPair(t)
		go func() {
			defer theirs.Close()
			buf := make([]byte, 256<<10)
			for _, name := range greetings {
				if _, err := theirs.Read(buf); err != nil {
					return
				}
				theirs.Write(greetingReply([]string{name}))
			}
			replies := []byte(strings.Repeat("+OK\r\n", len(buf)/size+1))
			for rest := 0; ; {
				n, err := theirs.Read(buf)
				if err != nil {
					return
				}
				rest += n
				if _, err := theirs.Write(replies[:rest/size*5]); err != nil {
					return
				}
				rest %= size
			}
		}()
		return ours, nil
	}
}

func TestNoAllocationPerCommand(t *testing.T) {
	const plain, kept, checkpoints = 0, 1, 2
	load := func(n int64, window, way int) uint64 {
		src := repeated(n, "SET", "key:123456", "value-of-some-length")
		cfg := config(sink(t, len(parser.AppendCommand(nil, src.command.Args))))
		cfg.Window = window
		if way >= kept {
			src.command.Src = []byte("123456,value-of-some-length")
			cfg.KeepSource, cfg.KeepReplies = true, 100
		}
		if way == checkpoints {
			cfg.OnCheckpoint = func(Checkpoint) error { return nil }
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rep, err := Run(context.Background(), src, cfg)
		runtime.ReadMemStats(&after)
		if err != nil || rep.Replies != n || rep.Acknowledged != n {
			t.Fatal(err, rep)
		}
		return after.Mallocs - before.Mallocs
	}
	const more = 200_000
	for _, window := range []int{0, 100, 1000, 100_000} {
		for _, way := range []int{plain, kept, checkpoints} {
			few := int64(1000)
			if way >= kept {
				few = 100_000 // or the first replies of each batch would count
			}
			least := uint64(math.MaxUint64)
			for range 3 { // a machine that is busy makes many small batches of them
				small, large := load(few, window, way), load(few+more, window, way)
				if least = min(least, max(large, small)-small); least <= more/100 {
					break
				}
			}
			if least > more/100 {
				t.Errorf("window %d, way %d: %d more commands take %d more allocations", window, way, more, least)
			}
		}
	}
}

// TestNoAllocationPerReply is about the way from the socket to the tally.
func TestNoAllocationPerReply(t *testing.T) {
	for _, replies := range []string{"+OK\r\n", ":1\r\n", ":123456\r\n", "$3\r\nabc\r\n", "*2\r\n$1\r\na\r\n:1\r\n"} {
		c := &conn{in: make(chan *Batch, 1), mail: newMailbox()}
		var b Batch
		b.reset(parser.Mark{}, "x")
		for range 1000 {
			b.add(1, parser.Pos{File: "x"}, parser.Write, 0)
		}
		stream := bytes.Repeat([]byte(replies), 1000)
		allocs := testing.AllocsPerRun(10, func() {
			b.unfinished.Store(2)
			c.in <- &b
			if err := c.take(stream); err != nil {
				t.Fatal(err)
			}
			if e := c.mail.take(); len(e) != 1 || e[0].kind != answered {
				t.Fatal(e)
			}
		})
		if allocs > 0 {
			t.Errorf("%q: %v allocations for 1000 replies", replies, allocs)
		}
	}
}

// TestLongBlock holds the memory of a block of any length to 24 bytes a
// command beyond the window.
func TestLongBlock(t *testing.T) {
	const n = 1_000_000
	args := []string{"SET", "key:123456", "v"}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var grown uint64
	src := &inBlock{repeat: repeated(n, args...), before: func() { grown = heap() - before }}
	cfg := config(serveBlock(t, len(parser.AppendCommand(nil, src.command.Args)), n))
	cfg.Window, cfg.WindowBytes = 1000, 1<<20
	rep, err := Run(context.Background(), src, cfg)
	if err != nil || rep.Acknowledged != n+1 || rep.Errors != 1 || rep.Sent != n+2 || rep.Bytes < n*int64(len("*3SET")) {
		t.Fatalf("%v, %+v", err, rep)
	}
	if limit := uint64(placeBytes*n + 8<<20); grown > limit {
		t.Errorf("a block of %d commands takes %d bytes", n, grown)
	}
	if kind := rep.Kinds[0]; kind.First.Line != n/2+3 {
		t.Errorf("the error of the element in the middle is at %v", kind.First)
	}
}

// inBlock puts MULTI before the commands and EXEC behind them.
type inBlock struct {
	*repeat
	before func() // called before the EXEC
	step   int
}

func (s *inBlock) Next(c *parser.Command) error {
	switch s.step {
	case 0:
		s.step = 1
		return s.one(c, "MULTI")
	case 1:
		if err := s.repeat.Next(c); err == nil {
			return nil
		}
		s.before()
		s.step = 2
		return s.one(c, "EXEC")
	}
	return io.EOF
}

func (s *inBlock) one(c *parser.Command, name string) error {
	s.n++
	all := s.command
	s.command = repeated(1, name).command
	s.command.N, s.command.Pos = all.N, all.Pos
	err := s.repeat.Next(c)
	all.N, all.Pos = s.command.N, s.command.Pos
	s.command = all
	return err
}

// serveBlock is a server for one block of n commands of size bytes, the one in
// the middle of which fails.
func serveBlock(t testing.TB, size, n int) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		ours, theirs := tcpPair(t)
		go func() {
			defer theirs.Close()
			br := bufio.NewReaderSize(theirs, 256<<10)
			bw := bufio.NewWriterSize(theirs, 64<<10)
			answer := func(request int, reply string) {
				if _, err := br.Discard(request); err == nil {
					bw.WriteString(reply)
				}
				if br.Buffered() == 0 {
					bw.Flush()
				}
			}
			for _, name := range greetings {
				request := "*1\r\n$4\r\n" + name + "\r\n"
				if name == "HELLO" {
					request = "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n"
				}
				answer(len(request), string(greetingReply([]string{name})))
			}
			answer(len("*1\r\n$5\r\nMULTI\r\n"), "+OK\r\n")
			for range n {
				answer(size, "+QUEUED\r\n")
			}
			answer(len("*1\r\n$4\r\nEXEC\r\n"), fmt.Sprintf("*%d\r\n", n))
			for i := range n {
				bw.WriteString(map[bool]string{true: "-ERR odd\r\n", false: "+OK\r\n"}[i == n/2])
			}
			bw.Flush()
			io.Copy(io.Discard, br)
		}()
		return ours, nil
	}
}
