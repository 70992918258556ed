package formats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"respipe/parser"
)

func TestAOF(t *testing.T) {
	aof := Options{Format: "aof"}
	tests := []readTest{
		{name: "requests", opt: aof, in: crlf("¶*2 $6 SELECT $1 0 ¶*1 $4 PING "), want: []string{"SELECT|0", "PING"}},
		{name: "annotations", opt: aof, in: crlf("#TS:1796025712 ¶*1 $4 PING #TS:1 # ¶*1 $4 PING #TS:2 "), want: []string{"PING", "PING"}},
		{name: "by its head", in: crlf("#TS:1796025712 ¶*1 $4 PING "), want: []string{"PING"}},
		{name: "line ends in a payload", opt: aof, in: crlf("¶*2 $3 GET $8 #TS:1 x ¶*1 $4 PING "), want: []string{"GET|#TS:1\r\nx", "PING"}},
		{name: "bare LF", opt: aof, in: "#TS:1\n¶*1\n$4\nPING\n", want: []string{"PING"}},
		{name: "no commands", opt: aof, in: crlf("*0 #TS:1 *0 "), want: nil},
		{name: "cut in a payload", opt: aof, in: crlf("¶*1 $4 PING *2 $3 GET $5 he"), want: []string{"PING"}},
		{name: "cut in a line end", opt: aof, in: crlf("¶*1 $4 PING ") + "*1\r\n$4\r\nPING\r", want: []string{"PING"}},
		{name: "cut in a length", opt: aof, in: crlf("¶*1 $4 PING ") + "*1\r\n$", want: []string{"PING"}},
		{name: "cut in a count", opt: aof, in: crlf("¶*1 $4 PING ") + "*", want: []string{"PING"}},
		{name: "cut in an annotation", opt: aof, in: crlf("¶*1 $4 PING ") + "#TS:17", want: []string{"PING"}},
		{name: "cut in MULTI", opt: aof, in: crlf("¶*1 $5 MULTI ¶*2 $4 INCR $1 n *1 $4 EX"), want: []string{"MULTI", "INCR|n"}},
		{name: "refused", opt: aof, in: crlf("¶*1 $7 MONITOR ¶*1 $4 PING "), want: []string{"refused: MONITOR never ends its replies, it cannot be piped", "PING"}},
		{name: "too long", opt: Options{Format: "aof", MaxRecord: 20}, in: crlf("¶*2 $3 GET $9 xxxxxxxxx ¶*1 $4 PING "),
			want: []string{"refused: longer than --max-record allows", "PING"}},

		{name: "a line of text", opt: aof, in: crlf("¶*1 $4 PING ¶SET a 1 "), want: []string{"PING", "broken: " + errNotAOF.Error()}},
		{name: "a blank line", opt: aof, in: crlf("¶*1 $4 PING ¶ "), want: []string{"PING", "broken: " + errNotAOF.Error()}},
		{name: "zero bytes", opt: aof, in: crlf("¶*1 $4 PING ") + "¶\x00\x00\x00", want: []string{"PING", "broken: " + errNotAOF.Error()}},
		{name: "behind an empty request", opt: aof, in: crlf("*0 ¶PING "), want: []string{"broken: " + errNotAOF.Error()}},
		{name: "wrong length", opt: aof, in: crlf("¶*1 $3 PING "),
			want: []string{"broken: broken RESP: argument 1 of 1: no line end behind it, so its length is wrong, at line 3, byte 11"}},
		{name: "RDB", opt: aof, in: "¶REDIS0011\xFA", want: []string{"broken: " + errRDBAOF.Error()}},
		{name: "RDB of Valkey", opt: aof, in: "¶VALKEY080\xFA", want: []string{"broken: " + errRDBAOF.Error()}},
		{name: "a remark of text", in: "#TS: of this file\n¶PING\n", want: []string{"PING"}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}

func TestAOFNote(t *testing.T) {
	var notes []string
	opt := all(Options{Format: "aof", Note: func(pos parser.Pos, text string) { notes = append(notes, pos.String()+": "+text) }})
	s := open(t, strings.NewReader(crlf("*1 $4 PING *1 $4 PI")), opt)
	collect(s)
	if want := "<stdin>:4: the last command is cut off, as a crash leaves it; it is left out"; strings.Join(notes, "\n") != want {
		t.Errorf("notes are %q, want %q", notes, want)
	}
	if m := s.Mark(); m.N != 2 || m.Offset != 14 || m.Line != 4 {
		t.Errorf("mark is %+v", m)
	}
}

// folder writes files into a folder of its own and returns its path.
func folder(t *testing.T, namesAndTexts ...string) string {
	return filepath.Dir(files(t, namesAndTexts...)[0])
}

func TestAppendOnlyDirectory(t *testing.T) {
	get := func(key string) string { return crlf("*2 $3 GET $1 " + key + " ") }
	const manifest = "appendonly.aof.manifest"
	parts := []string{"x.base.aof", get("b"), "x.1.aof", get("1"), "x.2.aof", get("2"), "x 3.aof", get("3"), "temp-x.manifest", "?"}
	tests := []struct {
		name     string
		manifest string
		more     []string // files instead of those of parts
		want     string
	}{
		{name: "base and increments", manifest: "file x.base.aof seq 1 type b\nfile x.1.aof seq 1 type i\nfile x.2.aof seq 2 type i\n", want: "b 1 2"},
		{name: "out of order", manifest: "file x.2.aof seq 10 type i\nfile x.1.aof seq 9 type i\nfile x.base.aof seq 11 type b\n", want: "b 1 2"},
		{name: "history", manifest: "file x.2.aof seq 1 type h\r\n# remark\nfile x.1.aof seq 2 type i\n", want: "1"},
		{name: "quoted name", manifest: "file \"x 3.aof\" seq 1 type b", want: "3"},
		{name: "more words", manifest: "file x.1.aof seq 1 type i startoffset 7\n", want: "1"},
		{name: "cut at the end", manifest: "file x.1.aof seq 1 type i\nfile x.2.aof seq 2 type i\n", more: []string{"x.1.aof", get("1"), "x.2.aof", get("2") + "*1\r\n$4"}, want: "1 2"},
		{name: "empty increment", manifest: "file x.1.aof seq 1 type b\nfile x.2.aof seq 2 type i\n", more: []string{"x.1.aof", get("1"), "x.2.aof", ""}, want: "1"},

		{name: "cut before the end", manifest: "file x.1.aof seq 1 type i\nfile x.2.aof seq 2 type i\n", more: []string{"x.1.aof", "*1\r\n$4", "x.2.aof", get("2")}, want: "broken RESP: argument 1 of 1: cut off"},
		{name: "RDB base", manifest: "file x.1.rdb seq 1 type b\nfile x.2.aof seq 2 type i\n", more: []string{"x.1.rdb", "REDIS0011\xFA", "x.2.aof", get("2")}, want: errRDBAOF.Error()},
		{name: "missing file", manifest: "file x.9.aof seq 1 type i\n", want: "x.9.aof: no such file"},
		{name: "empty", manifest: "", want: "0 bases and 0 other files"},
		{name: "two bases", manifest: "file x.1.aof seq 1 type b\nfile x.2.aof seq 2 type b\n", want: "2 bases and 0 other files"},
		{name: "another folder", manifest: "file ../x.1.aof seq 1 type b\n", want: manifest + ":1: this is no line of a manifest"},
		{name: "no name", manifest: "file x.1.aof seq 1 type b\nseq 1 type i\n", want: manifest + ":2: this is no line"},
		{name: "no type", manifest: "file x.1.aof seq 1\n", want: manifest + ":1: this is no line"},
		{name: "unknown type", manifest: "file x.1.aof seq 1 type x\n", want: manifest + ":1: this is no line"},
		{name: "no number", manifest: "file x.1.aof seq one type b\n", want: manifest + ":1: this is no line"},
		{name: "half a pair", manifest: "file x.1.aof seq 1 type\n", want: manifest + ":1: this is no line"},
		{name: "open quote", manifest: "file \"x.1.aof seq 1 type b\n", want: manifest + ":1: this is no line"},
		{name: "two manifests", manifest: "file x.1.aof seq 1 type b\n", more: []string{"b.manifest", ""}, want: "two manifests, appendonly.aof.manifest and b.manifest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.more == nil {
				tt.more = parts
			}
			s, err := Open([]string{folder(t, append(tt.more, manifest, tt.manifest)...)}, all(Options{}))
			if err != nil {
				if _, ok := err.(*UsageError); !ok || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("got %v, want %q", err, tt.want)
				}
				return
			}
			defer s.Close()
			var got []string
			for _, o := range collect(s) {
				got = append(got, strings.TrimPrefix(o.text, "GET|"))
			}
			if all := strings.Join(got, " "); all != tt.want && !strings.HasPrefix(all, "broken: "+tt.want) {
				t.Errorf("got %q, want %q", all, tt.want)
			}
		})
	}
}

func TestAppendOnlyUsage(t *testing.T) {
	dir := folder(t, "x.aof", crlf("*1 $4 PING "), "x.manifest", "file x.aof seq 1 type b\n")
	for _, tt := range []struct {
		opt Options
		msg string
	}{
		{Options{}, ""},
		{Options{Format: "auto"}, ""},
		{Options{Format: "aof"}, ""},
		{Options{Format: "resp"}, "part of an append-only file"},
		{Options{Format: "csv", Key: "{id}"}, "holds commands"},
		{Options{Key: "{id}"}, "holds commands"},
	} {
		_, err := Open([]string{dir}, tt.opt)
		if _, usage := err.(*UsageError); usage != (tt.msg != "") || usage && !strings.Contains(err.Error(), tt.msg) {
			t.Errorf("%+v: got %v, want %q", tt.opt, err, tt.msg)
		}
	}
}

func TestDirectory(t *testing.T) {
	dir := folder(t, "b.txt", "GET b\n", "a.resp", crlf("*2 $3 GET $1 a "), ".c.txt", "GET c\n", "10.txt", "GET 10\n", "2.txt", "GET 2\n")
	if err := os.MkdirAll(filepath.Join(dir, "sub", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "b.txt"), filepath.Join(dir, "z")); err != nil {
		t.Fatal(err)
	}
	s := source(t, []string{filepath.Join(dir, "b.txt"), dir}, all(Options{}))
	want := "b.txt:1 GET|b\n10.txt:1 GET|10\n2.txt:1 GET|2\na.resp:1 GET|a\nb.txt:1 GET|b\nz:1 GET|b\n"
	if got := texts(collect(s)); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if s.Size() != 51 {
		t.Errorf("size %d, want 51", s.Size())
	}
	if _, err := Open([]string{filepath.Join(dir, "sub")}, Options{}); err == nil || !strings.Contains(err.Error(), "no files") {
		t.Errorf("a directory without files: %v", err)
	}
}
