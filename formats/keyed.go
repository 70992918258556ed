package formats

import (
	"fmt"
	"strconv"

	"respipe/parser"
)

// keyed is what --key and --type make of a record: a command on its key, with a
// DEL before it for --replace and an EXPIRE behind it, where they are due.
type keyed struct {
	*kind
	op        *parser.Op
	word      []byte // the command
	fixedWord []byte // nil for none
	key       *parser.Template
	filled    []int // columns of the key, which must not be empty
	args      []argument
	whole     bool // the record as it stands is the value
	chosen    selection
	expiry    *expiry // nil for none
	del       *parser.Op
	replace   bool
	cleared   *cleared // where --replace clears each key once, not for each record
}

// argument is an option that gives an argument.
type argument struct {
	option string
	text   *parser.Template
}

// newKeyed reads the templates of a type. The error is a *UsageError.
func newKeyed(opt *Options, cols *parser.Columns) (*keyed, error) {
	kind, err := findKind(opt.Type)
	if err != nil {
		return nil, err
	}
	k := &keyed{kind: kind, op: opOf(kind.command), word: []byte(kind.command), del: opOf("DEL"), replace: opt.Replace}
	if kind.fixed != "" {
		k.fixedWord = []byte(kind.fixed)
	}
	if err := kind.check(opt); err != nil {
		return nil, err
	}
	if err := k.parseKey(opt.Key, cols); err != nil {
		return nil, err
	}
	if err := k.parseArguments(opt, cols); err != nil {
		return nil, err
	}
	if k.expiry, err = newExpiry(opt, cols); err != nil {
		return nil, err
	}
	k.chosen, err = newSelection(opt, kind, cols)
	k.whole = k.whole || kind.rest == document && k.chosen.everything()
	return k, err
}

// opOf returns what the table knows about a command.
func opOf(name string) *parser.Op { return new(parser.Ops).Find([][]byte{[]byte(name)}) }

// parseKey reads the template of the key.
func (k *keyed) parseKey(text string, cols *parser.Columns) (err error) {
	if k.key, err = parseOne("key", text, cols); err != nil {
		return err
	}
	if k.filled = k.key.Columns(); len(k.filled) == 0 && !k.adds {
		return &UsageError{
			Msg:  fmt.Sprintf("--key %q has no placeholder, so all records would have one key", text),
			Hint: "did you mean --tls-key? Otherwise write --key 'user:{id}'",
		}
	}
	return nil
}

// parseArguments reads the templates that the type takes. A value that is not
// given is the record as it stands.
func (k *keyed) parseArguments(opt *Options, cols *parser.Columns) error {
	texts := map[string]string{}
	for _, s := range opt.arguments() {
		texts[s.name] = s.text
	}
	spread := false
	for _, option := range k.takes {
		if k.whole = texts[option] == ""; k.whole {
			break
		}
		t, err := parser.ParseTemplate(texts[option], cols)
		if err != nil {
			return usagef("--%s: %v", option, err)
		}
		if spread = t.Spreads(); spread && !k.spreads {
			return usagef("--%s is one argument, it cannot be a spread", option)
		}
		k.args = append(k.args, argument{option, t})
	}
	if k.replace && k.adds && !spread {
		k.cleared = newCleared()
	}
	return nil
}

// parseOne reads the template of one argument, which does not spread.
func parseOne(option, text string, cols *parser.Columns) (*parser.Template, error) {
	t, err := parser.ParseTemplate(text, cols)
	if err != nil {
		return nil, usagef("--%s: %v", option, err)
	}
	if t.Spreads() {
		return nil, usagef("--%s is one argument, it cannot be a spread", option)
	}
	return t, nil
}

// check looks whether the type can do with records of a format that have these
// columns, nil if they are not known. The error is a *UsageError.
func (k *keyed) check(format *Format, columns []string) error {
	if k.whole && k.rest == nothing && !format.Whole {
		return &UsageError{
			Msg:  fmt.Sprintf("--type %s needs --value", k.name),
			Hint: "the columns are " + list(columns),
		}
	}
	if columns == nil || !k.chosen.all {
		return nil
	}
	return k.chosen.check(columns)
}

// want is what a reader of a format must fill in: the columns that are asked
// for by name, and the fields.
func (k *keyed) want(format *Format, names []string) Want {
	return Want{
		Names:  names,
		All:    k.rest != nothing && k.chosen.all && !k.takesWhole(format),
		Except: k.chosen.except,
		JSON:   k.rest == document,
		Text:   k.chosen.text,
	}
}

// takesWhole reports whether the value is the record as it stands.
func (k *keyed) takesWhole(format *Format) bool { return k.whole && format.Whole }

// expandKey makes the commands of --key.
func (m *mapping) expandKey(rec *parser.Record, vals [][]byte, format *Format) error {
	k := m.keyed
	key, err := m.keyOf(vals)
	if err != nil {
		return err
	}
	clears, err := k.clears(key)
	if err != nil {
		return err
	}
	if clears {
		m.add(delWord, key)
		m.close(k.del)
	}
	m.add(k.word, key)
	if k.fixedWord != nil {
		m.add(k.fixedWord)
	}
	for i := range k.args {
		if err := m.addArgument(&k.args[i], vals); err != nil {
			return err
		}
	}
	switch {
	case k.takesWhole(format):
		m.addWhole(rec, format)
	case k.rest != nothing:
		err = m.addFields(rec, len(vals), format)
	}
	if err == nil {
		err = m.closeWithExpiry(key, vals)
	}
	if err == nil && clears {
		k.cleared.add(key)
	}
	return err
}

var delWord = []byte("DEL")

// keyOf returns the key of a record.
func (m *mapping) keyOf(vals [][]byte) ([]byte, error) {
	for _, i := range m.keyed.filled {
		if vals[i] != nil && len(vals[i]) == 0 {
			return nil, fmt.Errorf("{%s} is empty, so the key would lack it", m.cols.Names[i])
		}
	}
	key, missing := m.text(m.keyed.key, vals)
	if missing >= 0 {
		return nil, noValue(m.cols.Names[missing])
	}
	return key, nil
}

// addArgument adds what an option gives: values, or one that may have to be a
// number.
func (m *mapping) addArgument(a *argument, vals [][]byte) error {
	text, missing := m.text(a.text, vals)
	switch {
	case missing >= 0:
		return noValue(m.cols.Names[missing])
	case a.text.Spreads():
		m.args = parser.AppendItems(m.args, text)
		return nil
	case a.option != "value" && a.option != "member" && !isNumber(text):
		return fmt.Errorf("--%s is no number", a.option)
	}
	m.add(text)
	return nil
}

// addWhole adds the record as it stands, without the blanks of JSON.
func (m *mapping) addWhole(rec *parser.Record, format *Format) {
	if format != &jsonFormat {
		m.add(rec.Raw)
		return
	}
	start := len(m.arena)
	m.arena = appendCompact(m.arena, rec.Raw)
	m.add(m.since(start))
}

// isNumber reports whether text is a finite decimal number.
func isNumber(text []byte) bool {
	for _, c := range text {
		if !isDigit(c) && c != '+' && c != '-' && c != '.' && c|0x20 != 'e' {
			return false // neither hexadecimal nor "inf"
		}
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil
}
