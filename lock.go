package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"respipe/formats"
)

// lock takes the lock of a file, so that two runs do not load the same at one
// time; a cron job may last longer than a night. The lock ends with the
// process, however that ends; the file stays. It is made where it is missing.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &formats.UsageError{Msg: "--lock: " + err.Error()}
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &formats.UsageError{Msg: fmt.Sprintf("--lock: another run holds %s", path)}
	}
	return nil, &formats.UsageError{Msg: fmt.Sprintf("--lock: %s: %v", path, err)}
}
