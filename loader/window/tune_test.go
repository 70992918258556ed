package window

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
	tune   *Tuner
	now    time.Duration
	free   time.Duration // when the server has done what it was sent
	flight []arrival
	open   int // commands in flight
	done   int // commands answered

	source time.Duration // that the input takes for a command
	pause  func(at time.Duration) time.Duration
	size   func(at time.Duration) float64 // work of a batch, 1 is usual
}

type arrival struct {
	commands int
	mark     uint32
	sent, at time.Duration
}

func simulate(p path) *simulation {
	return &simulation{path: p, rng: rand.New(rand.NewPCG(1, 2)), tune: NewTuner(Auto)}
}

// run goes on for so long.
func (s *simulation) run(d time.Duration) *simulation {
	for end := s.now + d; s.now < end; {
		n := max(1, s.tune.Window()/4)
		if s.open > 0 && s.open+n > s.tune.Window() {
			s.tune.Blocked()
			s.answer()
			continue
		}
		made := s.now + time.Duration(n)*s.source
		for s.open > 0 && s.flight[0].at <= made {
			s.answer()
		}
		if made > s.now {
			s.tune.Starved(made - s.now)
			s.now = made
		}
		s.send(n)
	}
	return s
}

func (s *simulation) send(n int) {
	mark := s.tune.Sent(s.now)
	work := (float64(n) + s.overhead/4) / s.rate
	if s.size != nil {
		work *= s.size(s.now)
	}
	half := time.Duration(s.latency / 2 * float64(time.Second))
	arrives := s.now + half
	if s.pause != nil {
		arrives += s.pause(s.now)
	}
	if arrives > s.free {
		s.free = arrives
	}
	noise := 1 + s.noise*(2*s.rng.Float64()-1)
	s.free += time.Duration(work * noise * float64(time.Second))
	s.flight = append(s.flight, arrival{n, mark, s.now, s.free + half})
	s.open += n
}

// answer takes the next reply.
func (s *simulation) answer() {
	a := s.flight[0]
	s.flight = s.flight[1:]
	if a.at > s.now {
		s.now = a.at
	}
	s.open -= a.commands
	s.done += a.commands
	s.tune.Answered(a.mark, a.sent, s.now, a.commands)
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
			t.Run(fmt.Sprint(p.latency, name), func(t *testing.T) {
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
	tune := NewTuner(50)
	now := time.Duration(0)
	for range 1000 {
		sent := now
		mark := tune.Sent(now)
		now += time.Millisecond
		tune.Blocked()
		tune.Answered(mark, sent, now, 10)
	}
	if tune.Window() != 50 {
		t.Errorf("window %d", tune.Window())
	}
}

// A phase whose batches are lost is dropped, and the next one begins with the
// next batch.
func TestLostPhase(t *testing.T) {
	tune := NewTuner(Auto)
	first := tune.Sent(0)
	tune.Lost()
	second := tune.Sent(time.Millisecond)
	if first == 0 || second == 0 || first == second {
		t.Errorf("marks %d and %d", first, second)
	}
	tune.Answered(first, 0, time.Millisecond, 1)
	if tune.marked != 1 || tune.batches != 0 {
		t.Errorf("a batch of the lost phase counts: %+v", tune)
	}
}
