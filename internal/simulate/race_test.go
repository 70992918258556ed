//go:build race

package simulate

// raceEnabled is true where the race detector makes everything ten times as
// slow.
const raceEnabled = true
