package window

import (
	"math"
	"math/rand/v2"
	"testing"
)

// path is a simulated server and the way to it.
type path struct {
	rate     float64 // commands a second that the server can do
	overhead float64 // commands' worth of work that each window costs
	latency  float64 // seconds of round trip
	noise    float64 // of a measured rate, relative
}

// measured is the rate that a phase with this window would show.
func (p path) measured(window int, rng *rand.Rand) float64 {
	w := float64(window)
	rate := math.Min(p.rate/(1+p.overhead/w), w/p.latency)
	return rate * (1 + p.noise*(2*rng.Float64()-1))
}

var (
	loopback = path{rate: 700_000, overhead: 44, latency: 30e-6, noise: 0.02}
	near     = path{rate: 700_000, overhead: 44, latency: 1.2e-3, noise: 0.04}
	far      = path{rate: 700_000, overhead: 44, latency: 20e-3, noise: 0.04}
	slow     = path{rate: 9_000, overhead: 1, latency: 200e-6, noise: 0.02}
)

// climb goes on for so many phases.
func (c *climber) climb(p path, phases int, rng *rand.Rand) {
	for range phases {
		c.learn(p.measured(c.next(), rng))
	}
}

func TestClimber(t *testing.T) {
	for _, test := range []struct {
		name        string
		path        path
		least, most float64 // window
		rate        float64 // of the best, at least
	}{
		{"loopback", loopback, 70, 450, 0.7},
		{"near", near, 700, 3000, 0.85},
		{"far", far, 9_000, 40_000, 0.85},
		{"slow server", slow, leastWindow, 40, 0.8},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(50) {
				rng := rand.New(rand.NewPCG(seed, 1))
				c := newClimber()
				c.climb(test.path, 400, rng)
				for range 200 { // and it stays there
					c.climb(test.path, 1, rng)
					if c.window < test.least || c.window > test.most {
						t.Fatalf("seed %d: window %.0f, want %.0f to %.0f", seed, c.window, test.least, test.most)
					}
				}
				best := math.Min(test.path.rate, test.path.rate/(1+test.path.overhead/mostWindow))
				test.path.noise = 0
				if got := test.path.measured(int(c.window), rng); got < test.rate*best {
					t.Errorf("seed %d: window %.0f brings %.2f of the best rate", seed, c.window, got/best)
				}
				test.path.noise = loopback.noise
			}
		})
	}
}

// TestClimberStarts holds how soon the rate is reached: with phases of 5 ms on
// loopback, and of four round trips on a long path.
func TestClimberStarts(t *testing.T) {
	for _, test := range []struct {
		path   path
		phases int
	}{{loopback, 100}, {near, 100}, {far, 22}} {
		rng := rand.New(rand.NewPCG(7, 7))
		c := newClimber()
		c.climb(test.path, test.phases, rng)
		if got := test.path.measured(int(c.window), rng); got < 0.75*test.path.rate {
			t.Errorf("%+v: window %.0f after %d phases, %.2f of the rate", test.path, c.window, test.phases, got/test.path.rate)
		}
	}
}

func TestClimberAdapts(t *testing.T) {
	for _, test := range []struct{ from, to path }{{loopback, far}, {far, loopback}, {near, slow}, {slow, near}} {
		rng := rand.New(rand.NewPCG(3, 3))
		c := newClimber()
		c.climb(test.from, 200, rng)
		c.climb(test.to, 600, rng)
		fresh := newClimber()
		fresh.climb(test.to, 600, rng)
		if ratio := c.window / fresh.window; ratio < 0.4 || ratio > 2.5 {
			t.Errorf("from %+v to %+v: window %.0f, a fresh one finds %.0f", test.from, test.to, c.window, fresh.window)
		}
	}
}
