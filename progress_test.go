package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressBar(t *testing.T) {
	half := progress{read: 1_300_000_000, size: 2_600_000_000, commands: 7_120_000, errors: 3, elapsed: 10 * time.Second}
	fresh := progress{size: 2_600_000_000}
	blind := progress{read: 4_200_000, size: -1, commands: 71_000, elapsed: 10 * time.Second}
	for _, row := range []struct {
		name  string
		p     progress
		width int
		want  string
	}{
		{"wide", half, 199, " 50%  [====================>                   ]  1.3 GB of 2.6 GB  712k commands/s  3 errors  10s left"},
		{"usual", half, 79, " 50%  [=====>    ]  1.3 GB of 2.6 GB  712k commands/s  3 errors  10s left"},
		{"narrow", half, 60, " 50%  1.3 GB of 2.6 GB  712k commands/s  3 errors  10s left"},
		{"narrower", half, 45, " 50%  712k commands/s  3 errors  10s left"},
		{"thin", half, 25, " 50%  3 errors  10s left"},
		{"hair", half, 15, " 50%  3 errors"},
		{"a word", half, 4, " 50%"},
		{"less", half, 2, " 5"},
		{"nothing", half, 0, ""},
		{"below nothing", half, -1, ""},
		{"fresh", fresh, 79, "  0%  [>                                       ]  0 B of 2.6 GB  0 commands/s"},
		{"all but done", progress{read: 5, size: 5, elapsed: time.Second}, 53, " 99%  [=========>]  5 B of 5 B  0 commands/s  0s left"},
		{"more than there was", progress{read: 9, size: 5, elapsed: time.Second}, 30, " 99%  0 commands/s  0s left"},
		{"unknown size", blind, 79, "71k commands  4.2 MB  7100 commands/s"},
		{"unknown size, narrow", blind, 30, "71k commands  7100 commands/s"},
		{"unknown size, thin", blind, 20, "71k commands"},
	} {
		got := row.p.bar(row.width)
		if got != row.want {
			t.Errorf("%s:\n%q, want\n%q", row.name, got, row.want)
		}
		if len(got) > max(row.width, 0) {
			t.Errorf("%s: %d characters in a width of %d", row.name, len(got), row.width)
		}
	}
	if got, want := half.plain(), "50%, 1.3 GB of 2.6 GB, 712k commands/s, 3 errors, 10s left"; got != want {
		t.Errorf("plain: %q, want %q", got, want)
	}
}

func TestShort(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 9999: "9999", 10000: "10k", 712_345: "712k", 1_234_567: "1.23M"} {
		if got := short(n); got != want {
			t.Errorf("%.0f: %s", n, got)
		}
	}
}

// half is an input of which one half has been read.
type half struct{}

func (half) BytesRead() int64 { return 50 }
func (half) Size() int64      { return 100 }

func TestMeter(t *testing.T) {
	for _, row := range []struct {
		name string
		kind display
		want string
	}{
		{"none", noDisplay, "an error\n"},
		{"plain", plainDisplay, "50%, 50 B of 100 B, 20 commands/s, 10s left\nan error\n50%, 50 B of 100 B, 10 commands/s, 20s left\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			m := &meter{out: &out}
			m.start(row.kind, half{})
			m.commands.Store(200)
			time.Sleep(15 * time.Second)
			io.WriteString(m, "an error\n")
			time.Sleep(10 * time.Second)
			m.stop()
			m.stop()
			time.Sleep(time.Minute)
			if out.String() != row.want {
				t.Errorf("%s: %q", row.name, out.String())
			}
		})
	}
}

// TestMeterBar holds that the bar is drawn ten times a second at most, and
// that it is gone wherever something else is written.
func TestMeterBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := &meter{out: &out}
		m.start(barDisplay, half{})
		time.Sleep(1050 * time.Millisecond)
		io.WriteString(m, "an error\n")
		io.WriteString(m, "another\n")
		time.Sleep(time.Second)
		m.stop()
		io.WriteString(m, "the report\n")
		const erased = "\r\x1b[K"
		text := out.String()
		if n := strings.Count(text, "50%"); n != 20 {
			t.Errorf("drawn %d times in 2 s", n)
		}
		for _, want := range []string{"\x1b[K" + erased + "an error\nanother\n\r 50%", "left\x1b[K" + erased + "the report\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%q", want, text)
			}
		}
	})
}

// TestMeterFollows holds that an input that is opened again takes the place of
// the one before.
func TestMeterFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := &meter{out: &out}
		m.start(plainDisplay, half{})
		m.follow(quarter{})
		time.Sleep(11 * time.Second)
		m.stop()
		if !strings.HasPrefix(out.String(), "25%, 25 B of 100 B,") {
			t.Errorf("%q", out.String())
		}
	})
}

type quarter struct{ half }

func (quarter) BytesRead() int64 { return 25 }
