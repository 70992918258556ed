package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"respipe/formats"
)

// createPrivate makes a file that only its owner may read, opens it for
// appending, and holds its lock until it is closed. It never overwrites: a file
// that is there is taken over only where it is empty, as a run that was killed
// leaves one, and private. The error is a *formats.UsageError.
func createPrivate(path string) (*os.File, error) {
	const access = os.O_WRONLY | os.O_APPEND
	f, err := os.OpenFile(path, access|os.O_CREATE|os.O_EXCL, 0o600)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		if f, err = os.OpenFile(path, access|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0); err != nil {
			return nil, isThere(path)
		}
	}
	if err != nil {
		return nil, &formats.UsageError{Msg: err.Error()}
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = &formats.UsageError{Msg: "another run writes to " + path, Hint: "wait for its end, or name another file"}
	case err != nil:
		err = &formats.UsageError{Msg: fmt.Sprintf("%s: %v", path, err)}
	case !made && !isLeftover(f, path):
		err = isThere(path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isLeftover reports whether an open file is an empty, private one of ours, and
// still the one of that name.
func isLeftover(f *os.File, path string) bool {
	is, err := f.Stat()
	if err != nil || !isNamed(f, path) {
		return false
	}
	owner, ok := is.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Getuid() && is.Mode() == 0o600 && is.Size() == 0
}

// isNamed reports whether an open file is the one of that name.
func isNamed(f *os.File, path string) bool {
	at, err := os.Lstat(path)
	is, err2 := f.Stat()
	return err == nil && err2 == nil && os.SameFile(at, is)
}

// mustBeFree looks whether a file that may be made later is there. The error is
// a *formats.UsageError.
func mustBeFree(path string) error {
	if at, err := os.Lstat(path); err == nil && at.Size() > 0 {
		return isThere(path)
	}
	return nil
}

func isThere(path string) error {
	return &formats.UsageError{Msg: path + " is there already, and is not overwritten", Hint: "see to what is in it and move it away, or name another file"}
}

// wholeFile is a file of createPrivate in which everything is written whole, for
// those who read it meanwhile.
type wholeFile struct {
	file *os.File
	size int64
}

// Write writes all of b at once; where that fails, nothing of it stays.
func (f *wholeFile) Write(b []byte) (int, error) {
	if _, err := f.file.Write(b); err != nil {
		return 0, errors.Join(err, f.file.Truncate(f.size))
	}
	f.size += int64(len(b))
	return len(b), nil
}

// Close closes the file, and removes it if nothing was written to it.
func (f *wholeFile) Close() error {
	var removed error
	if name := f.file.Name(); f.size == 0 && isNamed(f.file, name) {
		removed = os.Remove(name) // still locked, so no other run has begun to use it
	}
	return errors.Join(removed, f.file.Close())
}
