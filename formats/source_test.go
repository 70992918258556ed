package formats

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"respipe/parser"
)

// files writes files into a folder and returns their paths.
func files(t *testing.T, namesAndTexts ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(namesAndTexts); i += 2 {
		path := filepath.Join(dir, namesAndTexts[i])
		if err := os.WriteFile(path, []byte(namesAndTexts[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// source opens a Source that ends with the test.
func source(t *testing.T, paths []string, opt Options) *Source {
	t.Helper()
	s, err := Open(paths, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// texts are the texts of outcomes, with the base name of the file.
func texts(all []outcome) string {
	var b strings.Builder
	for _, o := range all {
		b.WriteString(filepath.Base(o.pos.String()) + " " + o.text + "\n")
	}
	return b.String()
}

// samePlace compares two marks but for their states.
func samePlace(a, b parser.Mark) bool {
	a.State, b.State = nil, nil
	return reflect.DeepEqual(a, b)
}

func TestSourceFiles(t *testing.T) {
	var notes []string
	opt := all(Options{Note: func(pos parser.Pos, text string) {
		notes = append(notes, filepath.Base(pos.File)+": "+text)
	}})
	paths := files(t, "a.txt", "SET a \"1\nFLUSHALL\nMULTI", "b.txt", "", "c.txt", "FLUSHALL\nWAIT 1 1\n*1\r\n$4\r\nPING\r\n")
	s := source(t, paths, opt)
	got := texts(collect(s))
	want := "a.txt:1 refused: a quote is left open\n" +
		"a.txt:2 refused: FLUSHALL is refused because line 1 left a quote open: this may be the rest of a value\n" +
		"a.txt:3 MULTI\n" +
		"c.txt:1 FLUSHALL\n" +
		"c.txt:2 refused: WAIT holds up all that follows, it cannot be piped\n" +
		"c.txt:3 PING\n"
	if got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if len(notes) != 1 || notes[0] != "b.txt: empty, no records" {
		t.Errorf("notes are %q", notes)
	}
	if s.Size() != 55 || s.BytesRead() != 55 {
		t.Errorf("size %d, read %d, want 55", s.Size(), s.BytesRead())
	}
	if m := s.Mark(); !samePlace(m, parser.Mark{N: 7, File: 2, Offset: 32, Line: 6}) {
		t.Errorf("mark is %+v", m)
	}
	if err := s.Next(&parser.Command{}); err != io.EOF {
		t.Errorf("behind the end: %v", err)
	}
}

func TestSourceSkipAndLimit(t *testing.T) {
	paths := files(t, "1.lst", "a\nb\n\nc", "2.lst", "d\nMONITOR x\ne\n")
	tests := []struct {
		skip, limit int64
		want        string
		mark        parser.Mark
	}{
		{0, -1, "a b c d MONITOR x e", parser.Mark{N: 7, File: 1, Offset: 14, Line: 4}},
		{2, 2, "c d", parser.Mark{N: 5, File: 1, Offset: 2, Line: 2}},
		{0, 3, "a b c", parser.Mark{N: 4, File: 0, Offset: 6, Line: 4}},
		{3, 0, "", parser.Mark{N: 4, File: 0, Offset: 6, Line: 4}},
		{0, 0, "", parser.Mark{N: 1, Line: 1}},
		{9, -1, "", parser.Mark{N: 7, File: 1, Offset: 14, Line: 4}},
	}
	for _, tt := range tests {
		opt := Options{Format: "lines", Cmds: []string{"{text}"}, Skip: tt.skip, Limit: tt.limit}
		opt.Cmds[0] = "ECHO {text}"
		s := source(t, paths, opt)
		var got []string
		for _, o := range collect(s) {
			got = append(got, strings.TrimPrefix(o.text, "ECHO|"))
		}
		if strings.Join(got, " ") != tt.want || !samePlace(s.Mark(), tt.mark) {
			t.Errorf("skip %d, limit %d: got %q, mark %+v; want %q, %+v", tt.skip, tt.limit, got, s.Mark(), tt.want, tt.mark)
		}
	}
}

// TestSourceSkipsRefused holds that what is left out is not refused either.
func TestSourceSkipsRefused(t *testing.T) {
	got := collect(open(t, strings.NewReader("MONITOR\nSET \"a\nPING\nFLUSHALL\n"), Options{Skip: 2, Limit: -1}))
	if len(got) != 2 || got[0].text != "PING" || got[0].n != 3 || !strings.HasPrefix(got[1].text, "refused: FLUSHALL") {
		t.Errorf("got %+v", got)
	}
}

func TestOpenFiles(t *testing.T) {
	paths := files(t, "a.txt", "PING\n", "b.txt", "PING\n", "[x].txt", "PING\n")
	dir := filepath.Dir(paths[0])
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		n    int // commands
		msg  string
	}{
		{args: []string{"a.txt", "b.txt", "a.txt"}, n: 3},
		{args: []string{"?.txt"}, n: 2},
		{args: []string{"[x].txt"}, n: 1},
		{args: nil, n: 0},
		{args: []string{"a.txt", "no.txt"}, msg: "no.txt: no such file"},
		{args: []string{"*.none"}, msg: "no such file"},
		{args: []string{"[.txt"}, msg: "no such file"},
		{args: []string{"sub"}, msg: "no files"},
		{args: []string{"-", "-"}, msg: "once"},
	}
	for _, tt := range tests {
		var args []string
		for _, a := range tt.args {
			if a != stdinArg {
				a = filepath.Join(dir, a)
			}
			args = append(args, a)
		}
		s, err := Open(args, all(Options{Stdin: strings.NewReader("")}))
		if err != nil {
			if _, ok := errors.AsType[*UsageError](err); !ok || tt.msg == "" || !strings.Contains(err.Error(), tt.msg) {
				t.Errorf("%q: %v", tt.args, err)
			}
			continue
		}
		if got := collect(s); tt.msg != "" || len(got) != tt.n {
			t.Errorf("%q: %d commands, want %d and error %q", tt.args, len(got), tt.n, tt.msg)
		}
		s.Close()
	}
}

func TestFormatByName(t *testing.T) {
	const in = "*1\r\n$4\r\nPING\r\n"
	tests := []struct {
		file, text string
		opt        Options
		want       string // first outcome, or a piece of the usage error of Open
	}{
		{"a.txt", in, Options{}, "PING"},
		{"a.RESP", in, Options{}, "PING"},
		{"a.aof", in, Options{}, "PING"},
		{"a.resp", "*x\r\n", Options{}, "broken: broken RESP: its count of arguments: not a number, at line 1, byte 1"},
		{"a.txt", "*x\r\n", Options{}, "*x"},
		{"a", "id\n7\n", Options{Cmds: []string{"GET {id}"}}, "GET|7"},
		{"a.txt", "id\n7\n", Options{Cmds: []string{"GET {id}"}}, "GET|7"},
		{"a.txt", "id\n7\n", Options{Cmds: []string{"GET {text}"}, Format: "lines"}, "GET|id"},
		{"a.csv", "GET a\n", Options{Format: "commands"}, "GET|a"},
		{"a.csv", "[id]\n7\n", Options{Cmds: []string{"GET {x}"}}, "broken: there is no column"},
		{"a.redis", "id\n7\n", Options{Cmds: []string{"GET {id}"}}, "holds commands"},
		{"a.resp", "id\n7\n", Options{Key: "{id}"}, "holds commands"},
		{"a.json", "{}", Options{}, "broken: these are records"},
		{"a.ndjson", "{\"id\":7}", Options{Cmds: []string{"GET {id}"}}, "GET|7"},
		{"a.JSONL", "nothing", Options{Key: "{id}"}, "refused: invalid character"},
		{"a.tsv", "id\n7\n", Options{Cmds: []string{"GET {id}"}}, "GET|7"},
		{"a.dat", "[{\"id\":7}]", Options{Cmds: []string{"GET {id}"}}, "GET|7"},
		{"a.txt", "{\"id\":7}", Options{Cmds: []string{"GET {id}"}}, "GET|7"},
		{"a", "{\"id\":7}", Options{}, "refused: text after a closing quote"},
	}
	for _, tt := range tests {
		s, err := Open(files(t, tt.file, tt.text), all(tt.opt))
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", tt.file, err)
			}
			continue
		}
		if got := collect(s); len(got) == 0 || !strings.HasPrefix(got[0].text, tt.want) {
			t.Errorf("%s: got %+v, want %q", tt.file, got, tt.want)
		}
		s.Close()
	}
}

func TestPrepare(t *testing.T) {
	key := Options{Key: "u:{id}"}
	tests := []struct {
		name      string
		files     []string
		opt       Options
		msg, hint string // of a usage error; none if empty
	}{
		{name: "columns are there", files: []string{"a.csv", "id,name\n"}, opt: key},
		{name: "commands", files: []string{"a.txt", "\x1F\x8B"}},
		{name: "packed", files: []string{"a.csv", "\x1F\x8B"}, opt: key},
		{name: "empty", files: []string{"a.csv", "", "b.csv", "id\n"}, opt: key},
		{name: "first header", files: []string{"a.csv", "x,y\n"}, opt: key,
			msg: `a.csv:1: there is no column "id"; there are "x", "y"`},
		{name: "later header", files: []string{"a.csv", "id\n", "b.csv", "\n\nx\n"}, opt: key,
			msg: `b.csv:3: there is no column "id"; there are "x"`},
		{name: "header behind an empty file", files: []string{"a.csv", "", "b.csv", "x\n"}, opt: key,
			msg: `b.csv:1: there is no column "id"; there are "x"`},
		{name: "column twice", files: []string{"a.csv", "id,id\n"}, opt: key, msg: `"id" is there twice`},
		{name: "JSON", files: []string{"a", "[{"}, opt: key},
		{name: "no key for JSON", files: []string{"a.json", "{\n{\"id\":1,\"n\":2}"}, msg: `columns are "id", "n"`,
			hint: "respipe --key 'a:{id}' "},
		{name: "no key for no JSON", files: []string{"a.json", "7"}, msg: "of them", hint: "respipe --key 'a:{@record}' "},
		{name: "string of CSV", files: []string{"a.json", "{}", "b.csv", "id,n\n"}, opt: Options{Key: "u:{id}", Type: "string"},
			msg: "b.csv:1: --type string needs --value", hint: `the columns are "id", "n"`},
		{name: "excluded column", files: []string{"a.csv", "id\n"}, opt: Options{Key: "u:{id}", Exclude: []string{"x"}},
			msg: `there is no column "x"`},
		{name: "renamed column", files: []string{"a.csv", "id\n"}, opt: Options{Key: "u:{id}", Rename: []string{"x=y"}},
			msg: `--rename: "x" is none of the fields`},
		{name: "renamed to another", files: []string{"a.csv", "id,n\n"}, opt: Options{Key: "u:{id}", Rename: []string{"id=n"}},
			msg: `both "id" and "n" would be called "n"`},
		{name: "renamed in turn", files: []string{"a.csv", "id,n\n"}, opt: Options{Key: "u:{id}", Rename: []string{"id=n", "n=id"}}},
		{name: "spread of CSV", files: []string{"a.csv", "id\n"}, opt: Options{Cmds: []string{"SADD s {id...}"}},
			msg: "{id...} spreads an array", hint: `the columns are "id"`},
		{name: "no key", files: []string{"my books.csv", "id,name\n"}, msg: `their columns are "id", "name"`,
			hint: "respipe --key 'my books:{id}' '"},
		{name: "no key for lines", files: []string{"a", "x\n"}, opt: Options{Format: "lines"}, msg: `columns are "text"`,
			hint: "respipe -f lines --key 'a:{text}' "},
		{name: "many columns", files: []string{"a.csv", strings.Repeat("x,", 40) + "y\n"}, opt: key, msg: `"x" and 11 more`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := source(t, files(t, tt.files...), all(tt.opt)).Prepare(t.Context())
			usage, ok := errors.AsType[*UsageError](err)
			if tt.msg == "" && err != nil || tt.msg != "" && !ok {
				t.Fatalf("got %v, want %q", err, tt.msg)
			}
			if ok && (!strings.Contains(usage.Msg, tt.msg) || !strings.HasPrefix(usage.Hint, tt.hint)) {
				t.Errorf("got %q, hint %q; want %q, hint %q", usage.Msg, usage.Hint, tt.msg, tt.hint)
			}
		})
	}
}

// TestPrepareKeepsRecords holds that nothing is lost or counted twice.
func TestPrepareKeepsRecords(t *testing.T) {
	paths := files(t, "a.csv", "id\n1\n2\n", "b.csv", "x,id\n3,4\n")
	for _, opt := range []Options{{Cmds: []string{"GET {id}"}}, {NoHeader: true, Cmds: []string{"GET {1}"}}} {
		plain := texts(collect(source(t, paths, all(opt))))
		s := source(t, paths, all(opt))
		if err := s.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := texts(collect(s)); got != plain {
			t.Errorf("got\n%s, without Prepare\n%s", got, plain)
		}
	}
}

func TestPrepareEndsWithContext(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	s := open(t, r, all(Options{Key: "{id}"}))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrNoProgress)
	if err := s.Prepare(ctx); err != io.ErrNoProgress {
		t.Errorf("got %v", err)
	}
}

// TestAwait holds that the Source passes each line on as it comes, waits by
// Wait alone, and returns its error as it is.
func TestAwait(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	s := open(t, r, all(Options{}))
	waits := 0
	stop := errors.New("stop")
	s.Await(func(ready <-chan []byte) ([]byte, bool, error) {
		if waits++; waits == 4 {
			return nil, false, stop
		}
		chunk, ok := <-ready
		return chunk, ok, nil
	})
	var c parser.Command
	for i, line := range []string{"GET a\n", "GET b\nGET"} {
		go io.WriteString(w, line)
		if err := s.Next(&c); err != nil || len(c.Args) != 2 || c.Pos.Line != i+1 {
			t.Fatalf("line %d: %v, %q", i+1, err, c.Args)
		}
	}
	go io.WriteString(w, " c")
	for range 2 {
		if err := s.Next(&c); err != stop {
			t.Fatalf("got %v, want the error of Wait", err)
		}
	}
	if waits != 4 {
		t.Errorf("%d waits, want 4", waits)
	}
}

func TestCloseEndsFeed(t *testing.T) {
	s := source(t, nil, all(Options{Stdin: newRepeat("PING\n")}))
	var c parser.Command
	if err := s.Next(&c); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case _, ok := <-s.feed.ready:
			if !ok {
				return
			}
		case <-timeout:
			t.Fatal("the feed did not end")
		}
	}
}

// TestBounded holds that a record that is too long takes no memory.
func TestBounded(t *testing.T) {
	const max = 1 << 20
	tests := map[string]string{"line": "SET k ", "RESP": "*2\r\n$3\r\nGET\r\n$900000000\r\n", "csv": "id\n", "quote": "id\n\""}
	for name, head := range tests {
		t.Run(name, func(t *testing.T) {
			opt := all(Options{MaxRecord: max})
			if strings.HasPrefix(head, "id") {
				opt.Cmds = []string{"GET {id}"}
			}
			opt.Stdin = io.MultiReader(strings.NewReader(head), io.LimitReader(newRepeat("x"), 64*max))
			s := source(t, nil, opt)
			collect(s)
			if n := cap(s.in.buf) + cap(s.in.own); n > 3*max {
				t.Errorf("the buffers hold %d bytes for a record of %d", n, max)
			}
		})
	}
}

// TestLinear reads what takes hours if anything is read over and over.
func TestLinear(t *testing.T) {
	const size = 16 << 20
	value := strings.Repeat("x", size)
	csv := Options{Cmds: []string{"GET {v}"}, Columns: []string{"v"}}
	tests := []struct {
		name    string
		opt     Options
		in      string
		records int
	}{
		{"line", Options{}, "SET a " + value, 1},
		{"request", Options{}, "*1\r\n$16777216\r\n" + value + "\r\n", 1},
		{"arguments", Options{}, "*1000000\r\n" + strings.Repeat("$1\r\nx\r\n", 1_000_000), 1},
		{"cell", csv, value, 1},
		{"quoted cell", csv, "\"" + value + "\"", 1},
		{"quoted line ends", csv, "\"" + strings.Repeat("x\n", size/2) + "\"", 1},
		{"open quotes", csv, strings.Repeat("a\",b,\"c\n", 1_000_000), 1_000_000},
		{"stray quotes", csv, strings.Repeat("\"a\n", 1_000_000), 1_000_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, &chunks{strings.NewReader(tt.in), 4096}, all(tt.opt))
			var c parser.Command
			for {
				_, bad := s.Next(&c).(*parser.Error)
				if !bad && s.err != nil {
					break
				}
			}
			if s.err != io.EOF || s.n != int64(tt.records) {
				t.Errorf("%d records, %v; want %d", s.n, s.err, tt.records)
			}
		})
	}
}
