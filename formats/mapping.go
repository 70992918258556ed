package formats

import (
	"errors"
	"strings"

	"respipe/parser"
)

// mapping turns records into commands: those of --cmd, or of --key and --type.
type mapping struct {
	expansion
	cols    parser.Columns // asked for; the first fields of every record
	missing missing
	cmds    []*parser.CommandTemplate
	keyed   *keyed // nil with cmds
}

// missing says what becomes of a placeholder without a value.
type missing uint8

const (
	reject   missing = iota // the record is refused
	asEmpty                 // it is empty
	leaveOut                // the command is left out
)

var missings = map[string]missing{"": reject, "reject": reject, "empty": asEmpty, "skip": leaveOut}

// noValue says that the record has no value for a placeholder.
type noValue string

func (name noValue) Error() string { return "no value for {" + string(name) + "}" }

var errNoFields = errors.New("no field has a value")

// isMissing reports whether a command cannot be made for want of a value.
func isMissing(err error) bool {
	_, ok := err.(noValue)
	return ok || err == errNoFields
}

// newMapping reads the templates. It is nil if there are none. The error is a
// *UsageError.
func newMapping(opt *Options) (*mapping, error) {
	how, ok := missings[opt.Missing]
	if !ok {
		return nil, usagef("unknown --missing %q, there are reject, empty and skip", opt.Missing)
	}
	m := &mapping{missing: how}
	var err error
	switch {
	case opt.Key != "" && len(opt.Cmds) > 0:
		return nil, usagef("--key and --cmd do not go together")
	case opt.Key != "":
		m.keyed, err = newKeyed(opt, &m.cols)
	case opt.needsKey() != "":
		return nil, usagef("--%s needs --key", opt.needsKey())
	case len(opt.Cmds) > 0:
		err = m.parseCommands(opt.Cmds)
	case opt.Missing != "":
		return nil, usagef("--missing needs --key or --cmd")
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// parseCommands reads the templates of --cmd.
func (m *mapping) parseCommands(lines []string) error {
	for _, line := range lines {
		cmd, err := parser.ParseCommand(line, &m.cols)
		if err != nil {
			return usagef("--cmd: %v", err)
		}
		m.cmds = append(m.cmds, cmd)
	}
	return nil
}

// check looks whether records of a format with these columns, nil if they are
// not known, will do. The error is a *UsageError.
func (m *mapping) check(format *Format, columns []string) error {
	if m.keyed == nil {
		return nil
	}
	return m.keyed.check(format, columns)
}

// want is what a reader of a format must fill in.
func (m *mapping) want(format *Format) Want {
	if m.keyed == nil {
		return Want{Names: m.cols.Names}
	}
	return m.keyed.want(format, m.cols.Names)
}

// expand makes all commands of a record, the n-th of all; there may be none,
// with --missing skip. Where one cannot be made, there are none, and an error.
func (m *mapping) expand(rec *parser.Record, format *Format, n int64) error {
	m.clear()
	vals := rec.Fields[:len(m.cols.Names)]
	m.fillSpecials(m.cols.Names, rec, n)
	if m.missing == asEmpty {
		m.fillEmpty(rec.Fields)
	}
	if m.keyed != nil {
		err := m.expandKey(rec, vals, format)
		if err != nil {
			m.drop()
		}
		if m.missing == leaveOut && isMissing(err) {
			return nil
		}
		return err
	}
	for _, cmd := range m.cmds {
		var missing int
		m.args, m.arena, missing = cmd.Expand(m.args, m.arena, vals)
		if missing < 0 {
			m.close(cmd.Op())
		} else if m.missing != leaveOut {
			m.drop()
			return noValue(m.cols.Names[missing])
		}
	}
	return nil
}

// passOver takes note of a record that --skip leaves out.
func (m *mapping) passOver(rec *parser.Record, format *Format, n int64) {
	if m.keyed != nil && m.keyed.cleared != nil {
		m.expand(rec, format, n)
		m.drop()
	}
}

var (
	emptyValue = []byte{}
	emptyList  = parser.AppendItem(nil, nil)
)

// fillEmpty puts the empty value, or a list of one, where there is none.
func (m *mapping) fillEmpty(fields [][]byte) {
	for i, v := range fields {
		switch {
		case v != nil:
		case i < len(m.cols.Names) && strings.HasSuffix(m.cols.Names[i], "..."):
			fields[i] = emptyList
		default:
			fields[i] = emptyValue
		}
	}
}
