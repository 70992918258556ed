package loader

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"respipe/parser"

	"github.com/alicebob/miniredis/v2"
)

// lines is a Source of command lines. A line that begins with "!" is a record
// that the source refuses; a line "---" ends a file; "?" is broken input.
type lines struct {
	text []string
	n    int64
	line int
	file int
	ops  parser.Ops
	args [][]byte
	wait parser.Wait
	mark parser.Mark

	before func(n int64) // called before record n is handed out
	spaces bool          // "~" in an argument is a space
	keeps  bool          // it hands out the source text
}

func script(text string) *lines {
	return &lines{text: strings.Split(strings.TrimSpace(text), "\n")}
}

func (s *lines) Await(w parser.Wait) { s.wait = w }
func (s *lines) Mark() parser.Mark   { return s.mark }
func (s *lines) name() string        { return string(rune('a'+s.file)) + ".txt" }
func (s *lines) pos() parser.Pos {
	return parser.Pos{File: s.name(), Line: s.line, Offset: int64(s.line)}
}

func (s *lines) Next(c *parser.Command) error {
	if len(s.text) == 0 {
		s.mark = parser.Mark{N: s.n + 1, File: s.file, Line: s.line + 1}
		return io.EOF
	}
	text := strings.TrimSpace(s.text[0])
	s.text = s.text[1:]
	if text == "---" {
		s.file++
		s.line = 0
		return s.Next(c)
	}
	s.line++
	s.n++
	if s.before != nil {
		s.before(s.n)
	}
	s.mark = parser.Mark{N: s.n, File: s.file, Line: s.line, Offset: int64(s.line)}
	switch {
	case strings.HasPrefix(text, "!"):
		return &parser.Error{Pos: s.pos(), Err: errString(text[1:]), Src: s.source(text)}
	case text == "?":
		s.text = []string{"?"}
		return &parser.Broken{Pos: s.pos(), Err: errString("broken")}
	}
	s.args = s.args[:0]
	for _, word := range strings.Fields(text) {
		if s.spaces {
			word = strings.ReplaceAll(word, "~", " ")
		}
		s.args = append(s.args, []byte(word))
	}
	*c = parser.Command{Pos: s.pos(), File: s.file, N: s.n, Last: true, Args: s.args, Op: s.ops.Find(s.args), Src: s.source(text)}
	return nil
}

func (s *lines) source(text string) []byte {
	if !s.keeps {
		return nil
	}
	return []byte(text)
}

type errString string

func (e errString) Error() string { return string(e) }

// serve answers one connection: each request, and each piece of a pipeline, is
// given to handle, whose bytes are written back; nil closes the connection.
func serve(t *testing.T, handle func(args []string) []byte) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		ours, theirs := tcpPair(t)
		go func() {
			defer theirs.Close()
			br := bufio.NewReader(theirs)
			for {
				args, err := readRequest(br)
				if err != nil {
					return
				}
				reply := greetingReply(args)
				if reply == nil {
					reply = handle(args)
				}
				if reply == nil {
					return
				}
				if _, err := theirs.Write(reply); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}
}

// greetings are the commands that a connection is opened with.
var greetings = []string{"HELLO", "PING", "INFO"}

// greetingReply answers them.
func greetingReply(args []string) []byte {
	switch args[0] {
	case "HELLO":
		return []byte("*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$2\r\nid\r\n:7\r\n")
	case "PING":
		return []byte("+PONG\r\n")
	case "INFO":
		return []byte("$42\r\nrun_id:00\r\nrole:master\r\nconnected_slaves:1\r\n")
	}
	return nil
}

func tcpPair(t testing.TB) (ours, theirs net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			close(accepted)
			return
		}
		accepted <- c
	}()
	ours, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs = <-accepted
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// readRequest reads one RESP request.
func readRequest(br *bufio.Reader) ([]string, error) {
	line, err := br.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	resp := line
	count := 0
	for _, c := range bytes.TrimSpace(line[1:]) {
		count = count*10 + int(c-'0')
	}
	for range count {
		head, err := br.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		size := 0
		for _, c := range bytes.TrimSpace(head[1:]) {
			size = size*10 + int(c-'0')
		}
		body := make([]byte, size+2)
		if _, err := io.ReadFull(br, body); err != nil {
			return nil, err
		}
		resp = append(append(resp, head...), body...)
	}
	var args []string
	for _, arg := range parser.ParseRequest(resp, nil) {
		args = append(args, string(arg))
	}
	return args, nil
}

// config is one for tests: nothing in it waits for long.
func config(dial func(context.Context) (net.Conn, error)) Config {
	return Config{
		Servers: Servers{
			Dial:           func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) },
			Addrs:          []string{"server"},
			ConnectTimeout: 5 * time.Second,
		},
		Limits: Limits{Window: 1000, WindowBytes: 8 << 20, Timeout: 10 * time.Second, MaxErrors: -1},
	}
}

// shown collects what OnSettled is told, as "file:line text".
type shown struct {
	errors   []string
	warnings []string
	commands int
	order    []int64
}

func (s *shown) settled(b Completed) error {
	for i := range b.Len() {
		s.order = append(s.order, b.N(i))
	}
	s.commands += b.Len()
	for _, f := range b.Failures() {
		text := b.Pos(f.I).String() + " " + string(f.Text)
		if f.Warning {
			s.warnings = append(s.warnings, text)
		} else {
			s.errors = append(s.errors, text)
		}
	}
	return nil
}

// dialer connects to a Redis in this process.
func dialer(m *miniredis.Miniredis) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) { return m.Dial() }
}

// failureOf returns the error of command i, nil if there is none.
func failureOf(c Completed, i int) *Failure {
	for _, f := range c.Failures() {
		if f.I == i && !f.Warning {
			return &f
		}
	}
	return nil
}
