package formats

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"respipe/parser"
)

func TestTSV(t *testing.T) {
	ab := Options{Format: "tsv", Cmds: []string{"X {a} {b}"}}
	with := func(change func(*Options)) Options {
		opt := ab
		change(&opt)
		return opt
	}
	token := "NULL"
	one := Options{Format: "tsv", Cmds: []string{"X {a}"}}
	short := with(func(o *Options) { o.MaxRecord = 30 })
	tests := []readTest{
		{name: "LF", opt: ab, in: "a\tb\n¶1\t2\n¶3\t4\n", want: []string{"X|1|2", "X|3|4"}},
		{name: "CRLF", opt: ab, in: "a\tb\r\n¶1\t2\r\n¶3\t\\\\\r\n", want: []string{"X|1|2", `X|3|\`}},
		{name: "CR", opt: ab, in: "a\tb\r", want: nil},
		{name: "no newline at the end", opt: ab, in: "a\tb\n¶1\t2\n¶3\t\\t", want: []string{"X|1|2", "X|3|\t"}},
		{name: "other order", opt: ab, in: "b\tx\ta\n¶1\t2\t3\n¶\\61\t\\t\t3\n", want: []string{"X|3|1", "X|3|1"}},
		{name: "quotes are data", opt: ab, in: "a\tb\n¶\"1\t2\"\"\n¶\"\t\\\\\"\n", want: []string{"X|\"1|2\"\"", "X|\"|\\\""}},
		{name: "blanks are data", opt: ab, in: "a\tb\n¶ 1 \t \n", want: []string{"X| 1 | "}},
		{name: "escapes", opt: ab, in: "a\tb\n¶\\b\\f\\n\\r\\t\\v\\\\\t2\n", want: []string{"X|\b\f\n\r\t\v\\|2"}},
		{name: "octal", opt: ab, in: "a\tb\n¶\\0\\7\\18\\101\\1012\\400\t\\000\n", want: []string{"X|\x00\a\x018AA2\x00|\x00"}},
		{name: "hexadecimal", opt: ab, in: "a\tb\n¶\\x4\\x41\\x4a1\\xFf\t\\xg\\x\n", want: []string{"X|\x04AJ1\xff|xgx"}},
		{name: "any other byte", opt: ab, in: "a\tb\n¶\\a\\8\\é\t\\.\n", want: []string{"X|a8é|."}},
		{name: "escaped tab", opt: ab, in: "a\tb\n¶1\\\t1\t2\n¶1\\\\\t2\n", want: []string{"X|1\t1|2", "X|1\\|2"}},
		{name: "escaped LF", opt: ab, in: "a\tb\n¶1\t2\\\n2\n¶3\\\\\t4\\\\\n¶5\t6\n", want: []string{"X|1|2\n2", `X|3\|4\`, "X|5|6"}},
		{name: "backslash at the end", opt: ab, in: "a\tb\n¶1\t2\\", want: []string{`X|1|2\`}},
		{name: "null", opt: ab, in: "a\tb\n¶1\t\\N\n¶\\N1\tN\\N\n¶NULL\t\n",
			want: []string{"refused: no value for {b}", "X|N1|NN", "X|NULL|"}},
		{name: "null token", opt: with(func(o *Options) { o.Null = &token }), in: "a\tb\n¶1\tNULL\n¶\\N\tNULL1\n¶\\NULL\t1\n",
			want: []string{"refused: no value for {b}", "X|N|NULL1", "X|NULL|1"}},
		{name: "end of COPY", opt: ab, in: "a\tb\n¶1\t2\n\\.\n1\n\"\n", want: []string{"X|1|2"}},
		{name: "end of COPY at the end", opt: ab, in: "a\tb\n¶1\t2\n\\.", want: []string{"X|1|2"}},
		{name: "end of COPY at once", opt: ab, in: "\\.\nx\n", want: nil},
		{name: "no end of COPY", opt: ab, in: "a\tb\n¶\\.\t2\n¶1\t\\.\n", want: []string{"X|.|2", "X|1|."}},
		{name: "blank lines", opt: ab, in: "\n\r\na\tb\n\n¶1\t2\n\n¶\\63\t4\n\n", want: []string{"X|1|2", "X|3|4"}},
		{name: "blank lines of one column", opt: one, in: "\na\n¶1\n¶\n¶\\62\n¶\n", want: []string{"X|1", "X|", "X|2", "X|"}},
		{name: "columns", opt: with(func(o *Options) { o.Columns = []string{"b", "a"} }), in: "¶1\t2\n", want: []string{"X|2|1"}},
		{name: "no header", opt: Options{Format: "tsv", NoHeader: true, Cmds: []string{"X {2} {1}"}}, in: "¶1\t\\n\n¶3\t4\n",
			want: []string{"X|\n|1", "X|4|3"}},
		{name: "escapes in the header", opt: with(func(o *Options) { o.Cmds = []string{"X {a-b}"} }), in: "a\\x2Db\tc\n¶1\t2\n", want: []string{"X|1"}},
		{name: "delimiter", opt: with(func(o *Options) { o.Delimiter = "|" }), in: "a|b\n¶1\\|1|2\t2\n", want: []string{"X|1|1|2\t2"}},
		{name: "wide delimiter", opt: with(func(o *Options) { o.Delimiter = "||" }), in: "a||b\n¶1|1||2\n¶\\|||2\n", want: []string{"X|1|1|2", "X|||2"}},
		{name: "ragged", opt: with(func(o *Options) { o.Ragged = true }), in: "b\ta\tc\n¶1\t2\n¶1\t2\t3\t4\n¶1\n¶1\t\\62\n",
			want: []string{"X|2|1", "X|2|1", "refused: no value for {a}", "X|2|1"}},
		{name: "header only", opt: ab, in: "a\tb\n", want: nil},
		{name: "empty", opt: ab, in: "", want: nil},
		{name: "unused names", opt: ab, in: "a\tb\tx\tx\t\n¶1\t2\t3\t\\4\t5\n", want: []string{"X|1|2"}},

		{name: "too few fields", opt: ab, in: "a\tb\n¶1\n¶\\1\n¶1\\\t2\n¶1\t2\n", want: []string{"refused: 1 fields where 2 are due",
			"refused: 1 fields where 2 are due", "refused: 1 fields where 2 are due", "X|1|2"}},
		{name: "too many fields", opt: ab, in: "a\tb\n¶1\t2\t\n¶1\t\\2\t3\n¶1\t2\n",
			want: []string{"refused: 3 fields where 2 are due", "refused: 3 fields where 2 are due", "X|1|2"}},
		{name: "too long", opt: short, in: "a\tb\n¶1\t" + strings.Repeat("x", 40) + "\n¶1\t2\n",
			want: []string{"refused: longer than --max-record allows", "X|1|2"}},
		{name: "too long with line ends", opt: short, in: "a\tb\n¶1\t" + strings.Repeat("x", 20) + "\\\n¶" + strings.Repeat("x", 20) + "\n¶1\t2\n",
			want: []string{"refused: longer than --max-record allows", "refused: 1 fields where 2 are due", "X|1|2"}},
		{name: "as long as may be", opt: short, in: "a\tb\n¶1\t" + strings.Repeat("x", 28) + "\n¶\\62\t" + strings.Repeat("x", 26) + "\n",
			want: []string{"X|1|" + strings.Repeat("x", 28), "X|2|" + strings.Repeat("x", 26)}},
		{name: "no such column", opt: ab, in: "¶a,b\n1,2\n", want: []string{`broken: there is no column "a"; there are "a,b"`}},
		{name: "header is too long", opt: short, in: "¶" + strings.Repeat("x", 40) + "\n1\n",
			want: []string{"broken: the columns cannot be told: longer than --max-record allows"}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}

func TestTSVNotes(t *testing.T) {
	for in, want := range map[string]string{
		"a\n1\n\\.\n":        "",
		"a\n1\n\\.\nCOPY b":  "<stdin>:4: what follows \\. is left out",
		"a\n1\n\\.\r\n\n\n2": "<stdin>:4: what follows \\. is left out",
	} {
		var notes []string
		opt := all(Options{Format: "tsv", Cmds: []string{"X {a}"}})
		opt.Note = func(pos parser.Pos, text string) { notes = append(notes, pos.String()+": "+text) }
		collect(open(t, strings.NewReader(in), opt))
		if got := strings.Join(notes, "\n"); got != want {
			t.Errorf("%q: notes are %q, want %q", in, got, want)
		}
	}
}

// escapeTSV writes a value as COPY does.
var escapeTSV = strings.NewReplacer("\\", `\\`, "\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\v", `\v`)

// FuzzTSV: what COPY and mysql write comes back, whatever is escaped.
func FuzzTSV(f *testing.F) {
	f.Add("1|a\tb\\c|\n|\\N|\r", 3, false)
	f.Add("||", 1, true)
	f.Add("\\.|\x00", 100, false)
	f.Fuzz(func(t *testing.T, data string, size int, every bool) {
		if isWrapped(data) {
			return // another input
		}
		values := strings.Split(data, "|")
		var line []string
		for _, v := range values {
			switch {
			case v == "\\N": // no value
			case every:
				v = escapeEvery(v)
			default:
				v = escapeTSV.Replace(v)
			}
			line = append(line, v)
		}
		in := strings.Repeat(strings.Join(line, "\t")+"\n", 2)
		s := open(t, &chunks{strings.NewReader(in), 1 + size&0xFFF}, all(Options{}))
		go s.feed.run()
		r := newTSVReader(s.in, &Options{NoHeader: true}, Want{All: true})
		if _, err := r.Head(); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if r.cells == nil && in == "\n\n" {
			return // nothing but empty lines has no columns
		}
		for range 2 {
			var rec parser.Record
			if err := r.Read(&rec); err != nil {
				t.Fatal(err)
			}
			isValue := func(field []byte, v string) bool {
				return (field == nil) == (v == "\\N") && (field == nil || string(field) == v)
			}
			if !slices.EqualFunc(rec.Fields, values, isValue) {
				t.Fatalf("%q comes back as %q", values, rec.Fields)
			}
		}
	})
}

// escapeEvery writes every byte as an escape.
func escapeEvery(value string) string {
	var b bytes.Buffer
	for i := range len(value) {
		b.WriteString(`\`)
		if c := value[i]; c%2 == 0 {
			b.WriteByte('x')
			b.WriteString("0123456789abcdef"[c>>4 : c>>4+1])
			b.WriteString("0123456789abcdef"[c&15 : c&15+1])
		} else {
			b.Write([]byte{'0' + c>>6, '0' + c>>3&7, '0' + c&7})
		}
	}
	return b.String()
}
