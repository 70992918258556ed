package main

import (
	"respipe/formats"
	"respipe/parser"
)

// layouts is a source that remembers, for each of its files, what the records
// of that have in common.
type layouts struct {
	*formats.Source
	byFile []layout
	at     int // file of the last record
}

// Next is that of loader.Source.
func (l *layouts) Next(c *parser.Command) error {
	err := l.Source.Next(c)
	if err == nil {
		if c.File != l.at || len(l.byFile) == 0 {
			l.remember(c.File)
		}
	} else if _, refused := err.(*parser.Error); refused {
		if file := l.Mark().File; file != l.at || len(l.byFile) == 0 {
			l.remember(file)
		}
	}
	return err
}

// remember takes note of the layout of the file at hand.
func (l *layouts) remember(file int) {
	for len(l.byFile) <= file {
		l.byFile = append(l.byFile, layout{})
	}
	text := l.Text()
	l.byFile[file] = newLayout(l.Format(), text.Head, text.Decoded)
	l.at = file
}

// of returns the layout of a file; of one of which nothing has been read, none.
func (l *layouts) of(file int) layout {
	if file >= len(l.byFile) {
		return layout{}
	}
	return l.byFile[file]
}
