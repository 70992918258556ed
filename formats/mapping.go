package formats

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"respipe/parser"
)

var errNoFields = errors.New("no field has a value, so there is no hash")

// mapping turns records into commands.
type mapping struct {
	cols parser.Columns // asked for; the first fields of every record
	all  bool           // a hash takes all columns there are

	cmds []*parser.CommandTemplate // as given by --cmd; else the command is made of:

	op     *parser.Op
	name   []byte // HSET or SET
	key    *parser.Template
	filled []int            // columns of the key, which must not be empty
	value  *parser.Template // of a string
	fields []int            // columns of a hash, unless all

	// The commands of the record at hand.
	args  [][]byte // of all of them
	ends  []int    // of each in args
	ops   []*parser.Op
	taken int    // so many are handed out
	arena []byte // text that is put together
}

// newMapping reads the templates. It is nil if there are none. The error is a
// *UsageError.
func newMapping(opt *Options) (*mapping, error) {
	m := &mapping{}
	var err error
	switch {
	case opt.Key != "" && len(opt.Cmds) > 0:
		return nil, usagef("--key and --cmd do not go together")
	case opt.Key == "" && (opt.Value != "" || opt.Type != "" || len(opt.Fields) > 0):
		return nil, usagef("--type, --value and --fields need --key")
	case opt.Key != "":
		err = m.parseKey(opt)
	case len(opt.Cmds) > 0:
		err = m.parseCommands(opt.Cmds)
	default:
		return nil, nil
	}
	return m, err
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

// parseKey reads the template of --key and what belongs to it.
func (m *mapping) parseKey(opt *Options) error {
	var err error
	if m.key, err = parser.ParseTemplate(opt.Key, &m.cols); err != nil {
		return usagef("--key: %v", err)
	}
	if m.filled = m.key.Columns(); len(m.filled) == 0 {
		return &UsageError{
			Msg:  fmt.Sprintf("--key %q has no placeholder, so all records would have one key", opt.Key),
			Hint: "did you mean --tls-key? Otherwise write --key 'user:{id}'",
		}
	}
	switch opt.Type {
	case "", "hash":
		err = m.parseHash(opt)
	case "string":
		err = m.parseString(opt)
	default:
		err = usagef("unknown --type %q, there are hash and string", opt.Type)
	}
	m.op = new(parser.Ops).Find([][]byte{m.name})
	return err
}

func (m *mapping) parseHash(opt *Options) error {
	m.name = []byte("HSET")
	m.all = len(opt.Fields) == 0
	if opt.Value != "" {
		return usagef("--value needs --type string")
	}
	for _, name := range opt.Fields {
		m.fields = append(m.fields, m.cols.Index(name))
	}
	return nil
}

func (m *mapping) parseString(opt *Options) (err error) {
	m.name = []byte("SET")
	if opt.Value == "" {
		return usagef("--type string needs --value")
	}
	if len(opt.Fields) > 0 {
		return usagef("--fields are for hashes, not for --type string")
	}
	if m.value, err = parser.ParseTemplate(opt.Value, &m.cols); err != nil {
		return usagef("--value: %v", err)
	}
	return nil
}

// want is what a reader must fill in.
func (m *mapping) want() Want { return Want{Names: m.cols.Names, All: m.all} }

// expand makes all commands of a record, the n-th of all. They are views into
// the record and into the mapping, valid until the next call. Where one cannot
// be made, there are none.
func (m *mapping) expand(rec *parser.Record, n int64) error {
	m.args, m.ends, m.ops = m.args[:0], m.ends[:0], m.ops[:0]
	m.arena, m.taken = m.arena[:0], 0
	vals := rec.Fields[:len(m.cols.Names)]
	m.fillSpecials(rec, n)
	if m.key != nil {
		return m.expandKey(rec, vals)
	}
	for _, cmd := range m.cmds {
		var missing int
		m.args, m.arena, missing = cmd.Expand(m.args, m.arena, vals)
		if missing >= 0 {
			m.drop()
			return m.noValue(missing)
		}
		m.close(cmd.Op())
	}
	return nil
}

// fillSpecials fills in what no reader knows.
func (m *mapping) fillSpecials(rec *parser.Record, n int64) {
	for i, name := range m.cols.Names {
		if !strings.HasPrefix(name, "@") {
			continue
		}
		start := len(m.arena)
		switch name {
		case "@record":
			m.arena = strconv.AppendInt(m.arena, n, 10)
		case "@line":
			m.arena = strconv.AppendInt(m.arena, int64(rec.Pos.Line), 10)
		case "@file":
			m.arena = append(m.arena, rec.Pos.File...)
		case "@raw":
			rec.Fields[i] = rec.Raw
			continue
		default:
			continue
		}
		rec.Fields[i] = m.arena[start:len(m.arena):len(m.arena)]
	}
}

// expandKey makes the command of --key.
func (m *mapping) expandKey(rec *parser.Record, vals [][]byte) error {
	for _, i := range m.filled {
		if vals[i] != nil && len(vals[i]) == 0 {
			return fmt.Errorf("{%s} is empty, so the key would lack it", m.cols.Names[i])
		}
	}
	key, err := m.text(m.key, vals)
	if err != nil {
		return err
	}
	m.args = append(m.args, m.name, key)
	if m.value != nil {
		value, err := m.text(m.value, vals)
		if err != nil {
			return err
		}
		m.args = append(m.args, value)
	} else if m.appendFields(rec, vals); len(m.args) == 2 {
		return errNoFields
	}
	m.close(m.op)
	return nil
}

// appendFields adds names and values of a hash.
func (m *mapping) appendFields(rec *parser.Record, vals [][]byte) {
	if m.all {
		for i := len(vals); i < len(rec.Fields); i++ {
			if v := rec.Fields[i]; v != nil {
				m.args = append(m.args, rec.Names[i], v)
			}
		}
		return
	}
	for _, i := range m.fields {
		if vals[i] != nil {
			m.args = append(m.args, rec.Names[i], vals[i])
		}
	}
}

// text returns a template with its values filled in.
func (m *mapping) text(t *parser.Template, vals [][]byte) ([]byte, error) {
	if i := t.Column(); i >= 0 && vals[i] != nil {
		return vals[i], nil
	}
	start := len(m.arena)
	arena, missing := t.Append(m.arena, vals)
	if missing >= 0 {
		return nil, m.noValue(missing)
	}
	m.arena = arena
	return arena[start:len(arena):len(arena)], nil
}

func (m *mapping) noValue(column int) error {
	return fmt.Errorf("no value for {%s}", m.cols.Names[column])
}

// close ends a command.
func (m *mapping) close(op *parser.Op) {
	m.ends = append(m.ends, len(m.args))
	m.ops = append(m.ops, op)
}

// drop forgets the commands of the record at hand.
func (m *mapping) drop() { m.ends, m.taken = m.ends[:0], 0 }

// command returns the i-th command.
func (m *mapping) command(i int) (*parser.Op, [][]byte) {
	start := 0
	if i > 0 {
		start = m.ends[i-1]
	}
	return m.ops[i], m.args[start:m.ends[i]:m.ends[i]]
}

// take hands out the next command; false if there are no more.
func (m *mapping) take(c *parser.Command) bool {
	if m.taken == len(m.ends) {
		return false
	}
	c.Op, c.Args = m.command(m.taken)
	m.taken++
	c.Raw, c.Last = nil, m.taken == len(m.ends)
	return true
}
