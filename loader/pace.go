package loader

import (
	"time"

	"golang.org/x/time/rate"
)

// smooth is the time whose share of a rate may go out at once.
const smooth = 10 * time.Millisecond

// pace holds a load to rates of commands and bytes.
type pace struct {
	commands, bytes *rate.Limiter // nil without a limit
}

func newPace(commands float64, bytes int64) pace {
	return pace{limiter(commands), limiter(float64(bytes))}
}

// limiter allows so many a second, a hundredth of a second's share at once.
func limiter(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond*smooth.Seconds())))
}

// most is how many commands, at most limit, may be in one batch.
func (p *pace) most(limit int) int {
	if p.commands == nil {
		return limit
	}
	return min(limit, p.commands.Burst())
}

// reserve books a batch and returns how long it must wait.
func (p *pace) reserve(now time.Time, commands, bytes int) time.Duration {
	return max(book(p.commands, now, commands), book(p.bytes, now, bytes))
}

// book takes n out of what l allows, however much that is.
func book(l *rate.Limiter, now time.Time, n int) (wait time.Duration) {
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
