package loader

import (
	"context"
	"fmt"
	"time"
)

// confirmAfter is how long the input must pause before the position is written
// only to say that the last replies were seen: the next transaction says so, too.
const confirmAfter = 20 * time.Millisecond

// await is the source's way to wait for ready. What was read so far is sent
// before, if nothing is in flight.
func (x *exactly) await(ready <-chan []byte) (chunk []byte, ok bool, err error) {
	select {
	case chunk, ok = <-ready: // there is more at hand: what is being filled can wait
		return chunk, ok, x.ending()
	default:
	}
	var pause <-chan time.Time
	for {
		if !x.busy() && !x.block.Open {
			if err := x.handOver(); err != nil {
				return nil, false, err
			}
		}
		if pause == nil && x.lag && !x.busy() {
			pause = time.After(confirmAfter)
		}
		x.alarm = pause
		chunk, ok, came := x.wait(ready)
		if came {
			x.alarm = nil
			return chunk, ok, nil
		}
		if pause != nil && x.alarm == nil {
			if pause = nil; x.lag && !x.busy() && x.ending() == nil {
				x.launch(&transaction{next: x.reached})
			}
		}
		x.alarm = nil
		if err := x.proceed(); err != nil {
			return nil, false, err
		}
	}
}

// busy reports whether something is under way.
func (x *exactly) busy() bool { return x.flying != nil || x.down != nil }

// step waits for one event.
func (x *exactly) step() error {
	if x.down == nil {
		x.wait(nil)
	}
	return x.proceed()
}

// wait waits for a chunk of ready or for what else may come.
func (x *exactly) wait(ready <-chan []byte) (chunk []byte, ok, came bool) {
	select {
	case chunk, ok = <-ready:
		return chunk, ok, true
	case err := <-x.landed:
		x.land(err)
	case <-x.tick():
		x.checkStall()
	case err := <-x.probed:
		x.takeProbe(err)
	case <-x.mail.bell:
		for _, e := range x.mail.take() {
			x.masterNamed(e.addr)
		}
	case <-x.alarm:
		x.alarm = nil
	case <-x.done:
		x.interrupt()
	}
	return nil, false, false
}

// poll sees to what has come.
func (x *exactly) poll() error {
	select {
	case <-x.done:
		x.interrupt()
	default:
	}
	return x.proceed()
}

// proceed sees to a lost connection. It returns errStop when reading must end.
func (x *exactly) proceed() error {
	for x.down != nil && x.lost == nil {
		x.resume()
	}
	return x.ending()
}

// ending returns errStop when reading, or reading from this source, must end.
func (x *exactly) ending() error {
	if x.rewound {
		return errStop
	}
	return x.run.ending()
}

// sleep pauses, and goes on seeing to what comes.
func (x *exactly) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	x.alarm = timer.C
	for x.alarm != nil {
		x.wait(nil)
		if err := x.proceed(); err != nil {
			x.alarm = nil
			return err
		}
	}
	return nil
}

// checkStall is called at each tick. When nothing was answered for too long it
// asks the server on a second connection.
func (x *exactly) checkStall() {
	switch {
	case x.flying == nil:
	case !x.stall.expired(x.link.reads.Load(), x.cfg.Timeout) || x.stall.asked:
	case x.stall.patient:
		x.giveUp(&StallError{x.cfg.Timeout * patience})
	default:
		x.stall.asked = true
		x.probed = make(chan error, 1)
		ctx, cfg, addr, told := x.ctx, x.cfg, x.node.addr, x.probed
		go func() { told <- answers(ctx, cfg, addr) }()
	}
}

// takeProbe is told what came of the second connection; any error means that
// the server does not answer.
func (x *exactly) takeProbe(err error) {
	asked := x.stall.asked
	x.stall.asked = false
	switch {
	case !asked || x.flying == nil: // meanwhile something was answered
	case err != nil:
		x.giveUp(&StallError{x.cfg.Timeout})
	default:
		x.stall.patient = true
		x.note(fmt.Sprintf("no reply for %v, but the server answers PING: it is busy, and has %v", x.cfg.Timeout, patience*x.cfg.Timeout))
	}
}

// masterNamed leaves a server that is not the master any more: another one has
// taken its place, and the position that is found there says how to go on.
func (x *exactly) masterNamed(addr string) {
	err := fmt.Errorf("the sentinels name %s as the master now", addr)
	switch {
	case addr == x.node.addr || x.down != nil:
	case x.flying != nil:
		x.giveUp(err)
	default:
		x.lose(err)
	}
}

// askMaster looks at the end whether it was the master who took the position.
func (x *exactly) askMaster() {
	if x.cfg.Master == nil || x.rewound || x.stopped != nil || x.lost != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), max(x.cfg.ConnectTimeout, time.Second))
	defer cancel()
	if addr, err := x.cfg.Master(ctx); err == nil {
		x.masterNamed(addr)
		x.drain()
	}
}

// giveUp ends the connection, and so what is under way.
func (x *exactly) giveUp(err error) {
	x.cause = err
	x.link.net.Close()
}
