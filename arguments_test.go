package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"respipe/formats"
)

func TestArrange(t *testing.T) {
	for _, row := range []struct{ args, want string }{
		{"", "load --"},
		{"load", "load --"},
		{"help load", "help -- load"},
		{"a.txt b.txt", "load -- a.txt b.txt"},
		{"a.txt load", "load -- a.txt load"},
		{"-", "load -- -"},
		{"-p 6379 a.txt", "load --port=6379 -- a.txt"},
		{"-p6379", "load --port=6379 --"},
		{"-p=6379", "load --port=6379 --"},
		{"--port 6379", "load --port=6379 --"},
		{"--port=6379", "load --port=6379 --"},
		{"--pass=", "load --pass= --"},
		{"--pass=a=b", "load --pass=a=b --"},
		{"-aa=b", "load --pass=a=b --"},
		{"a.txt --limit 3 b.txt -q", "load --limit=3 --quiet -- a.txt b.txt"},
		{"--cmd GET --cmd SET", "load --cmd=GET --cmd=SET --"},
		{"--max-errors -1", "load --max-errors=-1 --"},
		{"--pass -2", "load --pass=-2 --"},
		{"--value --kex", "load --value=--kex --"},
		{"-q -- -p --key load", "load --quiet -- -p --key load"},
		{"-2 -3 -4 -6 -e --raw --no-raw --no-auth-warning --pipe", "load --2 --3 --4 --6 --e --raw --no-raw --no-auth-warning --pipe --"},
		{"a.txt --help -q", "help"},
		{"convert --help", "help convert"},
		{"convert -f lines --as commands a.txt", "convert --format=lines --as=commands -- a.txt"},
		{"a.txt convert", "load -- a.txt convert"},
		{"--pass-file p --askpass", "load --pass-file=p --askpass --"},
		{"--pipe-timeout 3", "load --timeout=3 --"},
		{"-h localhost -n -1", "load --host=localhost --db=-1 --"},
	} {
		line, err := arrange(append([]string{"/usr/bin/respipe"}, strings.Fields(row.args)...))
		if err != nil {
			t.Errorf("%s: %v", row.args, err)
			continue
		}
		if got := strings.TrimSpace(strings.Join(line.words(), " ")); got != "respipe "+row.want {
			t.Errorf("%s:\n got %s\nwant respipe %s", row.args, got, row.want)
		}
	}
}

func TestArrangeRefuses(t *testing.T) {
	for _, row := range []struct{ args, msg, hint string }{
		{"--prot 6379", "unknown option --prot", "--port"},
		{"--max-error=secret", "unknown option --max-error", "--max-errors"},
		{"-x", "unknown option -x", ""},
		{"-xyz", "unknown option -xyz", ""},
		{"--p 6379", "unknown option --p", ""},
		{"-port 6379", "no option -port", "--port"},
		{"-limit=3", "no option -limit", "--limit"},
		{"--key", "--key needs a value", "--key=VALUE"},
		{"-p", "-p needs a value", "-p=VALUE"},
		{"--key --type hash", "--key needs a value", "--key=VALUE"},
		{"--key -q", "--key needs a value", "--key=VALUE"},
		{"--key --type=hash", "--key needs a value", "--key=VALUE"},
		{"--quiet=yes", "--quiet takes no value", ""},
		{"-qf lines", "-q takes no value", ""},
		{"convert -p 6379", "convert has no option -p", "load"},
		{"convert --tls a.txt", "convert has no option --tls", "load"},
		{"convert --prot", "unknown option --prot", ""},
		{"--as commands", "unknown option --as", ""},
	} {
		_, err := arrange(append([]string{"respipe"}, strings.Fields(row.args)...))
		usage, ok := errors.AsType[*formats.UsageError](err)
		if !ok || usage.Msg != row.msg || !strings.Contains(usage.Hint, row.hint) {
			t.Errorf("%s: %#v", row.args, err)
		}
	}
}

func TestWordsKeepFilesApart(t *testing.T) {
	line, err := arrange([]string{"respipe", "--", "--key", "-"})
	if err != nil || !slices.Equal(line.files, []string{"--key", "-"}) {
		t.Errorf("%v, %v", line, err)
	}
}
