package formats

import (
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	ab := Options{Cmds: []string{"X {a} {b}"}}
	with := func(change func(*Options)) Options {
		opt := ab
		change(&opt)
		return opt
	}
	null := with(func(o *Options) { o.Null = new(string); *o.Null = "NULL" })
	short := with(func(o *Options) { o.MaxRecord = 30 })
	text := func(line string) string { return "refused: text after a closing quote, in line " + line }
	tests := []readTest{
		{name: "LF", opt: ab, in: "a,b\n¶1,2\n¶3,4\n", want: []string{"X|1|2", "X|3|4"}},
		{name: "CRLF", opt: ab, in: "a,b\r\n¶1,2\r\n¶3,4\r\n", want: []string{"X|1|2", "X|3|4"}},
		{name: "no newline at the end", opt: ab, in: "a,b\n¶1,2\n¶3,4", want: []string{"X|1|2", "X|3|4"}},
		{name: "CR at the end", opt: ab, in: "a,b\r\n¶1,2\r\n¶3,4\r", want: []string{"X|1|2", "X|3|4"}},
		{name: "quote at the end", opt: ab, in: "a,b\n¶1,\"2\"", want: []string{"X|1|2"}},
		{name: "quote and CR at the end", opt: ab, in: "a,b\n¶1,\"2\"\r", want: []string{"X|1|2"}},
		{name: "delimiter at the end", opt: ab, in: "a,b\n¶1,", want: []string{"X|1|"}},
		{name: "byte order mark", opt: ab, in: "\xEF\xBB\xBFa,b\n¶1,2\n", want: []string{"X|1|2"}},
		{name: "other order", opt: ab, in: "b,x,a\n¶1,2,3\n¶\"4\",5,6\n", want: []string{"X|3|1", "X|6|4"}},
		{name: "blank lines", opt: ab, in: "\n\r\na,b\n\n¶1,2\n\r\n¶3,\"4\"\n\n", want: []string{"X|1|2", "X|3|4"}},
		{name: "blanks are data", opt: ab, in: "a,b\n¶ 1 , \"2\"\n", want: []string{"X| 1 | \"2\""}},
		{name: "quotes", opt: ab, in: "a,\"b\"\n¶\"1\",\"2,\"\"3\"\"\"\n¶\"\",\"\"\"\"\n", want: []string{`X|1|2,"3"`, `X||"`}},
		{name: "quoted line ends", opt: ab, in: "a,b\n¶\"1\r\n1\",\"\n\"\r\n¶3,4\n", want: []string{"X|1\r\n1|\n", "X|3|4"}},
		{name: "quote in a field", opt: ab, in: "a,b\n¶1\",2\"3\"\n", want: []string{`X|1"|2"3"`}},
		{name: "CR in a field", opt: ab, in: "a,b\n¶1\r1,2\n", want: []string{"X|1\r1|2"}},
		{name: "NUL", opt: ab, in: "a,b\n¶\x00,\"\x00\"\n", want: []string{"X|\x00|\x00"}},
		{name: "delimiter", opt: with(func(o *Options) { o.Delimiter = ";" }), in: "a;b\n¶1,1;2\n", want: []string{"X|1,1|2"}},
		{name: "columns", opt: with(func(o *Options) { o.Columns = []string{"b", "a"} }), in: "¶1,2\n¶\"3\",4\n",
			want: []string{"X|2|1", "X|4|3"}},
		{name: "no header", opt: Options{NoHeader: true, Cmds: []string{"X {2} {1}"}}, in: "\n¶1,2\n¶\"3\",4\n",
			want: []string{"X|2|1", "X|4|3"}},
		{name: "null", opt: null, in: "a,b\n¶NULL,1\n¶\"NULL\",NULL \n¶\"\",NULL\n",
			want: []string{"refused: no value for {a}", "X|NULL|NULL ", "refused: no value for {b}"}},
		{name: "header only", opt: ab, in: "a,b\n", want: nil},
		{name: "empty", opt: ab, in: "", want: nil},
		{name: "blank lines only", opt: ab, in: "\n\n", want: nil},
		{name: "unused names", opt: ab, in: "a,b,x,x,\n¶1,2,3,4,5\n", want: []string{"X|1|2"}},

		{name: "too few fields", opt: ab, in: "a,b\n¶1\n¶1,2\n", want: []string{"refused: 1 fields where 2 are due", "X|1|2"}},
		{name: "too many fields", opt: ab, in: "a,b\n¶1,2,\n¶\"1\",2,3\n¶1,2\n",
			want: []string{"refused: 3 fields where 2 are due", "refused: 3 fields where 2 are due", "X|1|2"}},
		{name: "text after a quote", opt: ab, in: "a,b\n¶\"1\"x,2\n¶1,2\n", want: []string{text("2"), "X|1|2"}},
		{name: "text after a quote and CR", opt: ab, in: "a,b\n¶1,\"2\"\rx\n¶1,2\n", want: []string{text("2"), "X|1|2"}},
		{name: "text after a later quote", opt: ab, in: "a,b\n¶1,\"2\n¶3,4\n¶5,\"6\"\n",
			want: []string{text("4"), "X|3|4", "X|5|6"}},
		{name: "open quote", opt: ab, in: "a,b\n¶1,\"2\n¶3,4\n¶5,6",
			want: []string{"refused: a quote is left open to the end of the file, since line 2", "X|3|4", "X|5|6"}},
		{name: "open quote in the last line", opt: ab, in: "a,b\n¶1,2\n¶1,\"2",
			want: []string{"X|1|2", "refused: a quote is left open to the end of the file, since line 3"}},
		{name: "open quotes in step", opt: ab, in: "a,b\n¶a\",b,\"c\n¶a\",b,\"c\n¶1,2\n", want: []string{
			"refused: a quote is left open to the end of the file, since line 3",
			"refused: a quote is left open to the end of the file, since line 3", "X|1|2"}},
		{name: "too long", opt: short, in: "a,b\n¶1," + strings.Repeat("x", 40) + "\n¶1,2\n",
			want: []string{"refused: longer than --max-record allows", "X|1|2"}},
		{name: "too long in quotes", opt: short, in: "a,b\n¶1,\"" + strings.Repeat("x", 40) + "\"\n¶1,2\n",
			want: []string{"refused: a quote is left open for longer than --max-record allows, since line 2", "X|1|2"}},
		{name: "as long as may be", opt: short, in: "a,b\n¶1," + strings.Repeat("x", 28) + "\n¶\"\"," + strings.Repeat("x", 27) + "\n",
			want: []string{"X|1|" + strings.Repeat("x", 28), "X||" + strings.Repeat("x", 27)}},
		{name: "broken header", opt: ab, in: "¶a,\"b\"x\n1,2\n",
			want: []string{"broken: the columns cannot be told: text after a closing quote, in line 1"}},
		{name: "broken first record", opt: Options{NoHeader: true, Cmds: []string{"X {1}"}}, in: "¶\"a\n1\n",
			want: []string{"broken: the columns cannot be told: a quote is left open to the end of the file, since line 1"}},
		{name: "columns and a broken record", opt: with(func(o *Options) { o.Columns = []string{"a", "b"} }), in: "¶\"a\n¶1,2\n",
			want: []string{"refused: a quote is left open to the end of the file, since line 1", "X|1|2"}},
		{name: "no such column", opt: ab, in: "¶a, b\n1,2\n",
			want: []string{`broken: there is no column "b"; there are "a", " b"`}},
		{name: "ambiguous column", opt: ab, in: "¶a,b,a\n1,2,3\n",
			want: []string{`broken: the column "a" is there twice, in place 1 and 3`}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}
