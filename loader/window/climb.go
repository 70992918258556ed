package window

import "math"

// A window larger than needed adds nothing but latency, to this load and to every
// other client of the server. Where the knee of the throughput curve lies
// depends on the path: at a hundred commands on loopback, at tens of thousands
// on a long network. Latency tells little about it where the path has jitter, so
// the climber looks at rate and window alone and climbs the hill of
//
//	rate^gamma / window
//
// (Kleinrock's power). With gamma 5 a doubled window must bring 15 % more rate
// to be worth it. With 8 the hill is flat from 200 to 1000 commands on two busy
// cores, and what lies beyond 200 is paid for by other clients.
const gamma = 5

const (
	firstWindow = 256
	leastWindow = 8
	mostWindow  = 1 << 20
	probeStep   = 1.25 // window of a trial against the one in use
	betterBy    = 0.30 // in the logarithm of the score, in one round; less in the mean of more
	mostRounds  = 4    // after so many without a clear result, begin anew
	longestRun  = 3    // a step is at most probeStep to this power
)

// climber finds the window. Its decisions depend on what it is told and on
// nothing else. At first it doubles the window while the score rises; then it
// tries, in turn, the window, a larger one, the window and a smaller one, and
// moves to what was clearly better, further each time the direction repeats.
type climber struct {
	window  float64
	started bool // the doubling is over
	failed  bool // the last doubling did not pay when it was first measured
	last    float64
	turn    int
	scores  [4]float64
	up      float64 // what the larger window was better by, summed over rounds
	down    float64 // the smaller
	rounds  int
	run     int // moves in one direction so far: positive is up
}

func newClimber() *climber { return &climber{window: firstWindow, last: math.Inf(-1)} }

// next returns the window for the next phase.
func (c *climber) next() int {
	w := c.window
	switch {
	case !c.started:
	case c.turn == 1:
		w *= probeStep
	case c.turn == 3:
		w /= probeStep
	}
	return int(math.Round(w))
}

// learn takes the rate of a phase, in commands a second, that had the window
// which next has returned.
func (c *climber) learn(rate float64) {
	score := gamma*math.Log(rate) - math.Log(float64(c.next()))
	if !c.started {
		c.double(score)
		return
	}
	c.scores[c.turn] = score
	if c.turn++; c.turn == len(c.scores) {
		c.turn = 0
		c.decide()
	}
}

// double goes on doubling while that pays, and one step back when it does not.
// The first phase of a larger window may be that of a path that still opens: it
// gets a second one.
func (c *climber) double(score float64) {
	switch {
	case score > c.last && c.window*2 <= mostWindow:
		c.last, c.failed = score, false
		c.window *= 2
	case !c.failed:
		c.failed = true
	default:
		c.started = true
		c.window = math.Max(c.window/2, leastWindow)
	}
}

// decide compares the two trials with what was measured around them. The less
// was measured, the clearer the result must be.
func (c *climber) decide() {
	base := (c.scores[0] + c.scores[2]) / 2
	c.up += c.scores[1] - base
	c.down += c.scores[3] - base
	c.rounds++
	switch {
	case max(c.up, c.down) > betterBy: // the mean is better by betterBy/rounds
		c.move(c.up > c.down)
	case c.rounds < mostRounds:
		return
	default:
		c.run = 0
	}
	c.up, c.down, c.rounds = 0, 0, 0
}

// move changes the window, by more each time the direction repeats.
func (c *climber) move(up bool) {
	if up {
		c.run = max(c.run, 0) + 1
	} else {
		c.run = min(c.run, 0) - 1
	}
	steps := max(-longestRun, min(c.run, longestRun))
	c.window = math.Min(math.Max(c.window*math.Pow(probeStep, float64(steps)), leastWindow), mostWindow)
}
