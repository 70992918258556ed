package formats

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	stdinArg  = "-"
	stdinName = "<stdin>" // in positions
)

// input is a file to read.
type input struct {
	name   string
	format *Format // where it stands in a directory that tells; else nil
}

// formatOf tells the format; nil if its first bytes must tell. The error is a
// *UsageError.
func (f input) formatOf(opt *Options) (*Format, error) {
	if f.format == nil {
		return formatOf(f.name, opt)
	}
	if opt.mapped() {
		return nil, usagef("%s holds commands: --key and --cmd are for records", f.name)
	}
	if opt.Format != "" && opt.Format != "auto" && opt.Format != f.format.Name {
		return nil, &UsageError{
			Msg:  fmt.Sprintf("%s is part of an append-only file, and -f %s is not for it", f.name, opt.Format),
			Hint: "-f aof, or no -f at all",
		}
	}
	return f.format, nil
}

// shown is a file's name in positions.
func shown(file string) string {
	if file == stdinArg {
		return stdinName
	}
	return file
}

// resolve returns the files that the arguments name, and the sum of their
// sizes, -1 if that is unknown. An argument that is no file is a glob; a
// directory stands for its files. The error is a *UsageError.
func resolve(args []string) (files []input, size int64, err error) {
	if len(args) == 0 {
		args = []string{stdinArg}
	}
	piped := false
	for _, arg := range args {
		if arg == stdinArg {
			if piped {
				return nil, 0, usagef("standard input can be read once only")
			}
			piped = true
			files, size = append(files, input{name: arg}), -1
			continue
		}
		paths, err := glob(arg)
		if err != nil {
			return nil, 0, err
		}
		for _, path := range paths {
			found, err := expand(path)
			if err != nil {
				return nil, 0, err
			}
			files = append(files, found...)
		}
	}
	for _, file := range files {
		n, err := check(file.name)
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

// expand returns the files of a directory in order: those that its manifest
// names, else all but hidden ones and directories, by name. What is no directory
// is returned itself.
func expand(path string) (files []input, err error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []input{{name: path}}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, usagef("%s: %v", path, reason(err))
	}
	var names []string
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(path, e.Name()))
		if err == nil && !info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
			files = append(files, input{name: filepath.Join(path, e.Name())})
		}
	}
	if parts, err := appendOnly(path, names); parts != nil || err != nil {
		return parts, err
	}
	if len(files) == 0 {
		return nil, usagef("%s: there are no files in this directory", path)
	}
	return files, nil
}

// glob returns the files that one argument names.
func glob(arg string) ([]string, error) {
	if _, err := os.Lstat(arg); err == nil {
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
