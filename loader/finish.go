package loader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"respipe/loader/engine"
	"respipe/parser"
)

// cannotBegin returns why the engine has ended the load before it was running.
func (s *shell) cannotBegin() error {
	if s.stopped != nil {
		return s.stopped
	}
	if _, ok := errors.AsType[*ConnectError](s.connections.failed); ok {
		return s.connections.failed
	}
	if s.connections.failed != nil {
		return &ConnectError{Err: s.connections.failed, Temporary: true}
	}
	return &ConnectError{Err: errors.New("the nodes of the cluster do not agree on who has which slots"), Temporary: true}
}

// conclusion completes the report of a load that has ended, and says what its
// error is.
type conclusion struct {
	*shell
	result engine.Result
}

// finish completes the report of a load that has ended, and returns its error.
func (e *conclusion) finish() error {
	e.tally.leaveParts()
	e.tally.tellRefusals(true)
	e.hookFailed()
	if e.intake.inHand {
		e.rep.NotSent++
	}
	if e.intake.broken != nil {
		e.rep.Errors++
	}
	e.rep.Kinds = e.tally.kinds.List
	e.position()
	e.connections.closeAll()
	e.measure()
	lost := e.lostError()
	e.risks(lost == nil)
	e.rep.OrderUnsure = e.result.OrderUnsure
	return errors.Join(e.stopError(), lost, e.intake.broken, e.conclude(lost))
}

// measure completes the figures of the report.
func (e *conclusion) measure() {
	e.rep.Bytes, e.rep.Reconnects = e.connections.bytes, e.connections.again
	e.rep.Window = e.engine.Window()
	e.rep.DelayP50, e.rep.DelayP99 = latencyAt(e.connections.latency, 50), latencyAt(e.connections.latency, 99)
	for _, n := range e.connections.nodes {
		n.report.DelayP50, n.report.DelayP99 = latencyAt(n.latency, 50), latencyAt(n.latency, 99)
	}
}

// position says where a run that continues must begin.
func (e *conclusion) position() {
	here := e.intake.src.Mark()
	here.DB, here.N = e.tally.db, e.intake.last+1
	if e.intake.inHand || e.intake.partial || e.intake.broken != nil {
		here.N = e.intake.last
	}
	e.rep.Position = here
	if e.result.Partial && e.result.Resume.Record <= here.N {
		e.rep.Position = parser.Mark{N: e.result.Resume.Record, File: e.result.Resume.File, Line: e.result.Resume.Line, Offset: e.result.Resume.Offset, DB: e.tally.db}
		e.rep.File, e.rep.OpenBlock = e.tally.files[e.result.Resume.File], e.result.Transaction
	}
}

// stopError returns why the load was stopped, nil if it was not.
func (e *conclusion) stopError() error {
	switch {
	case e.stopped != nil:
		return e.stopped
	case e.result.Reason == engine.ReasonErrors:
		return ErrTooManyErrors
	case e.result.Reason == engine.ReasonRejecting:
		return ErrHopeless
	}
	return nil
}

// lostError returns why connections were given up, nil if none was.
func (e *conclusion) lostError() error {
	lost := &LostError{Addr: e.connections.lostAt, Err: e.connections.lost}
	switch e.result.Reason {
	case engine.ReasonLost:
		if e.cfg.OnDisconnect != Fail {
			lost.Why = fmt.Sprintf("%d commands may have run and cannot run twice without harm, the first at %v", e.tally.unsafe, e.tally.unsafeAt)
		}
	case engine.ReasonTransactionLost:
		lost.Why = "a transaction longer than the window is not kept"
	case engine.ReasonRestarted:
		lost.Why = anotherProcess
	case engine.ReasonMismatched:
		lost.Why = "it cannot be told which reply belongs to which command"
	case engine.ReasonUnreachable:
		bad, ok := errors.AsType[*ConnectError](e.connections.failed)
		lost.Gone = ok && bad.Temporary
		if e.connections.failed != nil {
			lost.Why = e.connections.failed.Error()
		}
	case engine.ReasonComplete:
		if e.connections.mismatch == nil {
			return nil
		}
		lost.Err = e.connections.mismatch
	default: // stopped for another reason, and what was in flight then was lost
		if e.rep.Unknown == 0 || lost.Err == nil {
			return nil
		}
	}
	if lost.Err == nil {
		lost.Err = errors.New("the server cannot be reached")
	}
	return lost
}

// risks notes what servers may have lost.
func (e *conclusion) risks(lives bool) {
	if !e.replicated() {
		return // see Report.Restarted
	}
	all := e.result.AtRisk
	if e.cfg.Master != nil && lives && !e.stillMaster() {
		all = append(all, e.result.Answered...)
	}
	for i, risk := range all {
		e.rep.AtRisk = append(e.rep.AtRisk, Risk{
			Addr: e.addressOf(risk.Address, i), Commands: risk.Range.Replies,
			First: e.tally.posOf(risk.Range.First), Last: e.tally.posOf(risk.Range.Last),
		})
	}
}

// addressOf returns the address of the server that risk i is about: the one that
// the sentinels had named then, or that of the node.
func (e *conclusion) addressOf(address string, i int) string {
	if i < len(e.connections.former) {
		return e.connections.former[i]
	}
	for _, n := range e.connections.nodes {
		if n.address == address {
			return n.dialled
		}
	}
	return address
}

// stillMaster reports, when everything is answered, whether it was the master who
// has answered.
func (e *conclusion) stillMaster() bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), max(e.cfg.ConnectTimeout, time.Second))
	defer cancel()
	addr, err := e.cfg.Master(ctx)
	return err != nil || addr == e.connections.nodes[0].dialled
}

// conclude asks the servers how they are now, on connections of their own, and
// sends the command that tells others that everything was loaded.
func (e *conclusion) conclude(lost error) error {
	if lost != nil {
		return nil
	}
	last := &run{ctx: e.ctx, cfg: *e.cfg, rep: e.rep}
	after := len(e.cfg.After) > 0 && e.allLoaded()
	target := e.afterNode()
	var failed error
	for _, n := range e.connections.nodes {
		at := &node{addr: n.address, report: n.report}
		if n != target || !after {
			last.inquire(at)
			continue
		}
		if err := last.sendAfter(at); err != nil {
			failed = &AfterError{err}
		}
	}
	return failed
}

// allLoaded reports whether every record of the input was acknowledged.
func (e *conclusion) allLoaded() bool {
	return e.rep.InputDone && e.rep.Errors == 0 && e.rep.NotRun == 0 && e.rep.EarlierRecords+e.rep.Records >= e.cfg.Expect && e.rep.EarlierErrors == 0 && e.cfg.Earlier.NotRun == 0 &&
		e.stopped == nil && e.result.Reason == engine.ReasonComplete
}

// afterNode returns the server that Config.After belongs to.
func (e *conclusion) afterNode() *serverNode {
	if len(e.cfg.After) > 0 && e.tally.cluster {
		if keys := e.opOf(e.cfg.After).AppendKeys(nil, e.cfg.After); len(keys) > 0 {
			owner := e.engine.Owner(parser.Slot(keys[0]))
			for _, n := range e.connections.nodes {
				if n.address == owner {
					return n
				}
			}
		}
	}
	return e.connections.nodes[0]
}
