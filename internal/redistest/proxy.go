package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Fault is what a Proxy does to one connection. Amounts are bytes behind the
// start of the connection; 0 is never.
type Fault struct {
	CutRequests int64         // end both sides when the client has sent so much
	CutReplies  int64         // end both sides when the server has answered so much
	Garbage     int64         // answer what is no RESP when the server has answered so much
	Stall       int64         // pass no replies on for a while when the server has answered so much
	StallFor    time.Duration // how long
	Reset       bool          // the client sees a reset instead of an end
	GoOn        bool          // when the client's side ends, what it has sent goes on to the server
	Delay       time.Duration // of every piece in both directions
	Piece       int           // bytes of a piece, 0 for 32 KiB
}

// Proxy stands between a client and a server and does harm. It listens on
// 127.0.0.1 and is stopped when the test ends.
type Proxy struct {
	Addr string

	listener net.Listener
	target   atomic.Value // string
	fault    func(n int) Fault

	mu    sync.Mutex
	n     int
	conns []net.Conn
	lag   sync.WaitGroup // of connections whose requests go on
}

// NewProxy starts a proxy to target. Connection n, from 0 up, gets fault(n).
func NewProxy(t testing.TB, target string, fault func(n int) Fault) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, fault: fault}
	p.target.Store(target)
	go p.accept()
	t.Cleanup(p.close)
	return p
}

// SetTarget sends later connections to another server.
func (p *Proxy) SetTarget(addr string) { p.target.Store(addr) }

// Connections returns how many connections have been made.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// Drained waits until all that clients had sent has gone to the server.
func (p *Proxy) Drained() { p.lag.Wait() }

func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target.Load().(string))
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		f := p.fault(p.n)
		p.n++
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		link := &link{client: client, server: server, Fault: f}
		p.lag.Add(1)
		go func() { defer p.lag.Done(); link.requests() }()
		go link.replies()
	}
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	Fault
	ended atomic.Bool // by us, on the client's side
}

// end ends the client's side, and the server's unless requests go on there.
func (l *link) end() {
	l.ended.Store(true)
	if tcp, ok := l.client.(*net.TCPConn); ok && l.Reset {
		tcp.SetLinger(0)
	}
	if l.GoOn {
		if tcp, ok := l.client.(*net.TCPConn); ok && !l.Reset {
			tcp.CloseWrite() // the client sees the end, and what it sends is still read
			return
		}
	}
	l.client.Close()
	if !l.GoOn {
		l.server.Close()
	}
}

func (l *link) requests() {
	pump(l.client, l.server, l.Delay, l.Piece, func(passed int64) bool {
		if l.CutRequests > 0 && passed >= l.CutRequests && !l.ended.Load() {
			l.end()
			return l.GoOn
		}
		return true
	})
	if !l.GoOn {
		l.server.Close()
		return
	}
	if tcp, ok := l.server.(*net.TCPConn); ok {
		tcp.CloseWrite() // what was sent before is still executed
	}
}

func (l *link) replies() {
	stalled := false
	pump(l.server, l.client, l.Delay, l.Piece, func(passed int64) bool {
		switch {
		case l.CutReplies > 0 && passed >= l.CutReplies:
			l.end()
			return false
		case l.Garbage > 0 && passed >= l.Garbage:
			l.client.Write([]byte("\x00\x01 what is this\r\n"))
			l.end()
			return false
		case l.Stall > 0 && passed >= l.Stall && !stalled:
			stalled = true
			time.Sleep(l.StallFor)
		}
		return true
	})
	if !l.GoOn {
		l.client.Close()
	}
	drain(l.server) // a server whose replies nobody reads stops reading
}

// pump copies piece by piece, and asks before each how to go on.
func pump(from, to net.Conn, delay time.Duration, piece int, more func(passed int64) bool) {
	if piece == 0 {
		piece = 32 << 10
	}
	buf := make([]byte, piece)
	passed := int64(0)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			time.Sleep(delay)
			if _, err := to.Write(buf[:n]); err != nil {
				drain(from)
				return
			}
			passed += int64(n)
			if !more(passed) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func drain(from net.Conn) {
	buf := make([]byte, 4<<10)
	for {
		if _, err := from.Read(buf); err != nil {
			return
		}
	}
}
