package wire

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	lowWater      = 16 << 10              // bytes of replies that are worth waking up for
	shortestReply = len(":1\r\n")         // in bytes
	lowWaterTime  = 20 * time.Millisecond // how long the low-water mark is waited for
	lastReplies   = 2 * time.Second       // how long replies are read when a write has failed
)

// socket reads and writes a connection with as few system calls and as few
// switches of goroutines as it can.
//
// A server that is sent commands without a bound writes the replies of each turn
// of its event loop at once, one or two KB. To wake up for each of these costs
// the client more than everything else that it does for replies. So while many
// are owed it asks the kernel to be woken at a low-water mark only (SO_RCVLOWAT),
// or when that takes too long.
type socket struct {
	net.Conn
	raw     syscall.RawConn // of TCP and unix sockets; nil: what lies behind is unknown
	now     attempt
	try     func(fd uintptr) bool // writes now; made once, as it would be allocated for each call
	lowMark bool                  // the socket may have a low-water mark
	raised  bool                  // it is raised
	failing atomic.Bool           // a write has failed: what still comes are the last replies
}

// attempt is a write that does not wait.
type attempt struct {
	p   []byte
	n   int
	err error
}

// newSocket returns the socket of a connection. With lazy, the latency of replies
// does not matter.
func newSocket(nc net.Conn, lazy bool) *socket {
	s := &socket{Conn: nc}
	switch c := nc.(type) {
	case *net.TCPConn:
		s.raw, _ = c.SyscallConn()
		s.lowMark = lazy && s.raw != nil
	case *net.UnixConn: // has no low-water mark
		s.raw, _ = c.SyscallConn()
	}
	s.try = func(fd uintptr) bool {
		s.now.n, s.now.err = syscall.Write(int(fd), s.now.p)
		return true
	}
	return s
}

// writeNow writes what the socket takes without waiting. Without an error n may
// be less than len(p), even 0.
func (s *socket) writeNow(p []byte) (n int, err error) {
	if s.raw == nil {
		return 0, nil
	}
	s.now = attempt{p: p}
	if err := s.raw.Write(s.try); err != nil {
		return 0, err
	}
	n, err = max(s.now.n, 0), s.now.err
	s.now.p = nil
	if err == syscall.EAGAIN || err == syscall.EINTR {
		err = nil
	}
	return n, err
}

// read reads what is there, while so many replies are owed at least.
func (s *socket) read(buf []byte, owed int64) (int, error) {
	if !s.lowMark || owed*int64(shortestReply) < lowWater || s.failing.Load() {
		s.setLowWater(false)
		return s.Read(buf)
	}
	s.setLowWater(true)
	s.SetReadDeadline(time.Now().Add(lowWaterTime))
	n, err := s.Read(buf)
	s.SetReadDeadline(time.Time{})
	if s.failing.Load() { // its deadline may just have been taken away
		s.SetReadDeadline(time.Now().Add(lastReplies))
	}
	if err != nil && n == 0 && os.IsTimeout(err) {
		s.setLowWater(false)
		return s.Read(buf)
	}
	return n, err
}

// setLowWater raises or lowers the low-water mark.
func (s *socket) setLowWater(high bool) {
	if s.raised == high || !s.lowMark {
		return
	}
	bytes := 1
	if high {
		bytes = lowWater
	}
	s.raised = high
	s.raw.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes)
	})
}

// fail makes the next reads the last ones, as a write has failed: what the server
// said before it closed the connection is still to be read.
func (s *socket) fail() {
	s.failing.Store(true)
	s.SetReadDeadline(time.Now().Add(lastReplies))
}
