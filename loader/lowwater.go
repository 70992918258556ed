package loader

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	lowWater    = 16 << 10              // bytes of replies that are worth waking up for
	leastReply  = 4                     // bytes of the shortest one, ":1\r\n"
	mostPatient = 20 * time.Millisecond // for the low water to be reached
)

// replySocket reads replies. A server that is sent commands without a bound
// writes the replies of each turn of its event loop at once, one or two KB; to
// wake up for each of these costs the client more than all else that it does
// for the replies. So while much is owed it asks the kernel to be woken at the
// low water only (SO_RCVLOWAT), or when that takes too long.
type replySocket struct {
	net.Conn
	fd      syscall.RawConn // nil when it is read plainly
	raised  bool            // the low water is
	failing atomic.Bool     // a write has failed: what comes now are the last words
}

// newReplySocket returns the socket of a connection. With lazy, the delay of
// replies does not matter. Unix sockets have no low water, what lies behind TLS
// says nothing of its length: both are read plainly.
func newReplySocket(nc net.Conn, lazy bool) *replySocket {
	s := &replySocket{Conn: nc}
	if tcp, ok := nc.(*net.TCPConn); ok && lazy {
		s.fd, _ = tcp.SyscallConn()
	}
	return s
}

// read reads what is there, while so many replies are owed at least.
func (s *replySocket) read(buf []byte, owed int64) (int, error) {
	if s.fd == nil || owed*leastReply < lowWater || s.failing.Load() {
		s.setLowWater(false)
		return s.Read(buf)
	}
	s.setLowWater(true)
	s.SetReadDeadline(time.Now().Add(mostPatient))
	n, err := s.Read(buf)
	s.SetReadDeadline(time.Time{})
	if s.failing.Load() { // its deadline may just have been taken away
		s.SetReadDeadline(time.Now().Add(lastWords))
	}
	if err != nil && n == 0 && os.IsTimeout(err) {
		s.setLowWater(false)
		return s.Read(buf)
	}
	return n, err
}

// setLowWater raises or lowers the low water.
func (s *replySocket) setLowWater(high bool) {
	if s.fd == nil || s.raised == high {
		return
	}
	bytes := 1
	if high {
		bytes = lowWater
	}
	s.raised = high
	s.fd.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes)
	})
}

// fail makes the next reads the last ones, as a write has failed.
func (s *replySocket) fail() {
	s.failing.Store(true)
	s.SetReadDeadline(time.Now().Add(lastWords))
}
