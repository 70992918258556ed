package formats

import (
	"io"
	"slices"
	"strings"
	"testing"

	"respipe/parser"
)

func TestCSVDialects(t *testing.T) {
	with := func(change func(*Options)) Options {
		opt := Options{Cmds: []string{"X {a} {b}"}}
		change(&opt)
		return opt
	}
	plain := with(func(*Options) {})
	semicolon := with(func(o *Options) { o.Delimiter = ";" })
	named := with(func(o *Options) { o.Columns = []string{"a", "b"} })
	wide := with(func(o *Options) { o.Delimiter = "||" })
	escape := with(func(o *Options) { o.Escape = '\\' })
	ragged := with(func(o *Options) { o.Ragged = true })
	escapeWide := with(func(o *Options) { o.Delimiter, o.Escape = "||", '\\' })
	null := with(func(o *Options) { o.Escape, o.Null = '\\', new(string); *o.Null = "\\N" })
	tsv := with(func(o *Options) { o.Format = "tsv" })
	cr := func(text string) string { return strings.ReplaceAll(text, "\n", "\r") }
	text := func(line string) string { return "refused: text after a closing quote, in line " + line }
	long := strings.Repeat("x", room)
	tests := []readTest{
		{name: "hint", opt: plain, in: "sep=;\r\na;b\r\n¶1,1;2\r\n", want: []string{"X|1,1|2"}},
		{name: "hint of a tab", opt: plain, in: bom + "sep=\t\na\tb\n¶1\t2\n", want: []string{"X|1|2"}},
		{name: "hint of a wide character", opt: plain, in: "sep=¦\na¦b\n¶1¦\"2\"\n", want: []string{"X|1|2"}},
		{name: "hint and columns", opt: named, in: "sep=;\n¶1;2\n", want: []string{"X|1|2"}},
		{name: "hint and delimiter", opt: semicolon, in: "sep=,\na;b\n¶1;2,\n", want: []string{"X|1|2,"}},
		{name: "hint and no more", opt: plain, in: "sep=;"},
		{name: "no hint", opt: Options{Cmds: []string{"X {sep=ab}"}}, in: "sep=ab\n¶1\n", want: []string{"X|1"}},
		{name: "no hint either", opt: Options{Cmds: []string{"X {sep=}"}}, in: "sep=\n¶1\n", want: []string{"X|1"}},
		{name: "hint of a quote", opt: plain, in: "¶sep=\"\n1\n", want: []string{`broken: there is no column "a"; there are "sep=\""`}},
		{name: "hint cut off", opt: plain, in: "¶se", want: []string{`broken: there is no column "a"; there are "se"`}},

		{name: "wide", opt: wide, in: "a||b\n¶1|1||2\n¶||\"2||2\"\n¶\"1\"||2|\n", want: []string{"X|1|1|2", "X||2||2", "X|1|2|"}},
		{name: "wide, leftmost", opt: wide, in: "a||b\n¶1|||2\n¶\"1\"|||2\n", want: []string{"X|1||2", "X|1||2"}},
		{name: "wide of three", opt: with(func(o *Options) { o.Delimiter = "~|~" }), in: "a~|~b\n¶~|~|~\n¶\"\"~|~\"2\"\n", want: []string{"X|||~", "X||2"}},
		{name: "wide, too few", opt: wide, in: "a||b\n¶1|2\n¶1|\"2\n", want: []string{"refused: 1 fields where 2 are due", "refused: 1 fields where 2 are due"}},
		{name: "wide behind a quote", opt: wide, in: "a||b\n¶\"1\"|2\n¶\"1\"||2\n¶\"1\"|", want: []string{text("2"), "X|1|2", text("4")}},

		{name: "escape", opt: escape, in: "a,b\n¶\"1 \\\"1\\\"\",\"\\\\\"\n¶\"1\"\"1\",\"\"\n", want: []string{`X|1 "1"|\`, `X|1"1|`}},
		{name: "escape before others", opt: escape, in: "a,b\n¶\"\\n\\,\\\n\",\\n\\N\n", want: []string{"X|\\n,\n|\\n\\N"}},
		{name: "escape without quotes", opt: escape, in: "a,b\n¶1\\,1,\\\"2\n¶\\\\,2\\\n¶3,4\\", want: []string{`X|1,1|"2`, `X|\|2\`, `X|3|4\`}},
		{name: "escape in the header", opt: escape, in: "¶a\\,1,\"b\"\n1,2\n", want: []string{`broken: there is no column "a"; there are "a,1", "b"`}},
		{name: "escape at the end", opt: escape, in: "a,b\n¶1,\"2\\", want: []string{"refused: a quote is left open to the end of the file, since line 2"}},
		{name: "escaped last quote", opt: escape, in: "a,b\n¶1,\"2\\\"\n¶3,4\n", want: []string{"refused: a quote is left open to the end of the file, since line 2", "X|3|4"}},
		{name: "escape and null", opt: null, in: "a,b\n¶1,\\N\n¶\"\\N\",\\\\N\n", want: []string{"refused: no value for {b}", `X|\N|\N`}},
		{name: "escape and a wide delimiter", opt: escapeWide, in: "a||b\n¶\\|||2\n¶1\\||||2\n¶\"\\\"|\"||\\\\\n", want: []string{"X|||2", "X|1|||2", `X|"||\`}},
		{name: "another escape", opt: with(func(o *Options) { o.Escape = '^' }), in: "a,b\n¶\"^\"\",\\\n", want: []string{`X|"|\`}},

		{name: "ragged", opt: ragged, in: "a,b,c\n¶1,2\n¶1,2,3,4\n¶1\n¶\"1\",2\n¶\"1\",2,3,\"4\"\n¶\"1\"\n", want: []string{
			"X|1|2", "X|1|2", "refused: no value for {b}", "X|1|2", "X|1|2", "refused: no value for {b}"}},
		{name: "ragged hash", opt: Options{Key: "k:{a}", Ragged: true}, in: "a,b\n¶1\n¶1,2,3\n", want: []string{"HSET|k:1|a|1", "HSET|k:1|a|1|b|2"}},

		{name: "CR", opt: plain, wrap: cr, in: "a,b\n¶1,2\n\n¶\"3\",4", want: []string{"X|1|2", "X|3|4"}},
		{name: "CR in quotes", opt: plain, wrap: cr, in: "a,b\n¶1,\"2\n2\n\"\n¶3,4\n", want: []string{"X|1|2\r2\r", "X|3|4"}},
		{name: "CR and a hint", opt: plain, wrap: cr, in: "sep=;\na;b\n¶1;2\n", want: []string{"X|1|2"}},
		{name: "CR, too few fields", opt: plain, wrap: cr, in: "a,b\n¶1\n¶\"1\"x,2\n¶1,2\n", want: []string{"refused: 1 fields where 2 are due", text("3"), "X|1|2"}},
		{name: "CR, open quote", opt: plain, wrap: cr, in: "a,b\n¶1,\"2\n¶3,4", want: []string{"refused: a quote is left open to the end of the file, since line 2", "X|3|4"}},
		{name: "CR of TSV", opt: tsv, wrap: cr, in: "a\tb\n¶1\t\\62\n¶3\t4", want: []string{"X|1|2", "X|3|4"}},
		{name: "LF far behind a CR", opt: plain, in: "a,b,\"c\rc" + long[:room-20] + "\"\n¶1,2,3\n", want: []string{"X|1|2"}},
		{name: "LF too far behind a CR", opt: named, wrap: func(s string) string { return strings.ReplaceAll(cr(s), "$", "\n") },
			in: "¶1,2\n¶3," + long + "$", want: []string{"X|1|2", "X|3|" + long + "\n"}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}

// TestCSVUsage holds that no option makes CSV ambiguous.
func TestCSVUsage(t *testing.T) {
	tests := []struct {
		opt Options
		msg string
	}{
		{Options{Delimiter: "\n"}, "--delimiter"},
		{Options{Delimiter: "a\"b"}, "--delimiter"},
		{Options{Delimiter: "\r|"}, "--delimiter"},
		{Options{Escape: '"'}, "--escape"},
		{Options{Escape: ','}, "--escape"},
		{Options{Escape: '\n'}, "--escape"},
		{Options{Escape: '|', Delimiter: "~|"}, "--escape"},
		{Options{Escape: ',', Delimiter: ";"}, ""},
		{Options{Escape: '\\', Delimiter: "||"}, ""},
	}
	for _, tt := range tests {
		_, err := Open(nil, tt.opt)
		if _, ok := err.(*UsageError); ok != (tt.msg != "") || ok && !strings.HasPrefix(err.Error(), tt.msg) {
			t.Errorf("%+v: got %v, want %q", tt.opt, err, tt.msg)
		}
	}
}

// readTable returns the fields of all records that r reads, and where they
// stand; a record that is refused has none.
func readTable(t *testing.T, in io.Reader, opt Options) (all [][]string, places []int64) {
	s := open(t, in, Options{})
	go s.feed.run()
	r := newCSVReader(s.in, &opt, Want{})
	for {
		names, found, err := r.first()
		if err == io.EOF {
			return all, places
		}
		if bad, ok := err.(*parser.Error); ok {
			all, places = append(all, nil), append(places, bad.Pos.Offset)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all, places = append(all, names), append(places, s.in.offset)
		s.in.Skip(found.size, found.lines)
	}
}

// FuzzCSVWide: a delimiter of two bytes parts the same fields as one of a
// single byte that is written in its place.
func FuzzCSVWide(f *testing.F) {
	f.Add("a;b\n\"1;\"\"\";\n;\"x\"y\nz;\"", 3)
	f.Fuzz(func(t *testing.T, in string, size int) {
		if in = strings.ReplaceAll(in, "|", ""); isWrapped(in) {
			return // another input
		}
		want, _ := readTable(t, strings.NewReader(in), Options{Delimiter: ";"})
		wide := strings.ReplaceAll(in, ";", "||")
		got, _ := readTable(t, &chunks{strings.NewReader(wide), 1 + size&0xFFF}, Options{Delimiter: "||"})
		for i, fields := range want { // inside of quotes it is text
			for j := range fields {
				want[i][j] = strings.ReplaceAll(fields[j], ";", "||")
			}
		}
		if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Fatalf("%q: got %q, want %q", in, got, want)
		}
	})
}

// FuzzCSVEscape: what is escaped comes back, with quotes and without.
func FuzzCSVEscape(f *testing.F) {
	f.Add("a\\|,\"|\n", 3, byte(1), "||")
	f.Add("\\\\n||", 1, byte(2), ",")
	f.Fuzz(func(t *testing.T, data string, size int, quoted byte, delim string) {
		if !isDelimiter(delim) || strings.ContainsAny(delim, `\~`) {
			return // no delimiter
		}
		fields := strings.Split(data, "~")
		var line []string
		for i, v := range fields {
			inQuotes := quoted>>(i%8)&1 == 1
			if !inQuotes {
				v = strings.NewReplacer("\r", "", "\n", "").Replace(v)
				fields[i] = v
			}
			v = strings.NewReplacer(`\`, `\\`, `"`, `\"`, delim[:1], `\`+delim[:1]).Replace(v)
			if inQuotes {
				v = `"` + v + `"`
			}
			line = append(line, v)
		}
		in := strings.Join(line, delim) + "\n"
		if in == "\n" || isWrapped(in) {
			return // no record of CSV
		}
		got, _ := readTable(t, &chunks{strings.NewReader(in + in), 1 + size&0xFFF}, Options{Delimiter: delim, Escape: '\\'})
		if len(got) != 2 || !slices.Equal(got[0], fields) || !slices.Equal(got[1], fields) {
			t.Fatalf("%q, written as %q, comes back as %q", fields, in, got)
		}
	})
}

// FuzzCSVEscapeBreach: as FuzzCSVBreach, with an escape character.
func FuzzCSVEscapeBreach(f *testing.F) {
	f.Add("a\\\",b,\"c\na\",b,\"c\\\n1,2\n")
	f.Add("\"p\n\" ,x\\\n\",y\\\n\"z\"q\n")
	f.Fuzz(func(t *testing.T, in string) {
		if isWrapped(in) || strings.Contains(in, "\r") {
			return // another input, or line ends that the rest would be read with otherwise
		}
		opt := Options{Escape: '\\'}
		got, places := readTable(t, strings.NewReader(in), opt)
		for i, at := range places { // a new reader has nothing to remember
			if rest := in[at:]; isWrapped(rest) || strings.HasPrefix(rest, bom) || strings.HasPrefix(rest, "sep=") {
				continue // what begins a file has a meaning of its own
			}
			alone, _ := readTable(t, strings.NewReader(in[at:]), opt)
			if len(alone) == 0 || !slices.Equal(alone[0], got[i]) || (alone[0] == nil) != (got[i] == nil) {
				t.Fatalf("at %d: got %q, alone %q", at, got[i], alone)
			}
		}
	})
}
