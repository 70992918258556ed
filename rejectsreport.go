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
		c.printf("%d records of which it is not known whether they took effect are in %s\n", r.unknown.count, fileNames(files))
	}
	if n := r.unknown.leftOut; n > 0 {
		c.printf("of %d more it is not known, and they are left out\n", n)
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
