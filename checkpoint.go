package main

import (
	"fmt"
	"slices"

	"respipe/formats"
	"respipe/loader"
	"respipe/parser"
)

// checkpoint is how far a load has come, as it stands in the file of
// --checkpoint.
type checkpoint struct {
	Respipe string `json:"respipe"` // checkpointKind
	Version int    `json:"version"`

	File string `json:"file"` // of the first record to load; "" behind the end
	Line int    `json:"line"`
	Next int64  `json:"record"` // its number
	DB   int    `json:"db"`     // selected there
	Done bool   `json:"done"`   // the input was loaded to its end

	Mark    markJSON `json:"mark"`    // where reading begins, at Next or before
	Ahead   int64    `json:"ahead"`   // records from Next on that may have run
	Ended   bool     `json:"ended"`   // its run has ended, and wrote it last
	Second  int64    `json:"second"`  // records that were done in the second before
	Errors  int64    `json:"errors"`  // so far
	NotRun  int64    `json:"not_run"` // blocks, so far
	Changed []string `json:"changed,omitempty"`
	AtRisk  bool     `json:"at_risk,omitempty"` // a server was lost that may have lost what it had acknowledged

	Server  string              `json:"server"`
	Input   formats.Identity    `json:"input"`
	Options formats.Fingerprint `json:"options"`
}

// markJSON is a parser.Mark without the database.
type markJSON struct {
	N      int64  `json:"n"`
	File   int    `json:"file"`
	Offset int64  `json:"offset"`
	Line   int    `json:"line"`
	State  []byte `json:"state,omitempty"`
}

const (
	checkpointKind    = "checkpoint"
	checkpointVersion = 1
)

// mark returns where reading begins.
func (c *checkpoint) mark() parser.Mark {
	m := c.Mark
	return parser.Mark{N: m.N, File: m.File, Offset: m.Offset, Line: m.Line, DB: c.DB, State: m.State}
}

// valid reports whether c can be one that was written here.
func (c *checkpoint) valid() bool {
	return c.Respipe == checkpointKind && c.Version == checkpointVersion &&
		c.Next >= 1 && c.Mark.N >= 0 && c.Mark.N <= c.Next && c.DB >= 0 && c.Mark.File >= 0
}

// journal keeps the checkpoints of a load. A nil journal keeps none.
type journal struct {
	file     *checkpointFile
	from     *checkpoint // that the load goes on from; nil for none
	settings *settings
	options  formats.Fingerprint
	skip     int64 // of --skip

	source *layouts
	files  *keeping // whose records must be on the disk before a checkpoint says that they are done
	next   int64    // of the last one
}

// openJournal locks the file of --checkpoint and reads what is there. It changes
// the options of the input, which must be those of the command line, so that
// what is done is passed over. The error is a *formats.UsageError.
func openJournal(s *settings) (*journal, error) {
	if s.checkpoint == "" || s.dryRun {
		return nil, nil
	}
	j := &journal{settings: s, options: fingerprint(s), skip: s.input.Skip}
	var err error
	if j.file, err = openCheckpoint(s.checkpoint); err != nil {
		return nil, err
	}
	if j.from, err = j.file.read(); err == nil && j.from != nil {
		err = j.fits()
	}
	if err != nil {
		j.close()
		return nil, err
	}
	if j.from == nil {
		return j, nil
	}
	done := max(j.from.Next-1, s.input.Skip)
	if s.input.Limit >= 0 {
		s.input.Limit = max(s.input.Limit-(done-s.input.Skip), 0)
	}
	s.input.Skip = done
	return j, nil
}

// fingerprint returns what tells the options that decide which commands run
// where: those of the input, and the database.
func fingerprint(s *settings) formats.Fingerprint {
	f := s.input.Fingerprint()
	if s.server.db != 0 {
		f["db"] = fmt.Sprint(s.server.db)
	}
	return f
}

// fits looks whether the options are those of the checkpoint. The error is a
// *formats.UsageError.
func (j *journal) fits() error {
	was, now := j.from.Options, j.options
	if was["db"] != now["db"] {
		return &formats.UsageError{
			Msg:  fmt.Sprintf("%s was written by a load into another database, as -n says", j.file.path),
			Hint: "give the same -n again, or remove the checkpoint to load all of it",
		}
	}
	own := formats.Fingerprint{}
	for name, digest := range was {
		if name != "db" {
			own[name] = digest
		}
	}
	return own.Compare(&j.settings.input)
}

// begin has the source go on from the checkpoint. The error is a
// *formats.UsageError.
func (j *journal) begin(source *layouts) error {
	if j == nil {
		return nil
	}
	j.source = source
	if j.from == nil {
		return nil
	}
	return source.GoOnFrom(j.from.mark(), j.from.Input)
}

// earlier returns what earlier runs have done.
func (j *journal) earlier(s *settings) loader.Earlier {
	if j == nil || j.from == nil {
		return loader.Earlier{Next: s.input.Skip + 1, DB: s.server.db}
	}
	return loader.Earlier{Next: j.from.Next, DB: j.from.DB, Records: j.from.Next - 1 - j.skip, Errors: j.from.Errors, NotRun: j.from.NotRun}
}

// resumes returns the checkpoint that the load goes on from; nil for none.
func (j *journal) resumes() *checkpoint {
	if j == nil {
		return nil
	}
	return j.from
}

// write writes a checkpoint while the load runs.
func (j *journal) write(c loader.Checkpoint) error {
	return ownFile("checkpoint", j.put(j.checkpoint(c)))
}

// checkpoint makes what is written of a checkpoint of the loader.
func (j *journal) checkpoint(c loader.Checkpoint) *checkpoint {
	m := c.Mark
	k := &checkpoint{
		Respipe: checkpointKind, Version: checkpointVersion,
		Line: m.Line, Next: c.Next, DB: m.DB,
		Mark: markJSON{m.N, m.File, m.Offset, m.Line, m.State}, Ahead: c.Ahead, Second: max(c.Next-j.next, 0),
		Errors: c.Errors, NotRun: c.NotRun, Changed: c.Changed,
		Server: j.settings.server.name(), Options: j.options,
	}
	if j.next == 0 {
		k.Second = 0
	}
	j.next = c.Next
	if from := j.from; from != nil {
		k.AtRisk = from.AtRisk
		for _, name := range from.Changed {
			if !slices.Contains(k.Changed, name) {
				k.Changed = append(k.Changed, name)
			}
		}
	}
	return k
}

// put writes a checkpoint, when all that it says to be done is on the disk.
func (j *journal) put(k *checkpoint) (err error) {
	if k.Input, err = j.source.Identity(k.mark()); err != nil {
		return err
	}
	if m := k.Mark; m.File < len(k.Input.Files) {
		k.File = shownFile(k.Input.Files[m.File].Name)
	}
	if err = j.files.sync(); err != nil {
		return nil // it has stopped the load, and the checkpoint before holds
	}
	return j.file.write(k)
}

// finish writes the last checkpoint of a load that has connected.
func (j *journal) finish(r *loader.Report, failed bool) error {
	if j == nil || r.Server == nil {
		return nil
	}
	k := j.checkpoint(r.Checkpoint)
	k.Ended = true
	k.Done = r.InputDone && !failed && r.Unknown+r.NotSent == 0
	k.AtRisk = k.AtRisk || r.Restarted || len(r.AtRisk) > 0
	return ownFile("checkpoint", j.put(k))
}

// close gives the lock back.
func (j *journal) close() {
	if j != nil {
		j.file.close()
	}
}

// shownFile is the name of a file as places have it.
func shownFile(name string) string {
	if name == "-" {
		return "<stdin>"
	}
	return name
}
