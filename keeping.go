package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"respipe/loader"
)

// keeping is what a load keeps in files besides its checkpoints: the records
// that did not take effect, and the replies. Any of it may be nil.
type keeping struct {
	rejects  *rejects
	gatherer *gatherer
	replies  *replies

	failed error // of the first of them that could not be written
}

// openKeeping makes the files that the settings ask for. A load that goes on
// from a checkpoint makes new ones beside those of the runs before. The error is
// a *formats.UsageError, or the cause of ctx. From is the record that the load
// goes on from; 0 if it begins.
func openKeeping(ctx context.Context, s *settings, source *layouts, from int64) (k *keeping, err error) {
	k = new(keeping)
	if s.dryRun {
		return k, nil
	}
	if s.replies != "" {
		if k.replies, err = openReplies(ctx, beside(s.replies, from, "")); err != nil {
			return nil, err
		}
	}
	if s.rejects != "" {
		db := s.server.db
		if k.rejects, err = openRejects(beside(s.rejects, from, reasonsSuffix, unknownSuffix), db, s.input.Cmds); err != nil {
			k.close()
			return nil, err
		}
		k.gatherer = newGatherer(k.rejects, source)
	}
	return k, nil
}

// beside returns the path for the file of a load that goes on from a
// record, in whose place, or beside which, runs before may have left theirs.
func beside(path string, from int64, suffixes ...string) string {
	if from == 0 {
		return path
	}
	for n, free := 1, path; ; n++ {
		taken := false
		for _, suffix := range append(suffixes, "") {
			info, err := os.Lstat(free + suffix)
			taken = taken || err == nil && info.Size() > 0 && info.Mode().IsRegular()
		}
		if !taken {
			return free
		}
		if free = fmt.Sprintf("%s.from-%d", path, from); n > 1 {
			free = fmt.Sprintf("%s-%d", free, n)
		}
	}
}

// settled takes note of a batch. After an error it does nothing any more.
func (k *keeping) settled(b loader.Completed) error {
	if k.gatherer != nil && k.failed == nil {
		k.failed = ownFile("rejects", k.gatherer.settled(b))
	}
	if k.replies != nil && k.failed == nil {
		k.failed = ownFile("replies", k.replies.settled(b))
	}
	return k.failed
}

// finish is called when nothing more will be settled. It returns no error that
// settled has returned.
func (k *keeping) finish() error {
	if k.gatherer == nil || k.failed != nil {
		return nil
	}
	k.failed = ownFile("rejects", k.gatherer.finish())
	return k.failed
}

// sync has the rejects put on the disk: no checkpoint may say before that they
// are done.
func (k *keeping) sync() error {
	if k.rejects == nil || k.failed != nil {
		return k.failed
	}
	k.failed = ownFile("rejects", k.rejects.sync())
	return k.failed
}

// close closes the files.
func (k *keeping) close() error {
	var errs []error
	if k.rejects != nil {
		errs = append(errs, ownFile("rejects", k.rejects.close()))
	}
	if k.replies != nil {
		errs = append(errs, ownFile("replies", k.replies.close()))
	}
	return errors.Join(errs...)
}
