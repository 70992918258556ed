package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"respipe/formats"
	"respipe/loader"
	"respipe/parser"
)

// once is a load with --exactly-once: its position lies in the server.
type once struct {
	settings *settings
	source   *formats.Source // that is read
	opened   *formats.Source // in its place; nil for none
	from     *loader.Position
	grown    bool // the input has, since the load was done
}

// onceInput is what a position says of the input and of the options that make
// commands of it. Of several regular files it says of one alone what tells it
// from others, lest the position grow with their number.
type onceInput struct {
	formats.Identity
	Others  string              `json:"others,omitempty"` // digest of what tells the others
	Options formats.Fingerprint `json:"options"`
	Limit   int64               `json:"limit"`
}

// beginOnce reads the position and lets source go on from there. The error is a
// *formats.UsageError if the input or the options are others than before.
func beginOnce(ctx context.Context, s *settings, c *console, source *formats.Source) (*once, error) {
	o := &once{settings: s, source: source}
	var err error
	if o.from, err = loader.ReadPosition(ctx, s.config(c), s.exactlyOnce); err != nil || !begun(o.from) {
		return o, err
	}
	was, err := o.goOn(source, o.from)
	if err != nil {
		return o, err
	}
	file := was.Files[o.from.Mark.File]
	if o.from.Done {
		now, err := source.Identity(o.from.Mark)
		o.grown = err == nil && now.Files[o.from.Mark.File].Size > file.Size
	}
	if !o.isDone() {
		if file.Name == "-" {
			file.Name = "<stdin>"
		}
		c.say(fmt.Sprintf("going on behind %s:%d: %s", file.Name, o.from.Mark.Line, earlier(o.from.Records, o.from.Errors)))
		if o.from.Confirmed != nil {
			c.say("the reply to the last transaction of the earlier run was not seen: its records are read again, and not sent")
		}
	}
	return o, nil
}

// begun reports whether something of a load is done.
func begun(p *loader.Position) bool { return p != nil && p.Mark.N > 0 }

// isDone reports whether there is nothing left to load.
func (o *once) isDone() bool { return o != nil && o.from != nil && o.from.Done && !o.grown }

// goOn lets a source go on from the restart point of a position, and returns
// what told the files from others at its mark.
func (o *once) goOn(source *formats.Source, p *loader.Position) (id formats.Identity, err error) {
	id, err = o.compare(source, p)
	if from, input := p.Start(); err == nil && p.Confirmed == nil {
		err = source.GoOnFrom(from, id)
	} else if err == nil {
		var was onceInput
		var before formats.Identity
		if err = was.read(input); err == nil {
			before, err = was.identity(source, from)
		}
		if err == nil {
			err = source.GoOnFrom(from, before)
		}
	}
	return id, o.otherInput(err)
}

// compare looks whether the options and the input, as far as that can be seen
// without reading a pipe, are those of a position. It returns what told the
// files from others at its mark.
func (o *once) compare(source *formats.Source, p *loader.Position) (id formats.Identity, err error) {
	var was onceInput
	if err := was.read(p.Input); err != nil {
		return id, err
	}
	err = was.Options.Compare(&o.settings.input)
	if err == nil && p.Done && was.Limit != o.settings.input.Limit {
		err = &formats.UsageError{Msg: "the load is done, by another --limit"}
	}
	if err == nil {
		id, err = was.identity(source, p.Mark)
	}
	if err == nil {
		err = source.Compare(id, p.Mark)
	}
	return id, err
}

// sameInput returns an error if a position was written for another input, or
// other options. Read says that the source has been read up to it.
func (o *once) sameInput(p *loader.Position, read bool) error {
	source := o.reading()
	id, err := o.compare(source, p)
	if file := p.Mark.File; err == nil && read && file < len(id.Files) && id.Files[file].Head != "" {
		var now formats.Identity
		if now, err = source.Identity(p.Mark); err == nil && now.Files[file].Head != id.Files[file].Head && !source.Regular(file) {
			err = &formats.UsageError{Msg: fmt.Sprintf("%s does not bring what it brought", shellQuote(id.Files[file].Name))}
		}
	}
	return o.otherInput(err)
}

// otherInput says in an error of usage which load it concerns, and what to do.
func (o *once) otherInput(err error) error {
	usage, ok := errors.AsType[*formats.UsageError](err)
	if !ok {
		return err
	}
	return &formats.UsageError{
		Msg:  fmt.Sprintf("--exactly-once %s: %s", o.settings.exactlyOnce, usage.Msg),
		Hint: "give another name to load another input, or --forget " + shellQuote(o.settings.exactlyOnce) + " to load all of this one again",
	}
}

// read reads what a position says of the input.
func (in *onceInput) read(text json.RawMessage) error {
	if err := json.Unmarshal(text, in); err != nil {
		return fmt.Errorf("what the position says of the input cannot be read: %w", err)
	}
	return nil
}

// reading returns the source that is read.
func (o *once) reading() *formats.Source {
	if o.opened != nil {
		return o.opened
	}
	return o.source
}

// identity returns what told all files from others. Those of which only a digest
// is kept must be what they were.
func (in *onceInput) identity(source *formats.Source, m parser.Mark) (formats.Identity, error) {
	if in.Others == "" {
		return in.Identity, nil
	}
	id, err := source.Identity(parser.Mark{})
	if err == nil && m.File < len(id.Files) {
		id, err = source.Identity(m)
	}
	switch {
	case err != nil:
		return id, err
	case m.File >= len(id.Files) || len(in.Files) != 1 || othersOf(id, m.File) != in.Others:
		return id, &formats.UsageError{Msg: "the input files are not what they were"}
	}
	id.Files[m.File], id.Before = in.Files[0], in.Before
	return id, nil
}

// othersOf returns a digest of what tells all files but one from others.
func othersOf(id formats.Identity, but int) string {
	text, err := json.Marshal(slices.Delete(slices.Clone(id.Files), but, but+1))
	if err != nil { // strings and numbers
		panic("internal error: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// config returns what keeps the position.
func (o *once) config() *loader.ExactlyOnce {
	return &loader.ExactlyOnce{Name: o.settings.exactlyOnce, From: o.from, Grown: o.grown, Identity: o.identify, SameInput: o.sameInput}
}

// canReopen reports whether all of the input is in regular files.
func (o *once) canReopen() bool { return o.source.Size() >= 0 }

// identify returns what tells the input and the options at a mark.
func (o *once) identify(m parser.Mark) (json.RawMessage, error) {
	source := o.reading()
	id, err := source.Identity(m)
	if err != nil {
		return nil, err
	}
	in := onceInput{Identity: id, Options: o.settings.input.Fingerprint(), Limit: o.settings.input.Limit}
	if len(id.Files) > 1 && source.Size() >= 0 {
		in.Others, in.Files = othersOf(id, m.File), id.Files[m.File:m.File+1]
	}
	return json.Marshal(in)
}

// reopen opens the input again, to go on from an earlier position.
func (o *once) reopen(p *loader.Position) (*formats.Source, error) {
	source, err := formats.Open(o.settings.files, o.settings.input)
	if err == nil {
		o.close()
		o.opened = source
		if begun(p) {
			_, err = o.goOn(source, p)
		}
	}
	if err == nil {
		err = source.Prepare(context.Background())
	}
	return source, err
}

// close closes what reopen opened.
func (o *once) close() {
	if o != nil && o.opened != nil {
		o.opened.Close()
	}
}

// checkOnce looks whether the options go with --exactly-once and --forget.
func (o *optionReader) checkOnce(s *settings) {
	if s.exactlyOnce == "" {
		return
	}
	for _, name := range []string{"cluster", "wait-replicas"} {
		if o.IsSet(name) {
			o.mistake("exactly-once", "it does not go with --"+name, "it needs one server, which may be behind sentinels")
		}
	}
	for _, name := range []string{"checkpoint", "replies"} {
		if o.IsSet(name) {
			o.mistake("exactly-once", "it does not go with --"+name, "the position is in the server, and the answers of a transaction come as one")
		}
	}
	if s.load.Connections > 1 {
		o.mistake("exactly-once", "it uses one connection", "leave out --connections")
	}
}

// name reads the name of a load.
func (o *optionReader) name(option string) string {
	name := o.String(option)
	if o.IsSet(option) && name == "" {
		o.mistake(option, "a load needs a name", "")
	}
	return name
}

// forget removes the position of --forget.
func (p *program) forget(c *cli.Context) error {
	s, err := readSettings(c, p.given)
	if err != nil {
		return err
	}
	if len(s.files) > 0 || s.exactlyOnce != "" {
		return &formats.UsageError{Msg: "--forget loads nothing", Hint: "give it alone, with the options of the connection"}
	}
	console := newConsole(p.stderr, s)
	existed, err := loader.Forget(c.Context, s.config(console), s.forget)
	switch {
	case err != nil:
		p.status = (&ending{report: new(loader.Report), err: err}).status()
		console.cause(err, s)
	case existed:
		console.say("forgotten: " + s.forget)
	default:
		console.say("there was nothing to forget: " + s.forget)
	}
	return nil
}

// earlier says what earlier runs have loaded.
func earlier(records, errors int64) string {
	text := fmt.Sprintf("%d records were loaded by earlier runs", records)
	if errors > 0 {
		text += fmt.Sprintf(", with %d errors", errors)
	}
	return text
}

// once prints what is special about a load that runs exactly once.
func (c *console) once(e *ending) {
	r, name := e.report, e.settings.exactlyOnce
	c.unconfirmed(r)
	if r.DoneBefore {
		c.say(fmt.Sprintf("%s is done: %s; --forget %s forgets that", name, earlier(r.EarlierRecords, r.EarlierErrors), shellQuote(name)))
	}
	if r.Again > 0 {
		c.printf("%d commands were loaded again, as the server had lost them\n", r.Again)
	}
}

// unconfirmed names the records of which it is not known whether the server
// refused them; quiet or not, as the load does not end well.
func (c *console) unconfirmed(r *loader.Report) {
	for _, u := range r.Unconfirmed.Ranges {
		first, last := u.First.Pos(), u.Last.Pos()
		all := u.Last.N - u.First.N + 1
		switch {
		case all == 1:
			c.printf("%s: 1 record is unconfirmed: it ran in a transaction whose reply was lost; whether the server refused it is not known\n", place(first))
		case u.Records < all:
			c.printf("%s to %s: %d of %d records are unconfirmed: they ran in transactions whose replies were lost; whether the server refused any of them is not known\n", place(first), place(last), u.Records, all)
		default:
			c.printf("%s to %s: %d records are unconfirmed: they ran in a transaction whose reply was lost; whether the server refused any of them is not known\n", place(first), place(last), u.Records)
		}
	}
	if r.AfterUnconfirmed {
		c.printf("the command of --after ran, but its reply was lost: whether the server refused it is not known\n")
	}
}
