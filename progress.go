package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// progress is how far a load is.
type progress struct {
	read, size       int64 // bytes of the input; size is -1 when it is unknown
	commands, errors int64
	elapsed          time.Duration
}

// fact is one thing to know about the progress.
type fact struct {
	text string
	rank int // the highest is left out first
}

// facts returns what there is to know, in the order in which it is shown.
func (p progress) facts() []fact {
	var facts []fact
	if p.size > 0 {
		facts = append(facts, fact{fmt.Sprintf("%3d%%", p.percent()), 0},
			fact{bytesText(float64(p.read)) + " of " + bytesText(float64(p.size)), 4})
	} else {
		facts = append(facts, fact{short(float64(p.commands)) + " commands", 0}, fact{bytesText(float64(p.read)), 4})
	}
	facts = append(facts, fact{short(p.rate(p.commands)) + " commands/s", 3})
	switch {
	case p.errors == 1:
		facts = append(facts, fact{"1 error", 1})
	case p.errors > 1:
		facts = append(facts, fact{short(float64(p.errors)) + " errors", 1})
	}
	if left, known := p.left(); known {
		facts = append(facts, fact{left.String() + " left", 2})
	}
	return facts
}

// percent never says that all is done: the report does.
func (p progress) percent() int64 { return min(int64(float64(p.read)/float64(p.size)*100), 99) }

// rate is n a second.
func (p progress) rate(n int64) float64 {
	return float64(n) / max(p.elapsed, time.Millisecond).Seconds()
}

// left estimates how long the rest of the input takes, in whole seconds.
func (p progress) left() (left time.Duration, known bool) {
	if p.size <= 0 || p.read <= 0 || p.elapsed < time.Second {
		return 0, false
	}
	seconds := float64(max(p.size-p.read, 0)) / p.rate(p.read)
	return time.Duration(seconds+0.5) * time.Second, true
}

// plain returns the facts as a line of a log.
func (p progress) plain() string {
	var words []string
	for _, f := range p.facts() {
		words = append(words, strings.TrimSpace(f.text))
	}
	return strings.Join(words, ", ")
}

// bar returns the facts, and a bar where there is room for it, in at most
// width characters: the least important facts give way. (schollz/progressbar
// was tried: on 40 columns it wraps and leaves a line behind at each step.)
func (p progress) bar(width int) string {
	const gap, step, most = 2, 10, 40 // the bar grows by steps, so that it does not jump with each digit
	facts := p.facts()
	length := func() (n int) {
		for _, f := range facts {
			n += len(f.text) + gap
		}
		return n - gap
	}
	for len(facts) > 1 && length() > width {
		last := slices.MaxFunc(facts, func(a, b fact) int { return a.rank - b.rank })
		facts = slices.DeleteFunc(facts, func(f fact) bool { return f == last })
	}
	if room := min(width-length()-gap-len("[]"), most) / step * step; p.size > 0 && room > 0 {
		done := int(float64(room) * float64(p.percent()) / 100)
		drawn := "[" + strings.Repeat("=", done) + ">" + strings.Repeat(" ", room-done-1) + "]"
		facts = slices.Insert(facts, 1, fact{text: drawn})
	}
	var words []string
	for _, f := range facts {
		words = append(words, f.text)
	}
	text := strings.Join(words, strings.Repeat(" ", gap))
	return text[:max(0, min(width, len(text)))]
}

// short writes a number in three digits or four.
func short(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.2fM", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0fk", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}
