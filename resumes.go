package main

import (
	"fmt"
	"strings"
)

// resumes says where a load goes on, and what may run once more.
func (c *console) resumes(j *journal) {
	from := j.resumes()
	if from == nil {
		return
	}
	c.say(from.where(j.file.path) + from.again())
	if len(from.Changed) > 0 {
		c.warn("before this place the input has changed the connection by %s: that is not done again", strings.Join(from.Changed, ", "))
	}
	if now := j.settings.server.name(); from.Server != now {
		c.printf("WARNING: %s was written by a load into %s, and this one is into %s\n", printable(j.file.path), printable(from.Server), printable(now))
	}
	if from.AtRisk {
		c.printf("WARNING: a server was lost in an earlier run, and may have lost what it had acknowledged before this place\n")
	}
	if from.Errors > 0 {
		c.say(fmt.Sprintf("earlier runs had %d errors", from.Errors))
	}
}

// where says where the load goes on.
func (k *checkpoint) where(path string) string {
	if k.Done {
		return fmt.Sprintf("%s says that all %d records were loaded: going on with what has come since", path, k.Next-1)
	}
	words := "behind" // the record before, or an earlier one
	if k.Mark.N == k.Next {
		words = "from"
	}
	return fmt.Sprintf("going on %s %s:%d (record %d, in database %d)", words, k.File, k.Line, k.Next, k.DB)
}

// again says what may run twice.
func (k *checkpoint) again() string {
	switch {
	case k.Ended && k.Ahead > 0:
		return fmt.Sprintf("; up to %d records from there on may have run already, and run once more", k.Ahead)
	case k.Ended:
		return ""
	}
	about := ""
	if n := k.Ahead + k.Second; n > 0 {
		about = fmt.Sprintf(" (about %d records)", n)
	}
	return "; what was loaded behind it, up to a second's worth" + about + ", runs once more"
}
