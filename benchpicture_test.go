package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
)

// Sizes of the picture, in its own units.
const (
	panelLeft, panelWidth = 80.0, 580.0
	panelHeight           = 200.0
	rateTop, delayTop     = 40.0, 300.0
)

// The axes: windows from 1 to 100,000, which stands for max; the delays from a
// tenth of a millisecond to 100.
const mostDecades, leastDelay, delayDecades = 5.0, 0.1, 3.0

// picture is a drawing of a sweep: above the rate, below the delay of the
// probe, over the window.
type picture struct {
	svg     bytes.Buffer
	sweep   *sweep
	topRate float64
}

// draw writes a picture of the first sweep to a file.
func (w *workbench) draw(b *testing.B, name string) {
	if len(w.sweeps) == 0 || !w.sweeps[0].probe {
		b.Fatal("there is no sweep with a probe to draw")
	}
	p := &picture{sweep: w.sweeps[0]}
	for _, name := range p.sweep.names {
		p.topRate = max(p.topRate, math.Ceil(median(p.sweep.seen[name], rateOf)/1e5)*1e5)
	}
	p.drawAll()
	if err := os.WriteFile(name, p.svg.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (p *picture) drawAll() {
	fmt.Fprint(&p.svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 550" font-family="sans-serif" font-size="13">`+"\n")
	fmt.Fprint(&p.svg, `<rect width="720" height="550" fill="#fff"/>`+"\n")
	p.panel(rateTop, "thousand commands a second")
	for k := 0.0; k <= p.topRate; k += 1e5 {
		p.mark(p.rateAt(k), fmt.Sprintf("%.0f", k/1e3))
	}
	p.panel(delayTop, "p99 of a probe, ms")
	for d := 0.0; d <= delayDecades; d++ {
		p.mark(p.delayAt(leastDelay*math.Pow(10, d)), fmt.Sprint(leastDelay*math.Pow(10, d)))
	}
	p.windows()
	p.curve(func(s sight) float64 { return p.rateAt(s.rate) })
	p.curve(func(s sight) float64 { return p.delayAt(s.p99) })
	fmt.Fprint(&p.svg, "</svg>\n")
}

// panel draws the frame of a panel.
func (p *picture) panel(top float64, title string) {
	fmt.Fprintf(&p.svg, `<text x="%g" y="%g" font-weight="bold">%s</text>`+"\n", panelLeft, top-12, title)
	fmt.Fprintf(&p.svg, `<rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="#999"/>`+"\n", panelLeft, top, panelWidth, panelHeight)
}

// mark draws one line of a scale.
func (p *picture) mark(y float64, label string) {
	fmt.Fprintf(&p.svg, `<path d="M%g %.1fh%g" stroke="#e4e4e4"/>`, panelLeft, y, panelWidth)
	fmt.Fprintf(&p.svg, `<text x="%g" y="%.1f" text-anchor="end">%s</text>`+"\n", panelLeft-8, y+4, label)
}

// windows writes the names of the windows below the lower panel.
func (p *picture) windows() {
	for _, name := range windows {
		if name != "auto" {
			fmt.Fprintf(&p.svg, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n", p.windowAt(name), delayTop+panelHeight+20, name)
		}
	}
	fmt.Fprintf(&p.svg, `<text x="%g" y="%g" text-anchor="middle">window</text>`+"\n", panelLeft+panelWidth/2, delayTop+panelHeight+42)
}

// curve draws the fixed windows as a line, auto as a point, and redis-cli as a
// broken line.
func (p *picture) curve(height func(sight) float64) {
	var path bytes.Buffer
	for _, name := range windows {
		if name == "auto" {
			continue
		}
		pen := "L"
		if path.Len() == 0 {
			pen = "M"
		}
		x, y := p.windowAt(name), median(p.sweep.seen[name], height)
		fmt.Fprintf(&path, "%s%.1f %.1f", pen, x, y)
		fmt.Fprintf(&p.svg, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="#1f6fb4"/>`+"\n", x, y)
	}
	fmt.Fprintf(&p.svg, `<path d="%s" fill="none" stroke="#1f6fb4" stroke-width="2"/>`+"\n", &path)
	y := median(p.sweep.seen["redis-cli"], height)
	fmt.Fprintf(&p.svg, `<path d="M%g %.1fh%g" stroke="#888" stroke-width="1.5" stroke-dasharray="6 4"/>`, panelLeft, y, panelWidth)
	fmt.Fprintf(&p.svg, `<text x="%g" y="%.1f" fill="#666">redis-cli --pipe</text>`+"\n", panelLeft+6, y-5)
	x, y := p.windowAt("auto"), median(p.sweep.seen["auto"], height)
	fmt.Fprintf(&p.svg, `<circle cx="%.1f" cy="%.1f" r="6" fill="#d1495b"/>`, x, y)
	fmt.Fprintf(&p.svg, `<text x="%.1f" y="%.1f" fill="#d1495b">auto</text>`+"\n", x+9, y+15)
}

func (p *picture) windowAt(name string) float64 {
	n := math.Pow(10, mostDecades)
	switch {
	case name == "auto":
		n = float64(median(p.sweep.seen[name], windowOf))
	case name != "max":
		n, _ = strconv.ParseFloat(name, 64)
	}
	return panelLeft + 15 + (panelWidth-30)*math.Log10(max(n, 1))/mostDecades
}

func (p *picture) rateAt(rate float64) float64 {
	return rateTop + panelHeight*(1-rate/p.topRate)
}

func (p *picture) delayAt(ms float64) float64 {
	return delayTop + panelHeight*(1-math.Log10(max(ms, leastDelay)/leastDelay)/delayDecades)
}
