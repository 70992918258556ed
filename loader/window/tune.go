package window

import "time"

const (
	shortestPhase  = 5 * time.Millisecond  // while the window is doubled
	steadyPhase    = 20 * time.Millisecond // then: two busy cores make shorter ones a matter of luck
	phaseLatencies = 3                     // a phase is so many latencies long, if that is longer
	leastBatches   = 4                     // answered in a phase, or it says nothing
)

// Tuner measures what the window in use achieves, and sets it. A phase is some
// time in which batches are marked when they are sent; when the last of them is
// answered, their rate goes to the climber and the next phase begins. A phase
// says nothing, and is dropped, when the input was slower than the window, or
// when the server paused: one gap between replies was most of its time.
type Tuner struct {
	window  int      // commands that may be in flight; Max for any number
	climber *climber // nil when the window is fixed

	phase   uint32 // marks its batches; 0 is none
	until   time.Duration
	sending bool // the phase has not reached its end
	marked  int  // batches of it that are not answered

	batches     int // answered
	commands    int // answered behind the first batch
	first, last time.Duration
	gap         time.Duration // longest between replies
	blocked     bool          // the window held the load up
	starved     time.Duration // time that the input took

	latency time.Duration // smoothed, from the write to the last reply of a batch
}

// NewTuner returns the tuner of a window: a number of commands or Max, which
// stays as it is, or Auto.
func NewTuner(window int) *Tuner {
	t := &Tuner{window: window}
	if window == Auto {
		t.climber = newClimber()
		t.window = t.climber.next()
	}
	return t
}

// Window returns how many commands may be in flight now; Max for any number.
func (t *Tuner) Window() int { return t.window }

// Sent is told of a batch that is sent now. It returns the mark of the batch.
func (t *Tuner) Sent(now time.Duration) (mark uint32) {
	if t.climber == nil {
		return 0
	}
	if t.marked == 0 && !t.sending {
		t.begin(now)
	}
	if !t.sending {
		return 0
	}
	t.marked++
	t.sending = now < t.until
	return t.phase
}

// begin begins a phase.
func (t *Tuner) begin(now time.Duration) {
	t.window = t.climber.next()
	t.phase++
	least := shortestPhase
	if t.climber.started {
		least = steadyPhase
	}
	t.until = now + max(least, phaseLatencies*t.latency)
	t.sending = true
	t.batches, t.commands, t.gap, t.blocked, t.starved = 0, 0, 0, false, 0
}

// Answered is told of a batch of so many commands, with its mark, when it was
// sent, and when its last reply came.
func (t *Tuner) Answered(mark uint32, sentAt, at time.Duration, commands int) {
	t.latency += (at - sentAt - t.latency) / 8
	if t.climber == nil || mark != t.phase || t.marked == 0 {
		return
	}
	t.marked--
	if t.batches++; t.batches == 1 {
		t.first = at
	} else {
		t.commands += commands
		t.gap = max(t.gap, at-t.last)
	}
	t.last = at
	if t.marked == 0 && !t.sending {
		t.evaluate()
	}
}

// evaluate tells the climber the rate of the phase, if it says anything.
func (t *Tuner) evaluate() {
	took := t.last - t.first
	paused := t.gap > took*3/5
	if t.batches < leastBatches || took <= 0 || !t.blocked || paused || t.starved > took/10 {
		return
	}
	t.climber.learn(float64(t.commands) / took.Seconds())
}

// Blocked is told that the window keeps a command from being sent.
func (t *Tuner) Blocked() { t.blocked = true }

// Starved is told how long the load waited for its input.
func (t *Tuner) Starved(d time.Duration) { t.starved += d }

// Lost is told that batches may never be answered. The phase is dropped.
func (t *Tuner) Lost() { t.marked, t.sending = 0, false }
