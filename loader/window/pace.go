package window

import (
	"time"

	"golang.org/x/time/rate"
)

// smooth is the time whose share of a rate may be sent at once.
const smooth = 10 * time.Millisecond

// Pace holds a load to rates of commands and bytes. A nil Pace holds it to
// none.
type Pace struct {
	commands, bytes *rate.Limiter // nil without a limit
}

// NewPace returns the pace of so many commands and bytes a second, 0 for any
// number; nil if both are 0.
func NewPace(commands float64, bytes int64) *Pace {
	p := &Pace{limiter(commands), limiter(float64(bytes))}
	if *p == (Pace{}) {
		return nil
	}
	return p
}

// limiter allows so many a second, a hundredth of a second's share at once.
func limiter(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond*smooth.Seconds())))
}

// Most returns how many commands, at most limit, a batch may have.
func (p *Pace) Most(limit int) int {
	if p == nil || p.commands == nil {
		return limit
	}
	return min(limit, p.commands.Burst())
}

// MostBytes returns how many bytes, at most limit, a batch should have.
func (p *Pace) MostBytes(limit int) int {
	if p == nil || p.bytes == nil {
		return limit
	}
	return min(limit, p.bytes.Burst())
}

// Reserve takes a batch out of what the rates allow and returns how long the
// batch must wait.
func (p *Pace) Reserve(now time.Duration, commands, bytes int) (wait time.Duration) {
	if p == nil {
		return 0
	}
	at := time.Unix(0, 0).Add(now)
	return max(reserve(p.commands, at, commands), reserve(p.bytes, at, bytes))
}

// reserve takes n out of what l allows, however much that is.
func reserve(l *rate.Limiter, now time.Time, n int) (wait time.Duration) {
	if l == nil {
		return 0
	}
	for n > 0 {
		part := min(n, l.Burst())
		wait = l.ReserveN(now, part).DelayFrom(now)
		n -= part
	}
	return wait
}
