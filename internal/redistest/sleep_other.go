//go:build !linux

package redistest

import "time"

// Sleep sleeps for d, as time.Sleep does.
func Sleep(d time.Duration) { time.Sleep(d) }
