package wire

import "sync/atomic"

// Waker wakes the one goroutine that waits for connections. A wake while that
// goroutine does not wait costs an atomic load and is not lost: Ready is asked
// before it waits.
type Waker struct {
	waiting atomic.Bool
	news    atomic.Bool
	bell    chan struct{}
}

// NewWaker returns a Waker for the connections of a load.
func NewWaker() *Waker { return &Waker{bell: make(chan struct{}, 1)} }

// Wake notes that there is something to Take. It may be called by any goroutine.
func (w *Waker) Wake() {
	w.news.Store(true)
	if w.waiting.Load() && w.waiting.CompareAndSwap(true, false) {
		w.bell <- struct{}{}
	}
}

// Ready reports whether there has been a Wake since Ready last said so.
func (w *Waker) Ready() bool { return w.news.Load() && w.news.Swap(false) }

// Wait returns a channel that is sent to at the next Wake, at once if there is
// something already. Whoever has waited calls Waited, whether the channel was
// received from or something else came first.
func (w *Waker) Wait() <-chan struct{} {
	w.waiting.Store(true)
	if w.news.Load() && w.waiting.CompareAndSwap(true, false) {
		w.bell <- struct{}{}
	}
	return w.bell
}

// Waited ends a Wait. Received says whether the channel was received from.
func (w *Waker) Waited(received bool) {
	if !received && !w.waiting.CompareAndSwap(true, false) {
		<-w.bell // a Wake came at the same time
	}
}
