package loader

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// simulation is a load over a simulated path, on a clock of its own.
type simulation struct {
	path
	rng    *rand.Rand
	tune   tuner
	now    time.Time
	start  time.Time
	free   time.Time // when the server has done what it was sent
	flight []arrival
	open   int // commands in flight
	done   int // commands answered

	source time.Duration // that the input takes for a command
	pause  func(at time.Duration) time.Duration
	size   func(at time.Duration) float64 // work of a batch, 1 is usual
}

type arrival struct {
	b  *Batch
	at time.Time
}

func simulate(p path) *simulation {
	s := &simulation{path: p, rng: rand.New(rand.NewPCG(1, 2)), tune: newTuner(WindowAuto), start: time.Unix(0, 0)}
	s.now, s.free = s.start, s.start
	return s
}

// run goes on for so long.
func (s *simulation) run(d time.Duration) *simulation {
	for end := s.now.Add(d); s.now.Before(end); {
		n := max(1, s.tune.window/4)
		if s.open > 0 && s.open+n > s.tune.window {
			s.tune.blocked = true
			s.answer()
			continue
		}
		made := s.now.Add(time.Duration(n) * s.source)
		for s.open > 0 && !s.flight[0].at.After(made) {
			s.answer()
		}
		if made.After(s.now) {
			s.tune.starved += made.Sub(s.now)
			s.now = made
		}
		s.send(n)
	}
	return s
}

func (s *simulation) send(n int) {
	b := &Batch{due: n}
	s.tune.sent(b, s.now)
	since := s.now.Sub(s.start)
	work := (float64(n) + s.overhead/4) / s.rate
	if s.size != nil {
		work *= s.size(since)
	}
	half := time.Duration(s.delay / 2 * float64(time.Second))
	arrives := s.now.Add(half)
	if s.pause != nil {
		arrives = arrives.Add(s.pause(since))
	}
	if arrives.After(s.free) {
		s.free = arrives
	}
	noise := 1 + s.noise*(2*s.rng.Float64()-1)
	s.free = s.free.Add(time.Duration(work * noise * float64(time.Second)))
	s.flight = append(s.flight, arrival{b, s.free.Add(half)})
	s.open += n
}

// answer takes the next reply.
func (s *simulation) answer() {
	a := s.flight[0]
	s.flight = s.flight[1:]
	if a.at.After(s.now) {
		s.now = a.at
	}
	s.open -= a.b.due
	s.done += a.b.due
	s.tune.answered(a.b, s.now)
}

func TestTunerFindsWindow(t *testing.T) {
	for _, test := range []struct {
		name        string
		path        path
		within      time.Duration
		least, most int
		rate        float64 // of the server's
	}{
		{"loopback", loopback, 500 * time.Millisecond, 60, 600, 0.75},
		{"near", near, time.Second, 700, 4000, 0.8},
		{"far", far, 2 * time.Second, 9000, 60_000, 0.8},
		{"slow server", slow, 4 * time.Second, leastWindow, 80, 0.75},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := simulate(test.path).run(test.within)
			before := s.done
			s.run(4 * time.Second)
			if w := s.tune.climber.window; int(w) < test.least || int(w) > test.most {
				t.Errorf("window %.0f, want %d to %d", w, test.least, test.most)
			}
			if rate := float64(s.done-before) / 4; rate < test.rate*test.path.rate {
				t.Errorf("%.0f commands a second behind %v, the server can do %.0f", rate, test.within, test.path.rate)
			}
		})
	}
}

// TestTunerIsNotLedAstray holds that what is not the window's doing does not
// move it.
func TestTunerIsNotLedAstray(t *testing.T) {
	every := func(period, length time.Duration) func(time.Duration) time.Duration {
		return func(at time.Duration) time.Duration {
			if at%period < length {
				return length - at%period
			}
			return 0
		}
	}
	for _, p := range []path{loopback, near, far} {
		usual := simulate(p).run(5 * time.Second).tune.climber.window
		for name, trouble := range map[string]func(*simulation){
			"slow source":  func(s *simulation) { s.source = 20 * time.Microsecond },
			"server forks": func(s *simulation) { s.pause = every(time.Second, 200*time.Millisecond) },
			"huge command": func(s *simulation) {
				s.size = func(at time.Duration) float64 {
					if at%(700*time.Millisecond) < time.Millisecond {
						return 300
					}
					return 1
				}
			},
		} {
			t.Run(fmt.Sprint(p.delay, name), func(t *testing.T) {
				s := simulate(p).run(3 * time.Second)
				trouble(s)
				s.run(4 * time.Second)
				if w := s.tune.climber.window; w < usual/4 || w > usual*4 {
					t.Errorf("window %.0f, without it %.0f", w, usual)
				}
			})
		}
	}
}

func TestTunerAdapts(t *testing.T) {
	s := simulate(loopback).run(2 * time.Second)
	s.path = far
	s.run(6 * time.Second)
	if w := s.tune.climber.window; w < 5000 {
		t.Errorf("window %.0f on a path that has become long", w)
	}
	s.path = loopback
	s.run(8 * time.Second)
	if w := s.tune.climber.window; w > 1500 {
		t.Errorf("window %.0f on a path that has become short", w)
	}
}

func TestFixedWindowStays(t *testing.T) {
	tune := newTuner(50)
	now := time.Unix(0, 0)
	for range 1000 {
		b := &Batch{due: 10}
		tune.sent(b, now)
		now = now.Add(time.Millisecond)
		tune.blocked = true
		tune.answered(b, now)
	}
	if tune.window != 50 || delayAt(tune.delays, 50) < 900*time.Microsecond || delayAt(tune.delays, 99) > 1100*time.Microsecond {
		t.Errorf("window %d, delays %v and %v", tune.window, delayAt(tune.delays, 50), delayAt(tune.delays, 99))
	}
}
