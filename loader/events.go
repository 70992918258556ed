package loader

import (
	"context"
	"time"

	"respipe/loader/engine"
	"respipe/loader/wire"
)

// events are what the engine must know and the source does not bring: what the
// connections bring, of which the waker tells; what other goroutines tell; the
// time; and the end of the context.
type events struct {
	*shell
	waker   *wire.Waker
	answers chan answer
	stops   <-chan struct{} // the context ends; nil once it was seen
	timer   *time.Timer
	armed   engine.Time // when the timer fires; 0: it does not
}

// answer is what another goroutine tells.
type answer func(*shell)

// wait waits for a chunk of ready or for something that the engine must know.
func (e *events) wait(ready <-chan []byte) (chunk []byte, ok, came bool) {
	e.arm()
	rang := false
	select {
	case chunk, ok = <-ready:
		came = true
	case <-e.waker.Wait():
		rang = true
	case told := <-e.answers:
		e.waker.Waited(false)
		e.clock.now()
		told(e.shell)
		return nil, false, false
	case <-e.timer.C:
		e.armed = 0
		e.waker.Waited(false)
		e.tick()
		return nil, false, false
	case <-e.stops:
		e.stops = nil
		e.waker.Waited(false)
		e.stop(context.Cause(e.ctx))
		return nil, false, false
	}
	e.waker.Waited(rang)
	if rang || e.waker.Ready() {
		e.waker.Ready()
		e.clock.now()
		e.connections.collect()
	}
	return chunk, ok, came
}

// arm sets the timer to the engine's deadline. A timer that fires too early does
// no harm: so it is set again only for an earlier time.
func (e *events) arm() {
	d, ok := e.engine.Deadline()
	if !ok || e.armed > 0 && e.armed <= d {
		return
	}
	e.armed = max(d, 1)
	e.timer.Reset(d - e.clock.now())
}

// tick tells the engine that its time has come.
func (e *events) tick() {
	if d, ok := e.engine.Deadline(); ok && d <= e.clock.now() {
		e.handle(&engine.Event{Kind: engine.Tick})
	}
}

func (e *events) waitForEnd() {
	for !e.done {
		e.wait(nil)
	}
}

// tell passes an answer to Run's goroutine; if that has gone, it is dropped.
func (e *events) tell(a answer, dropped func()) {
	select {
	case e.answers <- a:
	case <-e.connections.over:
		dropped()
	}
}

// clock is the engine's clock. It stands still while a hook takes its time, so
// that a connection does not count as silent because nobody took its replies.
type clock struct {
	start time.Time
	slow  time.Duration
	at    engine.Time // when it was last looked at
}

func (c *clock) now() engine.Time {
	c.at = time.Since(c.start) - c.slow
	return c.at
}
