package main

import (
	"strings"
	"testing"

	"respipe/formats"
)

// filesOf returns open files of these layouts, called f, f.2 and so on.
func filesOf(t *testing.T, name string, layouts ...layout) []*recordFile {
	t.Helper()
	t.Chdir(t.TempDir())
	s := recordFiles{path: name}
	for _, l := range layouts {
		must(t, s.write(kept(l, 0, "x"), false))
	}
	t.Cleanup(func() { s.close() })
	return s.written()
}

func TestLoadAgain(t *testing.T) {
	text, csv, tsv := newLayout("resp", nil, false), newLayout("csv", []byte("a\n"), false), newLayout("tsv", []byte("a\n"), false)
	latin := newLayout("csv", []byte("a\n"), true)
	input := func(o formats.Options) *settings { return &settings{input: o} }
	for _, row := range []struct {
		args     string
		settings *settings
		name     string
		layouts  []layout
		want     string // lines joined by |
	}{
		{"a.txt", nil, "f", nil, ""},
		{"a.txt", nil, "f", []layout{text}, "respipe -f commands f"},
		{"-f aof dir", nil, "f", []layout{text}, "respipe -f commands f"},
		{"--key u:{id} --skip=5 --limit 9 --expect=9 -q b.csv", nil, "f.csv", []layout{csv},
			"respipe --key 'u:{id}' -q -f csv f.csv"},
		{"--after PING a", nil, "f", []layout{text}, "respipe -f commands f"},
		{"-h db1 -p7000 --pass s3cret --user ann -a s3cret -u redis://ann:s3cret@h/1 a", nil, "f", []layout{text},
			"respipe -h db1 -p 7000 --user ann -u redis://ann@h/1 -f commands f"},
		{"-n 3 a", &settings{server: endpoint{db: 3}}, "f", []layout{text}, "respipe -f commands -n 3 f"},
		{"--delimiter ; --columns a,b --max-errors 5 a", nil, "f", []layout{csv}, "respipe --delimiter ';' --columns a,b --max-errors 5 -f csv f"},
		{"--encoding latin1 --key {a} a.csv", nil, "f", []layout{latin}, "respipe --key '{a}' -f csv --encoding utf-8 f"},
		{"--key {a} a b c", nil, "f", []layout{csv, tsv, newLayout("csv", []byte("b\n"), false)},
			"respipe --key '{a}' -f csv f f.3|respipe --key '{a}' -f tsv f.2"},
		{"--key {a} a b", nil, "f", []layout{csv, latin}, "respipe --key '{a}' -f csv f|respipe --key '{a}' -f csv --encoding utf-8 f.2"},
		{"a", nil, "-f o", []layout{text}, "respipe -f commands -- '-f o'"},
		{"--replace --key {a} a", input(formats.Options{}), "f", []layout{csv}, "respipe --replace --key '{a}' -f csv f"},
		{"--replace --key {a} --type list --value {b} a", input(formats.Options{Type: "list", Value: "{b}"}), "f", []layout{csv},
			"respipe --key '{a}' --type list --value '{b}' -f csv f"},
		{"--replace --key {a} --type set --member {b...} a", input(formats.Options{Type: "set", Member: "{b...}"}), "f", []layout{csv},
			"respipe --replace --key '{a}' --type set --member '{b...}' -f csv f"},
		{"--replace --key {a} --type stream a", input(formats.Options{Type: "stream"}), "f", []layout{csv},
			"respipe --key '{a}' --type stream -f csv f"},
	} {
		given, err := arrange(append([]string{"respipe"}, strings.Fields(row.args)...))
		must(t, err)
		e := ending{given: given, settings: row.settings}
		if e.settings == nil {
			e.settings = &settings{}
		}
		if got := strings.Join(e.loadAgain(filesOf(t, row.name, row.layouts...)), "|"); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.args, got, row.want)
		}
	}
}

// TestLoadAgainWithoutItsOwn holds that what a load keeps in files or in the
// server is not asked for once more.
func TestLoadAgainWithoutItsOwn(t *testing.T) {
	e := ending{given: &commandLine{}, settings: &settings{}}
	for _, name := range []string{"rejects", "checkpoint", "exactly-once", "forget", "replies"} {
		e.given.options = append(e.given.options, option{name: name, typed: "--" + name, value: "x", takesValue: true})
	}
	e.given.options = append(e.given.options, option{name: "replies-full", typed: "--replies-full"})
	if got := e.againLine(newLayout("json", nil, false), []string{"f"}); got != "respipe -f json f" {
		t.Errorf("got %s", got)
	}
}
