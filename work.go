package main

import (
	"context"
	"errors"

	"respipe/formats"
	"respipe/loader"
)

// work is what a load or a conversion works with.
type work struct {
	settings *settings
	console  *console
	source   *layouts
	journal  *journal // nil without --checkpoint
	once     *once    // nil without --exactly-once
	files    *keeping
}

// open opens the input, where a checkpoint says, and the files that are kept.
// The error is a *formats.UsageError, or the cause of ctx. In any case w must be
// closed.
func (w *work) open(ctx context.Context) (err error) {
	s := w.settings
	if w.journal, err = openJournal(s); err != nil {
		return err
	}
	s.input.KeepSource = s.rejects != "" && !s.dryRun
	source, err := formats.Open(s.files, s.input)
	if err != nil {
		return err
	}
	w.source = &layouts{Source: source}
	if err := w.goOn(ctx); err != nil {
		return err
	}
	if !w.once.isDone() {
		if err := source.Prepare(ctx); err != nil {
			return err
		}
	}
	w.files, err = openKeeping(ctx, s, w.source, w.resumesAt())
	if err == nil {
		w.console.resumes(w.journal)
	}
	return err
}

// goOn lets the source go on from where earlier runs have come to, as a
// checkpoint or the server says.
func (w *work) goOn(ctx context.Context) (err error) {
	if w.settings.exactlyOnce == "" || w.settings.dryRun {
		return w.journal.begin(w.source)
	}
	w.once, err = beginOnce(ctx, w.settings, w.console, w.source.Source)
	return err
}

// resumesAt returns the record that the load goes on from; 0 if it begins.
func (w *work) resumesAt() int64 {
	switch {
	case w.once != nil && begun(w.once.from):
		return w.once.from.Mark.N + 1
	case w.journal.resumes() != nil:
		return w.journal.resumes().Next
	}
	return 0
}

// wasDone reports whether earlier runs were at the end of the input: what went
// wrong then was said then.
func (w *work) wasDone() bool {
	from := w.journal.resumes()
	return from != nil && from.Done || w.once != nil && w.once.from != nil && w.once.from.Done
}

// input is where the commands come from.
func (w *work) input() loader.Source {
	if w.files.gatherer == nil {
		return w.source.Source // none asks for layouts
	}
	return w.source
}

// config returns how the load is done.
func (w *work) config() loader.Config {
	cfg := w.settings.config(w.console)
	cfg.Earlier = w.journal.earlier(w.settings)
	if w.journal != nil {
		w.journal.files = w.files
		cfg.OnCheckpoint = w.journal.write
	}
	if w.once != nil {
		cfg.ExactlyOnce = w.once.config()
		if w.once.canReopen() {
			cfg.ExactlyOnce.Reopen = w.reopen
		}
	}
	cfg.KeepSource = w.settings.input.KeepSource
	if w.files.replies != nil {
		cfg.KeepReplies = longReply
		if w.settings.repliesFull {
			cfg.KeepReplies = loader.KeepAll
		}
	}
	cfg.OnSettled = func(b loader.Completed) error {
		w.console.settled(b)
		return w.files.settled(b)
	}
	return cfg
}

// reopen opens the input once more, from an earlier position.
func (w *work) reopen(p *loader.Position) (loader.Source, error) {
	source, err := w.once.reopen(p)
	if err != nil {
		return nil, err
	}
	w.source.Source = source
	w.console.meter.follow(source)
	return w.input(), nil
}

// finish completes what is kept of a load that has ended with err, and returns
// that with what else went wrong.
func (w *work) finish(report *loader.Report, err error) error {
	_, afterwards := errors.AsType[*loader.AfterError](err)
	all := append(causes(err), w.files.finish(), w.journal.finish(report, err != nil && !afterwards), w.files.close())
	return errors.Join(all...)
}

// close lets go of what was opened.
func (w *work) close() {
	if w.source != nil {
		w.source.Close()
	}
	w.once.close()
	w.journal.close()
}
