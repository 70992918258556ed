package main

import (
	"os/exec"
	"strings"
	"testing"

	"respipe/formats"
	"respipe/loader"
	"respipe/parser"
)

func TestGoOn(t *testing.T) {
	for _, row := range []struct {
		args []string
		skip int64 // records that --skip has left out
		keep int64 // --limit
		at   parser.Mark
		want string
	}{
		{[]string{"convert", "--as=commands", "a.txt"}, 0, -1, parser.Mark{N: 3}, "respipe convert --as commands --skip 2 a.txt"},
		{[]string{"--after", "SET ready 1", "a.txt"}, 0, -1, parser.Mark{N: 3}, "respipe --after 'SET ready 1' --skip 2 a.txt"},
		{[]string{"--after", "AUTH s3cret", "--askpass", "a"}, 0, -1, parser.Mark{N: 3}, "respipe --after 'AUTH ...' --askpass --skip 2 a"},
		{[]string{"a.txt"}, 0, -1, parser.Mark{N: 1}, "respipe --skip 0 a.txt"},
		{[]string{"a.txt"}, 0, -1, parser.Mark{N: 4712, DB: 2}, "respipe --skip 4711 -n 2 a.txt"},
		{nil, 0, -1, parser.Mark{N: 8}, "respipe --skip 7"},
		{nil, 0, -1, parser.Mark{}, "respipe --skip 0"},
		{[]string{"--skip", "5", "--limit=10", "-n3", "a", "b"}, 5, 10, parser.Mark{N: 9, DB: 3}, "respipe --skip 8 --limit 7 -n 3 a b"},
		{[]string{"--skip", "5", "--limit=10", "a"}, 5, 10, parser.Mark{N: 16}, "respipe --skip 15 --limit 0 a"},
		{[]string{"--key", "user:{id}", "a b.csv", "-q"}, 0, -1, parser.Mark{N: 2}, "respipe --key 'user:{id}' -q --skip 1 'a b.csv'"},
		{[]string{"--cmd", "SET {id} 'x y'", "a"}, 0, -1, parser.Mark{N: 2}, `respipe --cmd 'SET {id} '\''x y'\''' --skip 1 a`},
		{[]string{"--null=-x", "--", "-f"}, 0, -1, parser.Mark{N: 2}, "respipe --null=-x --skip 1 -- -f"},
		{[]string{"-", "-a", "s3cret", "--user=ann", "--pass=s3cret", "--pass-file", "f"}, 0, -1, parser.Mark{N: 2}, "respipe --user ann --pass-file f --skip 1 -"},
		{[]string{"-u", "redis://ann:s3cret@h:1/2"}, 0, -1, parser.Mark{N: 2}, "respipe -u redis://ann@h:1/2 --skip 1"},
		{[]string{"-u", "redis://:s3cret@h"}, 0, -1, parser.Mark{N: 2}, "respipe -u redis://h --skip 1"},
		{[]string{"-u", "redis://h\x00:s3cret"}, 0, -1, parser.Mark{N: 2}, "respipe -u redis://... --skip 1"},
		{[]string{"--cmd", "AUTH s3cret", "a"}, 0, -1, parser.Mark{N: 2}, "respipe --cmd 'AUTH ...' --skip 1 a"},
		{[]string{"--null", "\x1b[31m'", "a\nb"}, 0, -1, parser.Mark{N: 2}, `respipe --null $'\x1b[31m\'' --skip 1 $'a\x0ab'`},
	} {
		given, err := arrange(append([]string{"respipe"}, row.args...))
		if err != nil {
			t.Fatal(err)
		}
		e := ending{given: given, settings: &settings{input: formats.Options{Skip: row.skip, Limit: row.keep}}, report: &loader.Report{Position: row.at}}
		if got := e.goOn(); got != row.want {
			t.Errorf("%q:\n got %s\nwant %s", row.args, got, row.want)
		}
	}
}

// TestGoOnAfterErrors holds that a rest that goes in does not hide that other
// records did not, and that the rest need not be the whole.
func TestGoOnAfterErrors(t *testing.T) {
	given, err := arrange([]string{"respipe", "--after", "SET ready 1", "--expect=10", "a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	e := ending{given: given, settings: &settings{input: formats.Options{Limit: -1}, load: loader.Config{Expect: 10}},
		report: &loader.Report{Errors: 1, Position: parser.Mark{N: 4}}}
	if got, want := e.goOn(), "respipe --skip 3 --expect 7 a.txt"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// FuzzShellQuote: the shell reads back what was quoted.
func FuzzShellQuote(f *testing.F) {
	for _, seed := range []string{"a", "", "it's", "a b", "$HOME", "`x`", "a\nb", "\x1b[0m", `\`, "~", "ü", "\xff", "-n", "!x", "\u202e", "a*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.Contains(word, "\x00") {
			return // no argument can hold one
		}
		out, err := exec.Command("bash", "-c", "printf %s "+shellQuote(word)).Output()
		if strings.HasPrefix(word, "-") { // printf would take it as an option
			out, err = exec.Command("bash", "-c", "printf %s -- "+shellQuote(word)).Output()
			out = []byte(strings.TrimPrefix(string(out), "--"))
		}
		if err != nil || string(out) != word {
			t.Errorf("%q became %s and was read as %q (%v)", word, shellQuote(word), out, err)
		}
	})
}
