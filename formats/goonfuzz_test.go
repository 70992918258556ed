package formats

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzGoOnFrom: going on from any record of any input brings the rest of it.
func FuzzGoOnFrom(f *testing.F) {
	for i, in := range []string{
		"id,name\n1,\"a\n2,b\"c\n3,\"\"\n", "a\",b,\"c\na\",b,\"c\n1,2\n", "SET a \"1\nFLUSHALL\nMULTI\nEXEC\nGET x",
		"*1\r\n$4\r\nPING\r\nGET 'x\n*1\n$4\nPING\n", "a\r\n\nb", "1\t\\\n\n\\.\nx", "#TS:1\r\n*1\r\n$4\r\nPING\r\n*1\r\n$",
		"sep=;\ra;b\r\\;;1\r\"\\\"\r", "[{\"a\":1},\n{\"a\":2}]\n[{x\n[1]\n{}{\"a\":1,\"a\":2}\n",
	} {
		f.Add(in, uint(i), byte(i), i%2 == 0)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in string, at uint, kind byte, piped bool) {
		opt := []Options{
			{Format: "csv", Key: "{@line}"},
			{Format: "csv", NoHeader: true, Cmds: []string{"SET {1} {@raw}", "DEL {1}"}},
			{Format: "commands"},
			{Format: "resp"},
			{Format: "lines", Cmds: []string{"SET {text} {@record}"}},
			{Format: "tsv", NoHeader: true, Cmds: []string{"SET {1} {@raw}"}},
			{Format: "aof"},
			{Format: "csv", Escape: '\\', Ragged: true, NoHeader: true, Cmds: []string{"SET {1} {@raw}"}},
			{Format: "json", Cmds: []string{"SET {@line} {@raw}"}},
			{Format: "csv", NoHeader: true, Key: "{1}", Type: "list", Value: "{@raw}", Replace: true},
		}[kind%10]
		opt.MaxRecord, opt.KeepSource = 64, true
		path := filepath.Join(dir, "in")
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		source := func() *Source {
			opt, args := all(opt), []string{path}
			if piped {
				opt.Stdin, args = strings.NewReader(in), []string{stdinArg}
			}
			s, err := Open(args, opt)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := source()
		defer s.Close()
		whole := steps(s)
		i := int(at % uint(len(whole)))
		for i > 0 && whole[i-1].n == whole[i].n {
			i--
		}
		mark := whole[i].mark
		if mark.N == 0 {
			return // inside of a block
		}
		id, err := s.Identity(mark)
		if err != nil {
			t.Fatal(err)
		}
		later := source()
		defer later.Close()
		if err := later.GoOnFrom(mark, id); err != nil {
			t.Fatal(err)
		}
		if got := steps(later); !reflect.DeepEqual(bare(got), bare(whole[i:])) {
			t.Fatalf("from %+v: got\n%+v, want\n%+v", mark, got, whole[i:])
		}
	})
}
