package parser

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// list makes arguments of strings.
func list(args ...string) [][]byte {
	out := [][]byte{}
	for _, arg := range args {
		out = append(out, []byte(arg))
	}
	return out
}

// sameArgs compares byte for byte.
func sameArgs(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

func TestSplitArgs(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
		err  error
	}{
		{"", nil, nil},
		{" \t\r\n\v\f", nil, nil},
		{"PING", []string{"PING"}, nil},
		{"SET k v", []string{"SET", "k", "v"}, nil},
		{"  SET\tk  v \r\n", []string{"SET", "k", "v"}, nil},
		{"SET\rk\nv", []string{"SET", "k", "v"}, nil},
		{"SET k\vx y\f", []string{"SET", "k\vx", "y\f"}, nil},
		{"SET k \x00 a\x00b", []string{"SET", "k", "\x00", "a\x00b"}, nil},
		{`SET k "a b"`, []string{"SET", "k", "a b"}, nil},
		{`SET k 'a b' `, []string{"SET", "k", "a b"}, nil},
		{`SET "" ''`, []string{"SET", "", ""}, nil},
		{`"\n\r\t\b\a\\\"\q\'"`, []string{"\n\r\t\b\a\\\"q'"}, nil},
		{`"\x41\xfF\x4"`, []string{"A\xffx4"}, nil},
		{`"\x4g\xg4\X41"`, []string{"x4gxg4X41"}, nil},
		{`"\x"`, []string{"x"}, nil},
		{`'\n\x41\\\''`, []string{`\n\x41\\'`}, nil},
		{`'it''s'`, nil, ErrAfterQuote},
		{`'it\'s' "say \"hi\""`, []string{"it's", `say "hi"`}, nil},
		{`a"b c" d'e f'`, []string{"ab c", "de f"}, nil},
		{`a\ b \"c"`, []string{`a\`, "b", `\c`}, nil},
		{`\x41 \\`, []string{`\x41`, `\\`}, nil},
		{"\"a\"\v'b'", []string{"a", "b"}, nil},
		{"\"a\"\x00", nil, ErrAfterQuote},
		{`SET k "a"b`, nil, ErrAfterQuote},
		{`SET k "a\x41"b`, nil, ErrAfterQuote},
		{`SET k 'a''b'`, nil, ErrAfterQuote},
		{`SET k ""x`, nil, ErrAfterQuote},
		{`SET k "a`, nil, ErrOpenQuote},
		{`SET k "a\"`, nil, ErrOpenQuote},
		{`SET k 'a\'`, nil, ErrOpenQuote},
		{`SET k 'a\\'`, nil, ErrOpenQuote},
		{`SET k "a\`, nil, ErrOpenQuote},
		{`SET k it's`, nil, ErrOpenQuote},
		{`"`, nil, ErrOpenQuote},
		{`'`, nil, ErrOpenQuote},
		{`"a" "b`, nil, ErrOpenQuote},
	} {
		dst := list("kept")
		args, _, err := SplitArgs(dst, nil, []byte(tt.line))
		if err != tt.err || !sameArgs(args, append(list("kept"), list(tt.want...)...)) {
			t.Errorf("SplitArgs(%q) = %q, %v, want %q, %v", tt.line, args, err, tt.want, tt.err)
		}
	}
}

func TestSplitArgsKeepsViews(t *testing.T) {
	line := []byte(`SET "long enough" "a\tb" 'c\'d' e"f"`)
	before := string(line)
	args, scratch, err := SplitArgs(nil, make([]byte, 0, 1), line)
	if err != nil {
		t.Fatal(err)
	}
	if string(line) != before {
		t.Fatalf("the line was changed to %q", line)
	}
	for i := range args {
		args[i] = append(args[i], '!') // must not reach its neighbour
	}
	if want := list("SET!", "long enough!", "a\tb!", "c'd!", "ef!"); !sameArgs(args, want) {
		t.Errorf("args %q, want %q", args, want)
	}
	if cap(scratch) < len(line) {
		t.Errorf("scratch holds %d bytes, the line %d", cap(scratch), len(line))
	}
}

func TestAppendQuoted(t *testing.T) {
	for _, tt := range []struct{ arg, want string }{
		{"", `""`},
		{"plain:1", "plain:1"},
		{`back\slash`, `back\slash`},
		{"#5", `"#5"`},
		{"a#5", "a#5"},
		{"a b", `"a b"`},
		{`"`, `"\""`},
		{"it's", `"it's"`},
		{"a \\", `"a \\"`},
		{"\n\r\t\a\b\v\x00\x7f", `"\n\r\t\a\b\x0b\x00\x7f"`},
		{"é\xff", `"\xc3\xa9\xff"`},
	} {
		if got := string(AppendQuoted([]byte("> "), []byte(tt.arg))); got != "> "+tt.want {
			t.Errorf("AppendQuoted(%q) = %s, want %s", tt.arg, got, tt.want)
		}
	}
}

func FuzzSplitArgs(f *testing.F) {
	for _, line := range []string{
		"SET k v", ` "a\x41\n" 'it\'s' b"c d" `, `"a"b`, `'a`, "\v\"\\", "a\x00b \"\x00\"", `"\x4`, `'\\'`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		want, wantErr := slowSplit(string(line))
		got, _, err := SplitArgs(nil, nil, line)
		if err != wantErr || !sameArgs(got, list(want...)) {
			t.Fatalf("SplitArgs(%q) = %q, %v, want %q, %v", line, got, err, want, wantErr)
		}
	})
}

func FuzzAppendQuoted(f *testing.F) {
	f.Add("SET", "a b", "it's\n")
	f.Add("", `\`, "\xff\x00#")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		want := list(a, b, c)
		var line []byte
		for _, arg := range want {
			line = append(AppendQuoted(line, arg), ' ')
		}
		got, _, err := SplitArgs(nil, nil, line)
		if err != nil || !sameArgs(got, want) {
			t.Fatalf("SplitArgs(%q) = %q, %v, want %q", line, got, err, want)
		}
	})
}

// slowSplit is sdssplitargs of redis 7.0, step by step, but for NUL, which is
// data here.
func slowSplit(s string) (args []string, err error) {
	at := func(i int) int {
		if i < len(s) {
			return int(s[i])
		}
		return -1 // where C has its NUL
	}
	hex := func(c int) bool { return c >= 0 && strings.IndexByte("0123456789abcdefABCDEF", byte(c)) >= 0 }
	space := func(c int) bool { return c >= 0 && strings.IndexByte(" \t\n\v\f\r", byte(c)) >= 0 }
	p := 0
	for {
		for space(at(p)) {
			p++
		}
		if at(p) < 0 {
			return args, nil
		}
		var current strings.Builder
		quote, done := -1, false
		for !done {
			c := at(p)
			switch {
			case quote >= 0 && c < 0:
				return nil, ErrOpenQuote
			case quote >= 0 && c == quote:
				if at(p+1) >= 0 && !space(at(p+1)) {
					return nil, ErrAfterQuote
				}
				done = true
			case quote == '"' && c == '\\' && at(p+1) == 'x' && hex(at(p+2)) && hex(at(p+3)):
				current.WriteByte(hexValue(s[p+2])*16 + hexValue(s[p+3]))
				p += 3
			case quote == '"' && c == '\\' && at(p+1) >= 0:
				p++
				if i := strings.IndexByte("nrtba", s[p]); i >= 0 {
					current.WriteByte("\n\r\t\b\a"[i])
				} else {
					current.WriteByte(s[p])
				}
			case quote == '\'' && c == '\\' && at(p+1) == '\'':
				p++
				current.WriteByte('\'')
			case quote >= 0:
				current.WriteByte(s[p])
			case c < 0 || c == ' ' || c == '\n' || c == '\r' || c == '\t':
				done = true
			case c == '"' || c == '\'':
				quote = c
			default:
				current.WriteByte(s[p])
			}
			if at(p) >= 0 {
				p++
			}
		}
		args = append(args, current.String())
	}
}

func TestSplitArgsAllocatesNothing(t *testing.T) {
	var args [][]byte
	var scratch []byte
	var err error
	for _, text := range []string{"HSET user:1 name alice age 33", `SET "a b" "c\nd" e'f g'`, `SET "a`} {
		line := []byte(text)
		split := func() { args, scratch, err = SplitArgs(args[:0], scratch, line) }
		split()
		if n := testing.AllocsPerRun(100, split); n != 0 {
			t.Errorf("%s: %v allocations, %v", line, n, err)
		}
	}
}

func BenchmarkSplitArgs(b *testing.B) {
	for _, bm := range []struct{ name, line string }{
		{"plain", "HSET user:1000042 name alice-cooper age 33000"},
		{"quoted", `HSET user:1000042 "name" "alice cooper" age 3`},
		{"escaped", `HSET user:1000042 "na\"me" "alice\ncooper" ag`},
	} {
		b.Run(bm.name, func(b *testing.B) {
			line := []byte(bm.line)
			var args [][]byte
			var scratch []byte
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				args, scratch, _ = SplitArgs(args[:0], scratch, line)
			}
		})
	}
}
