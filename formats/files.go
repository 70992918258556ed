package formats

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	stdinArg  = "-"
	stdinName = "<stdin>" // in positions
)

// shown is a file's name in positions.
func shown(file string) string {
	if file == stdinArg {
		return stdinName
	}
	return file
}

// resolve returns the files that the arguments name, and the sum of their
// sizes, -1 if that is unknown. An argument that is no file is a glob. The
// error is a *UsageError.
func resolve(args []string) (files []string, size int64, err error) {
	if len(args) == 0 {
		args = []string{stdinArg}
	}
	for _, arg := range args {
		found, err := glob(arg)
		if err != nil {
			return nil, 0, err
		}
		if slices.Contains(found, stdinArg) && slices.Contains(files, stdinArg) {
			return nil, 0, usagef("standard input can be read once only")
		}
		files = append(files, found...)
	}
	for _, file := range files {
		n, err := check(file)
		if err != nil {
			return nil, 0, err
		}
		if size >= 0 {
			size += n
		}
		if n < 0 {
			size = -1
		}
	}
	return files, size, nil
}

// glob returns the files that one argument names.
func glob(arg string) ([]string, error) {
	if _, err := os.Lstat(arg); arg == stdinArg || err == nil {
		return []string{arg}, nil
	}
	found, err := filepath.Glob(arg)
	if err != nil || len(found) == 0 {
		return nil, usagef("%s: no such file", arg)
	}
	return found, nil
}

// check looks whether a file can be read, and returns its size, -1 if it is no
// regular file.
func check(file string) (int64, error) {
	if file == stdinArg {
		return -1, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, usagef("%s: %v", file, reason(err))
	}
	if info.IsDir() {
		return 0, usagef("%s: is a directory", file)
	}
	if !info.Mode().IsRegular() {
		return -1, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return 0, usagef("%s: %v", file, reason(err))
	}
	f.Close()
	return info.Size(), nil
}

// reason is what went wrong without the name of the file.
func reason(err error) error {
	if path, ok := err.(*fs.PathError); ok {
		return path.Err
	}
	return err
}

// isRegular reports whether a file can be opened twice.
func isRegular(file string) bool {
	info, err := os.Stat(file)
	return file != stdinArg && err == nil && info.Mode().IsRegular()
}
