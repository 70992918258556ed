package redistest

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// Delay is a long way to a server: every byte arrives later, in both
// directions, and nothing is slower. It listens on 127.0.0.1 and is stopped
// when the test ends.
type Delay struct {
	Addr string // "127.0.0.1:port"
	Port string

	listener net.Listener
	target   string
	oneWay   time.Duration

	mu    sync.Mutex
	ends  []net.Conn
	ended bool
}

// NewDelay starts a way to target that takes so long in each direction: a
// round trip takes twice as long.
func NewDelay(t testing.TB, target string, oneWay time.Duration) *Delay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &Delay{Addr: l.Addr().String(), listener: l, target: target, oneWay: oneWay}
	_, d.Port, _ = net.SplitHostPort(d.Addr)
	go d.accept()
	t.Cleanup(d.close)
	return d
}

func (d *Delay) close() {
	d.listener.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	for _, end := range d.ends {
		end.Close()
	}
}

func (d *Delay) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", d.target)
		if err != nil {
			client.Close()
			continue
		}
		d.keep(client, server)
		go carry(client, server, d.oneWay)
		go carry(server, client, d.oneWay)
	}
}

// keep notes both ends of a connection, to close them.
func (d *Delay) keep(ends ...net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends = append(d.ends, ends...)
	if d.ended {
		for _, end := range ends {
			end.Close()
		}
	}
}

// piece is what one read brought, on its way.
type piece struct {
	data []byte
	due  time.Time
}

// most is how many pieces may be on the way; more wait at its beginning.
const most = 1 << 14

// carry takes what from says to to, each piece when its time has come, and the
// end of it, too.
func carry(from, to net.Conn, oneWay time.Duration) {
	way := make(chan piece, most)
	go depart(from, way, oneWay)
	for p := range way {
		Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			from.Close()
			for range way { // until the reader has noticed
			}
			return
		}
	}
	to.(*net.TCPConn).CloseWrite()
}

// depart puts what from says on the way.
func depart(from net.Conn, way chan<- piece, oneWay time.Duration) {
	defer close(way)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			way <- piece{bytes.Clone(buf[:n]), time.Now().Add(oneWay)}
		}
		if err != nil {
			return
		}
	}
}
