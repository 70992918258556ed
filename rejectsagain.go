package main

import (
	"slices"
	"strconv"
	"strings"

	"respipe/formats"
	"respipe/parser"
)

// loadAgain returns the command lines that load files of records again, as they
// are or mended: the user's own, with the same mapping, one for all files that
// can be read together.
func (e *ending) loadAgain(files []*recordFile) (lines []string) {
	for len(files) > 0 {
		first := files[0].layout
		together := func(f *recordFile) bool {
			return f.layout.format == first.format && f.layout.converted == first.converted
		}
		var paths []string
		for _, f := range files {
			if together(f) {
				paths = append(paths, f.file.Name())
			}
		}
		files = slices.DeleteFunc(slices.Clone(files), together)
		lines = append(lines, e.againLine(first, paths))
	}
	return lines
}

// againLine returns the command line that loads files of one layout.
func (e *ending) againLine(l layout, paths []string) string {
	words := []string{"respipe"}
	for i := range e.given.options {
		o := &e.given.options[i]
		if notAgain[o.name] || o.name == "replace" && addsToKeys(&e.settings.input) {
			continue
		}
		words = append(words, o.shell()...)
	}
	words = append(words, "-f", l.format)
	if l.converted {
		words = append(words, "--encoding", "utf-8")
	}
	if db := e.settings.server.db; db != 0 {
		words = append(words, "-n", strconv.Itoa(db))
	}
	return strings.Join(append(words, (&commandLine{files: paths}).operands()...), " ")
}

// notAgain are the options that are of no use for a part of the records that is
// in a file of its own, those that againLine writes anew, and passwords.
var notAgain = map[string]bool{
	"skip": true, "limit": true, "expect": true, "after": true,
	"rejects": true, "checkpoint": true, "exactly-once": true, "forget": true, "replies": true, "replies-full": true,
	"format": true, "encoding": true, "db": true, "pass": true,
}

// addsToKeys reports whether a record adds to what others have put under its
// key: to clear it once more would take away what went in. A record that is
// spread is all that is under its key.
func addsToKeys(o *formats.Options) bool {
	if !slices.Contains([]string{"list", "set", "zset", "stream", "geo"}, o.Type) {
		return false
	}
	t, err := parser.ParseTemplate(o.Value+o.Member, new(parser.Columns)) // one of them, where it may spread
	return err != nil || !t.Spreads()
}
