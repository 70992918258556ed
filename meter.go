package main

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// display is how a meter shows the progress of a load.
type display int

const (
	noDisplay    display = iota
	barDisplay           // a line that is drawn again and again, ten times a second
	plainDisplay         // a line of its own every ten seconds
)

// meter shows on a stream how far a load is. What else goes to that stream
// goes through the meter, so that it never stands behind the bar.
type meter struct {
	commands, errors atomic.Int64 // so far

	out   io.Writer
	kind  display
	began time.Time

	mutex sync.Mutex // held while out is written to; guards what follows
	input sized
	drawn bool // the bar stands there

	quit, ended chan struct{}
}

// start shows the progress of input until stop is called.
func (m *meter) start(kind display, input sized) {
	m.kind, m.input, m.began = kind, input, time.Now()
	if kind == noDisplay {
		return
	}
	m.quit, m.ended = make(chan struct{}), make(chan struct{})
	go m.run()
}

// sized is an input that knows how much of it has been read.
type sized interface {
	BytesRead() int64
	Size() int64 // -1 when it is unknown
}

// follow shows the progress of another input from now on.
func (m *meter) follow(input sized) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.input = input
}

// stop takes the bar away, for good.
func (m *meter) stop() {
	if m.quit == nil {
		return
	}
	close(m.quit)
	<-m.ended
	m.quit = nil
	m.Write(nil)
}

// Write writes what is no progress.
func (m *meter) Write(text []byte) (int, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.drawn {
		io.WriteString(m.out, "\r\x1b[K")
		m.drawn = false
	}
	if len(text) == 0 {
		return 0, nil
	}
	return m.out.Write(text)
}

func (m *meter) run() {
	every := 100 * time.Millisecond
	if m.kind == plainDisplay {
		every = 10 * time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	defer close(m.ended)
	for {
		select {
		case <-ticker.C:
			m.draw()
		case <-m.quit:
			return
		}
	}
}

// draw shows how far the load is now. A stream that cannot be written to is no
// reason to stop a load.
func (m *meter) draw() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	now := m.look()
	if m.kind == plainDisplay {
		io.WriteString(m.out, now.plain()+"\n")
		return
	}
	io.WriteString(m.out, "\r"+now.bar(columns(m.out)-1)+"\x1b[K") // the last column would wrap
	m.drawn = true
}

func (m *meter) look() progress {
	return progress{read: m.input.BytesRead(), size: m.input.Size(), commands: m.commands.Load(), errors: m.errors.Load(), elapsed: time.Since(m.began)}
}

// columns is the width of a terminal.
func columns(stream io.Writer) int {
	const usual = 80
	f, ok := stream.(*os.File)
	if !ok {
		return usual
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return usual
}
