package formats

import (
	"context"
	"errors"

	"respipe/parser"
)

// Prepare checks the templates against the columns of the first file, which
// may mean to wait for it until ctx ends, and of all files that can be opened
// twice. It goes to the place to go on from, if there is one. The error is a *UsageError, or the cause of ctx. Whatever else is
// wrong with the files, Next tells when it gets there.
func (s *Source) Prepare(ctx context.Context) error {
	first := s.file
	for i := first; i < len(s.files); i++ {
		if !s.holdsRecords(i) && (i > first || s.from == nil) {
			continue
		}
		var err error
		if i == first {
			s.in.wait = plainWait(ctx)
			err = s.begin()
			s.in.wait = plainWait(context.Background())
		} else if isRegular(s.files[i]) {
			err = s.peek(ctx, i)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if usage := asUsage(err); usage != nil {
			return usage
		}
	}
	return nil
}

// holdsRecords reports whether the i-th file will be read as records.
func (s *Source) holdsRecords(i int) bool {
	return s.mapping != nil || s.formats[i] != nil && s.formats[i].Records != nil
}

// peek begins the i-th file in a Source of its own.
func (s *Source) peek(ctx context.Context, i int) error {
	opt := s.opt
	opt.Note = nil
	p := newSource(s.files[i:i+1], s.formats[i:i+1], s.mapping, opt, s.feed.asked)
	defer p.Close()
	p.in.wait = plainWait(ctx)
	return p.begin()
}

// asUsage returns the *UsageError in err, with its place; nil if there is none.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	usage, ok := errors.AsType[*UsageError](err)
	if !ok {
		return nil
	}
	if broken, ok := errors.AsType[*parser.Broken](err); ok {
		usage = &UsageError{Msg: broken.Pos.String() + ": " + usage.Msg, Hint: usage.Hint}
	}
	return usage
}
