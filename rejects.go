package main

import (
	"bytes"
	"cmp"
	"errors"
	"strings"

	"respipe/formats"
	"respipe/parser"
)

// rejects are the files of --rejects: FILE, with the records that did not take
// effect, FILE.reasons, which says why, and FILE.unknown, with the records of
// which nobody knows. FILE is held for the time of the load, so that no other
// run writes to it; those in which nothing was written are not there at the end.
//
// No password gets into them: a record whose command may carry one is left out,
// and what stands in its place, and in FILE.reasons, says so.
type rejects struct {
	refused, unknown recordFiles
	why              *wholeFile // FILE.reasons; nil until it is needed

	ops     parser.Ops
	args    [][]byte
	keys    [][]byte
	scratch []byte
	line    []byte
}

const (
	reasonsSuffix = ".reasons"
	unknownSuffix = ".unknown"
)

// Why a record is left out of the files.
const (
	leftSecret = "its command may carry a password"
	leftLong   = "it was too long to be kept"
	leftBlock  = "its block was too long to be kept: --window-bytes is what there is room for"
)

// openRejects makes FILE for a load that begins in database db and has the
// templates cmds. The error is a *formats.UsageError.
func openRejects(path string, db int, cmds []string) (*rejects, error) {
	for _, cmd := range cmds {
		if args, _, err := parser.SplitArgs(nil, nil, []byte(cmd)); err == nil && isSecret(args) {
			return nil, &formats.UsageError{
				Msg:  "--rejects: the records for " + strings.ToUpper(string(args[0])) + " may hold passwords, which are never written to a file",
				Hint: "load without --rejects",
			}
		}
	}
	r := &rejects{refused: recordFiles{path: path, db: db}, unknown: recordFiles{path: path + unknownSuffix, db: db}}
	if _, err := r.refused.create(layout{}); err != nil {
		return nil, err
	}
	for _, suffix := range []string{".2", reasonsSuffix, unknownSuffix} {
		if err := mustBeFree(path + suffix); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

// reject writes down a record that did not take effect.
func (r *rejects) reject(x *rejected) error {
	args := r.argsOf(&x.keptRecord)
	left, err := r.keep(&r.refused, &x.keptRecord, args)
	if err != nil {
		return err
	}
	if r.why == nil {
		file, err := createPrivate(r.refused.path + reasonsSuffix)
		if err != nil {
			return err
		}
		r.why = &wholeFile{file: file}
	}
	r.line = r.appendReason(r.line[:0], x, args, left)
	_, err = r.why.Write(r.line)
	return err
}

// doubt writes down a record of which nobody knows whether it took effect.
func (r *rejects) doubt(x *keptRecord) error {
	_, err := r.keep(&r.unknown, x, r.argsOf(x))
	return err
}

// keep writes a record to files, unless it is left out; then left says why.
func (r *rejects) keep(files *recordFiles, x *keptRecord, args [][]byte) (left string, err error) {
	switch {
	case isSecret(args):
		left = leftSecret
	case x.text == nil:
		left = cmp.Or(x.left, leftLong)
	default:
		return "", files.write(x, r.ops.Find(args).Name == "SELECT")
	}
	return left, files.remark(x, left)
}

// argsOf returns name and arguments of the command that a record is about, as
// far as they can be told: of a line that cannot be split its first word.
func (r *rejects) argsOf(x *keptRecord) [][]byte {
	r.args = r.args[:0]
	switch {
	case x.command != nil:
		r.args = parser.ParseRequest(x.command, r.args)
	case x.layout.format != commandsFormat:
	case x.isRESP:
		r.args = parser.ParseRequest(x.text, r.args)
	default:
		var err error
		if r.args, r.scratch, err = parser.SplitArgs(r.args, r.scratch, x.text); err != nil {
			r.args = append(r.args, firstWord(x.text))
		}
		if cap(r.scratch) > keptBuffer {
			r.scratch = nil
		}
	}
	return r.args
}

// firstWord returns the first word of a line, without quotes.
func firstWord(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t\r\n\v\f")
	if i := bytes.IndexAny(line, " \t\r\n"); i >= 0 {
		line = line[:i]
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(line, []byte{'"'}, nil), []byte{'\''}, nil)
}

// isSecret reports whether a command may carry a password.
func isSecret(args [][]byte) bool { return len(args) > 0 && isSecretive(string(args[0])) }

// sync has all that is written put on the disk.
func (r *rejects) sync() error {
	err := errors.Join(r.refused.sync(), r.unknown.sync())
	if r.why != nil {
		err = errors.Join(err, r.why.file.Sync())
	}
	return err
}

// close closes the files, and removes FILE if nothing is in it.
func (r *rejects) close() error {
	err := errors.Join(r.refused.close(), r.unknown.close())
	if r.why != nil {
		err = errors.Join(err, r.why.Close())
	}
	return err
}
