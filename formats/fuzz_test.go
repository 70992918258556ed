package formats

import (
	"bytes"
	"encoding/csv"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"respipe/parser"
)

// FuzzRESP: what AppendCommand writes is read back, and passed on verbatim,
// however it is cut into pieces.
func FuzzRESP(f *testing.F) {
	f.Add([]byte("SET,a,1"), 1)
	f.Add([]byte("HSET,k,,\r\n,*1"), 7)
	f.Add(bytes.Repeat([]byte(","), 5000), 1000)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		args := bytes.Split(data, []byte(","))
		resp := parser.AppendCommand(nil, args)
		twice := append(resp[:len(resp):len(resp)], resp...)
		r := newCommandReader(open(t, &chunks{bytes.NewReader(twice), 1 + size&0xFFF}, all(Options{})).in, &Options{}, true)
		go r.in.feed.run()
		for range 2 {
			var c parser.Command
			if err := r.Next(&c); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(c.Args, args, bytes.Equal) || !bytes.Equal(c.Raw, resp) {
				t.Fatalf("wrote %q, read %q, raw %q", args, c.Args, c.Raw)
			}
		}
		if err := r.Next(new(parser.Command)); err != io.EOF {
			t.Fatalf("behind the end: %v", err)
		}
	})
}

// FuzzText: lines are what one gets by splitting at LF.
func FuzzText(f *testing.F) {
	f.Add("SET a 1\r\n\n# x\nGET 'a", 3)
	f.Fuzz(func(t *testing.T, in string, size int) {
		var want []outcome
		in = strings.ReplaceAll(in, "*", "+")
		for i, line := range strings.Split(in, "\n") {
			line = strings.TrimSuffix(line, "\r")
			args, _, err := parser.SplitArgs(nil, nil, []byte(line))
			o := outcome{text: string(bytes.Join(args, []byte("|"))), pos: parser.Pos{Line: i + 1}}
			switch {
			case strings.HasPrefix(strings.TrimLeftFunc(line, func(r rune) bool { return r <= ' ' }), "#"):
				continue
			case err != nil:
				o.text = "refused: " + err.Error()
			case len(args) == 0:
				continue
			}
			want = append(want, o)
		}
		if _, err := detect(headOf(in), &commandsFormat, &Options{}); err != nil || strings.HasPrefix(in, bom) || isWrapped(in) {
			return // no text
		}
		s := open(t, &chunks{strings.NewReader(in), 1 + size&0xFFF}, all(Options{Format: "commands"}))
		for i, g := range collect(s) {
			refused := strings.HasPrefix(g.text, "refused: ") && strings.HasSuffix(g.text, "piped") ||
				strings.HasSuffix(g.text, "the rest of a value")
			if i >= len(want) || g.pos.Line != want[i].pos.Line || g.text != want[i].text && !refused {
				t.Fatalf("outcome %d is %+v, want one of %+v", i, g, want)
			}
		}
		if s.n != int64(len(want)) {
			t.Fatalf("%d records, want %d", s.n, len(want))
		}
	})
}

// isWrapped reports whether an input will be unpacked or decoded.
func isWrapped(in string) bool {
	head, _ := match([]byte(in), append(packedHeads(), bomUTF16LE, bomUTF16BE), true)
	return head != ""
}

// headOf is an Input that holds text and no more.
func headOf(text string) *Input {
	return &Input{buf: []byte(text), err: io.EOF, place: place{line: 1}, eol: '\n'}
}

// FuzzCSV: where encoding/csv takes an input as a whole, it has the same
// fields. Inputs with CR are left out, as it changes them inside of quotes.
func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,\"2,\"\"\n\"\n\n\"\",", 3, byte(','))
	f.Add("\"a\";\n;;\nx", 100, byte(';'))
	f.Fuzz(func(t *testing.T, in string, size int, delim byte) {
		if strings.Contains(in, "\r") || strings.IndexByte("\"\r\n\x00", delim) >= 0 || delim >= 0x80 || isWrapped(in) {
			return // another dialect
		}
		oracle := csv.NewReader(strings.NewReader(in))
		oracle.Comma, oracle.FieldsPerRecord = rune(delim), -1
		want, err := oracle.ReadAll()
		if err != nil {
			return // not CSV to encoding/csv
		}
		s := open(t, &chunks{strings.NewReader(in), 1 + size&0xFFF}, all(Options{}))
		go s.feed.run()
		r := newCSVReader(s.in, &Options{Delimiter: string(delim)}, Want{})
		for i := 0; ; i++ {
			rec, err := r.next()
			if err == io.EOF && i == len(want) {
				return
			}
			if err != nil || i == len(want) {
				t.Fatalf("record %d: %v, %q; want %d records", i, err, rec.text, len(want))
			}
			columns := make([]string, 0, rec.fields)
			for i := range r.scan.spans {
				columns = append(columns, string(r.text(rec.text, &r.scan.spans[i])))
			}
			if !slices.Equal(columns, want[i]) || rec.fields != len(want[i]) {
				t.Fatalf("record %d is %q, want %q", i, columns, want[i])
			}
			r.in.Skip(rec.size, rec.lines)
		}
	})
}

// FuzzCSVBreach: what is remembered of a record with broken quotes does not
// change which of the lines behind it are records.
func FuzzCSVBreach(f *testing.F) {
	f.Add("a\",b,\"c\na\",b,\"c\n1,2\n")
	f.Add("\"\n,\"\n\",\",\"\n\"\"\",\n\"x")
	f.Fuzz(func(t *testing.T, in string) {
		read := func(forget bool) (all []outcome) {
			s := open(t, strings.NewReader(in), Options{})
			go s.feed.run()
			r := newCSVReader(s.in, &Options{}, Want{})
			for {
				if forget {
					r.scan.breach = 0
				}
				pos := s.in.Pos()
				rec, err := r.scan.record()
				if err == io.EOF || err != nil && rec.size == 0 { // as behind the mark of UTF-32
					return all
				}
				all = append(all, outcome{pos: pos, text: string(rec.text), last: err == nil})
				s.in.Skip(rec.size, rec.lines)
			}
		}
		if got, want := read(false), read(true); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// FuzzSource: whatever the input, reading ends, places rise, and pieces do not
// matter.
func FuzzSource(f *testing.F) {
	f.Add("id,name\n1,\"a\n2,b\"c\n3,\"\"\n", 3, byte(0))
	f.Add("a\",b,\"c\na\",b,\"c\n1,2\n", 5, byte(1))
	f.Add("*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\n$4\nPING\nSET \"a\nFLUSHALL\n", 1, byte(2))
	f.Add("*3\r\n$90\r\n"+strings.Repeat("x", 90)+"\r\n$1\r\na\r\n$0\r\n\r\n*0\r\nx", 9, byte(3))
	f.Add("line\r\n\n"+strings.Repeat("x", 80)+"\nline", 2, byte(4))
	f.Add("a\tb\n1\\\t\\N\t\\x4\n\\\n\n\\.\nx", 2, byte(5))
	f.Add("#TS:1\r\n*1\r\n$4\r\nPING\r\n*0\r\n*2\r\n$3\r\nGET\r\n$9\r\nk", 2, byte(6))
	f.Add("sep=;\ra;b\r\\;;1\r\"\\\"\r", 2, byte(7))
	f.Fuzz(func(t *testing.T, in string, size int, kind byte) {
		null := "NULL"
		opt := []Options{
			{Key: "{@line}", Null: &null},
			{NoHeader: true, Cmds: []string{"SET {1} {@raw}", "DEL {1}"}},
			{Format: "commands"},
			{Format: "resp"},
			{Format: "lines", Cmds: []string{"SET {text} {@record}"}},
			{Format: "tsv", NoHeader: true, Cmds: []string{"SET {1} {@raw}"}},
			{Format: "aof"},
			{Format: "csv", Escape: '\\', Ragged: true, NoHeader: true, Cmds: []string{"SET {1} {@raw}"}},
		}[kind%8]
		opt.MaxRecord = 64
		if isWrapped(in) {
			return // places are not those of the input
		}
		eol := "\n"
		s := open(t, strings.NewReader(in), all(opt))
		s.Prepare(t.Context()) // what is wrong with the columns, collect finds again
		if s.in.eol == '\r' {
			eol = "\r"
		}
		want := collect(open(t, strings.NewReader(in), all(opt)))
		at, n := int64(-1), int64(0)
		for _, o := range want {
			if o.n == n {
				continue
			}
			if o.n != n+1 || o.pos.Offset <= at || o.pos.Line != 1+strings.Count(in[:o.pos.Offset], eol) {
				t.Fatalf("record %d stands at %+v, behind number %d at %d", o.n, o.pos, n, at)
			}
			n, at = o.n, o.pos.Offset
		}
		got := collect(open(t, &chunks{strings.NewReader(in), 1 + size&0xFF}, all(opt)))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in pieces %+v, in one %+v", got, want)
		}
	})
}
