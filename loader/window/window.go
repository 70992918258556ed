// Package window decides how much of a load is in flight, and how fast it goes:
//
//   - Tuner finds the smallest window that keeps the server busy (tune.go), by
//     climbing the curve of rate against window (climb.go)
//   - Pace holds a load to a rate (pace.go)
//
// The package reads no clock: every time is an argument, how long after the
// start of the load it lies. So the same calls always have the same results.
package window

// Windows that are no number of commands.
const (
	Max  = 0  // the bytes alone are bounded
	Auto = -1 // the load finds the smallest window that keeps the server busy
)
