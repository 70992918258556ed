package main

import "strings"

// kept says which records are in files, and how to load them again.
func (c *console) kept(e *ending) {
	if e.files == nil || e.files.rejects == nil {
		return
	}
	r := e.files.rejects
	if files := r.refused.written(); len(files) > 0 {
		c.printf("%d records that did not take effect are in %s, and why in %s; to load them again:\n", r.refused.count, fileNames(files), printable(r.refused.path+reasonsSuffix))
		for _, line := range e.loadAgain(files) {
			c.printf("    %s\n", line)
		}
	}
	if n := r.refused.leftOut; n > 0 {
		c.printf("left out of them: %d, see %s\n", n, printable(r.refused.path+reasonsSuffix))
	}
	if files := r.unknown.written(); len(files) > 0 {
		c.printf("%d %s with unknown outcome %s in %s\n", r.unknown.count, ifOne(r.unknown.count, "record", "records"), ifOne(r.unknown.count, "is", "are"), fileNames(files))
	}
	if n := r.unknown.leftOut; n > 0 {
		c.printf("%d more %s with unknown outcome %s left out of them\n", n, ifOne(n, "record", "records"), ifOne(n, "is", "are"))
	}
}

// fileNames lists files.
func fileNames(files []*recordFile) string {
	var names []string
	for _, f := range files {
		names = append(names, printable(f.file.Name()))
	}
	return strings.Join(names, ", ")
}

// ifOne returns the word for one thing, or for any other number of them.
func ifOne(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
