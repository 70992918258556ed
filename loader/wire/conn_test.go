package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"respipe/loader/wire/reply"
	"respipe/parser"
)

// pair returns the two ends of a TCP connection.
func pair(t testing.TB) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ours, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// opaque hides what kind of connection it is, as TLS does.
type opaque struct{ net.Conn }

// collector takes the news of one connection until it is lost or so many replies
// have come.
type collector struct {
	waker   *Waker
	conn    *Conn
	replies int
	errors  []string
	kept    []string
	err     error
}

func (c *collector) collect(t testing.TB, replies int) {
	t.Helper()
	late := time.After(20 * time.Second)
	for c.replies < replies && c.err == nil {
		if !c.waker.Ready() {
			select {
			case <-c.waker.Wait():
				c.waker.Waited(true)
			case <-late:
				t.Fatalf("%d replies of %d, %v", c.replies, replies, c.err)
			}
			continue
		}
		n := c.conn.Take()
		for _, e := range n.Errors {
			c.errors = append(c.errors, fmt.Sprint(c.replies+e.Index, " ", string(e.Text)))
		}
		from := 0
		for _, end := range n.Ends {
			c.kept = append(c.kept, string(n.Kept[from:end]))
			from = end
		}
		c.replies += n.Replies
		c.err = n.Err
	}
}

func open(nc net.Conn, opts Options) *collector {
	w := NewWaker()
	return &collector{waker: w, conn: New(nc, w, opts)}
}

// Commands of any size arrive in their order, whether the socket takes them at
// once or not, and each error comes with the command that it answers.
func TestWriteAndTake(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"TCP":    func(c net.Conn) net.Conn { return c },
		"opaque": func(c net.Conn) net.Conn { return opaque{c} },
	} {
		for _, lazy := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " lazy ", lazy), func(t *testing.T) {
				ours, theirs := pair(t)
				c := open(wrap(ours), Options{Lazy: lazy})
				defer c.conn.Close()
				var want bytes.Buffer
				got := make(chan []byte)
				const batches, each = 200, 50
				go func() {
					time.Sleep(20 * time.Millisecond) // the socket is full by then
					br, all := bufio.NewReaderSize(theirs, 1<<20), []byte(nil)
					for range batches {
						line, _ := br.ReadBytes('\n')
						all = append(all, line...)
						fmt.Fprint(theirs, strings.Repeat("+OK\r\n", each-1)+"-ERR "+string(line[:5])+"\r\n")
					}
					got <- all
				}()
				for i := range batches {
					batch := fmt.Appendf(nil, "%05d%s\n", i, strings.Repeat("x", i*i))
					want.Write(batch)
					c.conn.Write(batch, each)
				}
				c.collect(t, batches*each)
				if all := <-got; !bytes.Equal(all, want.Bytes()) || c.conn.Written() != int64(want.Len()) {
					t.Errorf("%d bytes arrived of %d, in another order; %d written", len(all), want.Len(), c.conn.Written())
				}
				for i, e := range c.errors {
					if e != fmt.Sprintf("%d ERR %05d", (i+1)*each-1, i) {
						t.Errorf("error %d: %s", i, e)
					}
				}
				if len(c.errors) != batches || c.err != nil {
					t.Errorf("%d errors, %v", len(c.errors), c.err)
				}
			})
		}
	}
}

// The replies before a loss are told before it, and how much was written is
// final then.
func TestLoss(t *testing.T) {
	for _, row := range []struct {
		says    string
		replies int
		err     string
		is      error
	}{
		{"", 0, "the server closed the connection", nil},
		{"+OK\r\n:1\r\n", 2, "the server closed the connection", nil},
		{"+OK\r\n$5\r\nab", 1, "the server closed the connection in the middle of a reply", nil},
		{"+OK\r\n:1\r\n+OK\r\n+OK\r\n", 3, "", reply.ErrUnexpected},
		{"+OK\r\nhello\r\n", 1, "", parser.ErrNotRESP},
	} {
		ours, theirs := pair(t)
		c := open(ours, Options{})
		c.conn.Write([]byte("three commands"), 3)
		io.ReadFull(theirs, make([]byte, len("three commands")))
		io.WriteString(theirs, row.says)
		theirs.Close()
		c.collect(t, 9)
		if c.replies != row.replies || row.err != "" && c.err.Error() != row.err || row.is != nil && !errors.Is(c.err, row.is) {
			t.Errorf("%q: %d replies, %v", row.says, c.replies, c.err)
		}
		written := c.conn.Written()
		c.conn.Write([]byte("more"), 1)
		if written != int64(len("three commands")) || c.conn.Written() != written {
			t.Errorf("%q: %d bytes written, then %d", row.says, written, c.conn.Written())
		}
		c.conn.Close()
	}
}

// A write to a server that has closed the connection does not hide what the
// server said before.
func TestLastReplies(t *testing.T) {
	ours, theirs := pair(t)
	c := open(ours, Options{})
	defer c.conn.Close()
	io.WriteString(theirs, "") // nothing is owed yet
	c.conn.Write([]byte("a"), 1)
	io.ReadFull(theirs, make([]byte, 1))
	io.WriteString(theirs, "-ERR max number of clients reached\r\n")
	theirs.(*net.TCPConn).CloseWrite()
	for range 10 {
		c.conn.Write(bytes.Repeat([]byte("x"), 1<<20), 1)
	}
	c.collect(t, 99)
	if c.replies != 1 || len(c.errors) != 1 || c.err == nil {
		t.Errorf("%d replies, %q, %v", c.replies, c.errors, c.err)
	}
}

// A server whose replies are kept is held up when nobody takes them.
func TestKeptRepliesAreBounded(t *testing.T) {
	ours, theirs := pair(t)
	c := open(ours, Options{Keep: reply.KeepAll, KeepBytes: 100 << 10})
	defer c.conn.Close()
	const replies = 2000
	c.conn.Write([]byte("commands"), replies)
	value := "$10000\r\n" + strings.Repeat("v", 10000) + "\r\n"
	go io.WriteString(theirs, strings.Repeat(value, replies))
	time.Sleep(100 * time.Millisecond) // in which all of it would have been read
	c.conn.mu.Lock()
	waiting := len(c.conn.news.Kept)
	c.conn.mu.Unlock()
	if waiting > 100<<10+readBuffer+len(value) {
		t.Errorf("%d bytes are kept", waiting)
	}
	c.collect(t, replies)
	for i, text := range c.kept {
		if text != value {
			t.Fatalf("reply %d is %.50q", i, text)
		}
	}
	if len(c.kept) != replies {
		t.Errorf("%d replies kept", len(c.kept))
	}
}

// Close returns though the server takes nothing and replies wait to be taken.
func TestClose(t *testing.T) {
	ours, theirs := pair(t)
	c := open(ours, Options{Keep: reply.KeepAll, KeepBytes: 1})
	c.conn.Write(bytes.Repeat([]byte("x"), 64<<20), 9)
	io.WriteString(theirs, "+OK\r\n+OK\r\n")
	closed := make(chan struct{})
	go func() { c.conn.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("Close does not return")
	}
}

// A wake is not lost whenever it comes.
func TestWaker(t *testing.T) {
	w := NewWaker()
	const wakes = 20_000
	taken, asked := make(chan struct{}), make(chan struct{})
	go func() {
		for range wakes {
			w.Wake()
			<-taken
		}
		close(asked)
	}()
	other := time.NewTicker(10 * time.Microsecond)
	defer other.Stop()
	for {
		if w.Ready() {
			taken <- struct{}{}
			continue
		}
		select {
		case <-asked:
			return
		case <-w.Wait():
			w.Waited(true)
		case <-other.C:
			w.Waited(false)
		}
	}
}

// BenchmarkConn sends batches of commands to a server that answers each batch at
// once, with so many batches in flight.
func BenchmarkConn(b *testing.B) {
	for _, size := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(size, " commands"), func(b *testing.B) {
			ours, theirs := pair(b)
			c := open(ours, Options{})
			defer c.conn.Close()
			batch := bytes.Repeat([]byte("*3\r\n$3\r\nSET\r\n$8\r\nkey:1234\r\n$5\r\nvalue\r\n"), size)
			go func() {
				answer := bytes.Repeat([]byte("+OK\r\n"), size)
				for buf := make([]byte, len(batch)); ; {
					if _, err := io.ReadFull(theirs, buf); err != nil {
						return
					}
					if _, err := theirs.Write(answer); err != nil {
						return
					}
				}
			}()
			b.ReportAllocs()
			for b.Loop() {
				const ahead = 4
				c.conn.Write(batch, size)
				c.conn.Write(batch, size)
				c.conn.Write(batch, size)
				c.conn.Write(batch, size)
				c.replies = 0
				c.collectFast(ahead * size)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4/float64(size), "ns/command")
		})
	}
}

func (c *collector) collectFast(replies int) {
	for c.replies < replies {
		if !c.waker.Ready() {
			<-c.waker.Wait()
			c.waker.Waited(true)
			continue
		}
		c.replies += c.conn.Take().Replies
	}
}
