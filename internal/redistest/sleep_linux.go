package redistest

import (
	"syscall"
	"time"
)

// Sleep sleeps for d to a tenth of a millisecond. The timers of the Go runtime
// may be a whole one late, when nothing else goes on.
func Sleep(d time.Duration) {
	if d > 0 {
		left := syscall.NsecToTimespec(int64(d))
		for syscall.Nanosleep(&left, &left) == syscall.EINTR {
		}
	}
}
