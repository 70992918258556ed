package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"respipe/formats"
)

// checkpointFile is the file of --checkpoint. It is replaced as a whole, so what
// is there is always a whole one; the lock is on a file beside it, which is
// there for the time of the load.
type checkpointFile struct {
	path string
	lock *wholeFile
}

const (
	lockSuffix = ".lock"
	nextSuffix = ".next" // of the one that is being written
)

// largestCheckpoint bounds what is read, in bytes.
const largestCheckpoint = 16 << 20

// openCheckpoint locks the file. The error is a *formats.UsageError.
func openCheckpoint(path string) (*checkpointFile, error) {
	held, err := createPrivate(path + lockSuffix)
	if err != nil {
		return nil, err
	}
	return &checkpointFile{path: path, lock: &wholeFile{file: held}}, nil
}

// read returns the checkpoint that is there; nil for none. The error is a
// *formats.UsageError.
func (f *checkpointFile) read() (*checkpoint, error) {
	file, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &formats.UsageError{Msg: "--checkpoint: " + err.Error()}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, largestCheckpoint))
	if err != nil {
		return nil, &formats.UsageError{Msg: "--checkpoint: " + err.Error()}
	}
	c := new(checkpoint)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(c); err != nil || decoder.More() || !c.valid() {
		return nil, &formats.UsageError{Msg: f.path + " is there already, and is no checkpoint of this respipe", Hint: "name another file"}
	}
	return c, nil
}

// write replaces the checkpoint.
func (f *checkpointFile) write(c *checkpoint) error {
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	next := f.path + nextSuffix
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a run that was killed
		return err
	}
	if err := writeWhole(next, append(text, '\n')); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := os.Rename(next, f.path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(f.path))
}

// writeWhole makes a private file and puts it on the disk.
func writeWhole(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// syncFolder has the names in a folder put on the disk. There are file systems
// that cannot.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// close gives the lock back.
func (f *checkpointFile) close() { f.lock.Close() }
