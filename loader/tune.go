package loader

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Windows that are no number of commands.
const (
	WindowMax  = 0  // the bytes alone are bounded
	WindowAuto = -1 // the load finds the smallest window that keeps the server busy
)

const (
	shortestPhase = 5 * time.Millisecond  // while the window is doubled
	steadyPhase   = 20 * time.Millisecond // then: two busy cores make shorter ones a matter of luck
	phaseDelays   = 3                     // a phase is so many reply delays long, if that is longer
	leastBatches  = 4                     // answered in a phase, or it says nothing
)

// tuner measures what the window in use achieves, and sets it. A phase is some
// time in which batches are marked as they are sent; when the last of them is
// answered, their rate goes to the climber and the next phase begins. A phase
// says nothing, and is dropped, when the input was slower than the window, or
// when the server paused: one gap between replies was most of its time. The
// tuner reads no clock: what it does depends on what it is told.
type tuner struct {
	window  int      // commands that may be unanswered; WindowMax for any number
	climber *climber // nil when the window is fixed

	phase   uint32 // marks its batches; 0 is none
	until   time.Time
	sending bool // the phase has not reached its end
	marked  int  // batches of it that are not answered

	batches     int // answered
	commands    int // answered behind the first batch
	first, last time.Time
	gap         time.Duration // longest between replies
	blocked     bool          // the window held the load up
	starved     time.Duration // time that the input took

	delay  time.Duration // smoothed, from the write to the last reply of a batch
	delays *hdrhistogram.Histogram
}

func newTuner(window int) tuner {
	t := tuner{window: window, delays: newDelays()}
	if window == WindowAuto {
		t.climber = newClimber()
		t.window = t.climber.next()
	}
	return t
}

// sent marks a batch as it goes out.
func (t *tuner) sent(b *Batch, now time.Time) {
	b.sent = now
	b.phase = 0
	if t.climber == nil {
		return
	}
	if t.marked == 0 && !t.sending {
		t.begin(now)
	}
	if t.sending {
		b.phase = t.phase
		t.marked++
		t.sending = now.Before(t.until)
	}
}

// begin begins a phase.
func (t *tuner) begin(now time.Time) {
	t.window = t.climber.next()
	t.phase++
	least := shortestPhase
	if t.climber.started {
		least = steadyPhase
	}
	t.until = now.Add(max(least, phaseDelays*t.delay))
	t.sending = true
	t.batches, t.commands, t.gap, t.blocked, t.starved = 0, 0, 0, false, 0
}

// answered takes the time at which the last reply of a batch came.
func (t *tuner) answered(b *Batch, at time.Time) {
	delay := at.Sub(b.sent)
	t.delay += (delay - t.delay) / 8
	t.delays.RecordValues(delay.Microseconds(), int64(b.due))
	if t.climber == nil || b.phase != t.phase || t.marked == 0 {
		return
	}
	t.marked--
	if t.batches++; t.batches == 1 {
		t.first = at
	} else {
		t.commands += b.due
		t.gap = max(t.gap, at.Sub(t.last))
	}
	t.last = at
	if t.marked == 0 && !t.sending {
		t.evaluate()
	}
}

// evaluate tells the climber the rate of the phase, if it says anything.
func (t *tuner) evaluate() {
	took := t.last.Sub(t.first)
	paused := t.gap > took*3/5
	if t.batches < leastBatches || took <= 0 || !t.blocked || paused || t.starved > took/10 {
		return
	}
	t.climber.learn(float64(t.commands) / took.Seconds())
}

// lost forgets the phase, whose batches may never be answered.
func (t *tuner) lost() { t.marked, t.sending = 0, false }

func newDelays() *hdrhistogram.Histogram { return hdrhistogram.New(1, time.Hour.Microseconds(), 2) }

// delayAt returns the reply delay that so many per cent were not above.
func delayAt(delays *hdrhistogram.Histogram, percent float64) time.Duration {
	return time.Duration(delays.ValueAtQuantile(percent)) * time.Microsecond
}
