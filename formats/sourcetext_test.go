package formats

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"respipe/parser"
)

func TestSourceText(t *testing.T) {
	little := encodeAs(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))
	csv := Options{Cmds: []string{"SET {k} {v}", "DEL {v}"}}
	as := func(change func(*Options)) Options { o := csv; change(&o); return o }
	short := as(func(o *Options) { o.MaxRecord = 8 })
	tests := []struct {
		name string
		opt  Options
		in   string
		want []string // by Next; "-" is none
		text Text
	}{
		{name: "commands", in: "SET a 1\r\n# x\nSET b \"2\nQUIT\n*1\r\n$4\r\nPING\r\nGET x",
			want: []string{"SET a 1\r", "SET b \"2", "QUIT", "*1\r\n$4\r\nPING\r", "GET x"}},
		{name: "commands, too long", opt: Options{MaxRecord: 8}, in: "SET a 123\nGET a\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n", want: []string{"-", "GET a", "-"}},
		{name: "RESP", opt: Options{Format: "resp"}, in: "*1\n$4\nPING\nGET 'x\n", want: []string{"*1\r\n$4\r\nPING\r", "GET 'x"}, text: Text{RESP: true}},
		{name: "AOF", opt: Options{Format: "aof"}, in: crlf("#TS:1 *1 $4 PING #TS:2 "), want: []string{"*1\r\n$4\r\nPING\r"}, text: Text{RESP: true}},
		{name: "csv", opt: csv, in: bom + "\r\n\"k\n\",k,v\r\n1,2,\"3\r\n\"\r\n\n1,2\n\"1\"x,2,3\n1,\"",
			want: []string{"1,2,\"3\r\n\"\r", "1,2,\"3\r\n\"\r", "1,2", "\"1\"x,2,3", "1,\""}, text: Text{Head: []byte("\"k\n\",k,v\r\n")}},
		{name: "csv, too long", opt: short, in: "k,v\n1,\"\n345\n7\"\n1,345678\n1,\"45\"\n12345678,9\n",
			want: []string{"1,\"", "345", "7\"", "1,345678", "1,345678", "1,\"45\"", "1,\"45\"", "-"}, text: Text{Head: []byte("k,v\n")}},
		{name: "csv, hint", opt: csv, in: "sep=;\r\nk;v\n1;2\n", want: []string{"1;2", "1;2"}, text: Text{Head: []byte("sep=;\r\nk;v\n")}},
		{name: "csv, no header", opt: Options{NoHeader: true, Cmds: []string{"GET {1}"}}, in: "1,2\n3\n", want: []string{"1,2", "3"}},
		{name: "csv, no header but a hint", opt: as(func(o *Options) { o.Columns = []string{"k", "v"} }), in: "sep=;\n1;2\n", want: []string{"1;2", "1;2"}, text: Text{Head: []byte("sep=;\n")}},
		{name: "csv, CR", opt: csv, in: "k,v\r1,\"2\r\"\r3", want: []string{"1,\"2\r\"", "1,\"2\r\"", "3"}, text: Text{Head: []byte("k,v\n")}},
		{name: "csv, no line end", opt: csv, in: "k,v", text: Text{Head: []byte("k,v\n")}},
		{name: "csv, skipped", opt: as(func(o *Options) { o.Skip = 1 }), in: "k,v\n1,2\n3,4\n", want: []string{"3,4", "3,4"}, text: Text{Head: []byte("k,v\n")}},
		{name: "tsv", opt: as(func(o *Options) { o.Format = "tsv" }), in: "k\tv\n1\t\\\n\n2\n", want: []string{"1\t\\\n", "1\t\\\n", "2"}, text: Text{Head: []byte("k\tv\n")}},
		{name: "JSON", opt: csv, in: "{\"k\":1,\n \"v\":2} {\"k\":3}\n{\"k\":4},\n{\"k\":5,\"k\":6}",
			want: []string{"{\"k\":1,\n \"v\":2}", "{\"k\":1,\n \"v\":2}", "{\"k\":3}", "{\"k\":4},", "{\"k\":5,\"k\":6}"}},
		{name: "JSON array", opt: csv, in: "[{\"k\":1,\"v\":2} ,\n7]", want: []string{"{\"k\":1,\"v\":2}", "{\"k\":1,\"v\":2}", "7"}},
		{name: "JSON, too long", opt: short, in: "[{\"k\":\"123\"},\n[]]", want: []string{"-", "[]"}},
		{name: "lines", opt: Options{Format: "lines", Cmds: []string{"GET {text}"}}, in: "a\r\n\n b", want: []string{"a\r", " b"}},
		{name: "utf-16", opt: csv, in: little("k,v\n1,ü\n2,x\n"), want: []string{"1,ü", "1,ü", "2,x", "2,x"}, text: Text{Decoded: true, Head: []byte("k,v\n")}},
		{name: "windows-1252", opt: as(func(o *Options) { o.Encoding = "windows-1252" }), in: "k,v\n1,\xFC\n", want: []string{"1,ü", "1,ü"}, text: Text{Decoded: true, Head: []byte("k,v\n")}},
		{name: "gzip", in: pack(t, "gzip", "GET a\n"), want: []string{"GET a"}},
		{name: "nothing"},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 5, 1 << 20} {
			opt := all(tt.opt)
			opt.KeepSource = true
			s := open(t, &chunks{strings.NewReader(tt.in), size}, opt)
			all := steps(s)
			var got []string
			for _, st := range all[:len(all)-1] {
				if st.src == "" {
					st.src = "-"
				}
				got = append(got, st.src)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s in pieces of %d: got %q, want %q", tt.name, size, got, tt.want)
			}
			if text := s.Text(); !reflect.DeepEqual(text, tt.text) {
				t.Errorf("%s in pieces of %d: text is %+v, want %+v", tt.name, size, text, tt.text)
			}
		}
	}
}

// TestSourceTextByFile holds that a header is that of its own file, for good.
func TestSourceTextByFile(t *testing.T) {
	opt := all(Options{Key: "{k}"})
	s := source(t, files(t, "a.csv", "k,v\n1,2\n", "b.csv", "v,k\n3,4\n", "c.jsonl", "{\"k\":1}\n"), opt)
	if text := s.Text(); !reflect.DeepEqual(text, Text{}) {
		t.Errorf("before the first record: %+v", text)
	}
	var heads [][]byte
	for range 3 {
		var c parser.Command
		if err := s.Next(&c); err != nil {
			t.Fatal(err)
		}
		if c.Src != nil {
			t.Errorf("the source text %q was not asked for", c.Src)
		}
		heads = append(heads, s.Text().Head)
	}
	if want := [][]byte{[]byte("k,v\n"), []byte("v,k\n"), nil}; !reflect.DeepEqual(heads, want) {
		t.Errorf("got %q, want %q", heads, want)
	}
}

// reload writes source texts down and reads them again.
func reload(t *testing.T, text Text, texts []string, opt Options) []outcome {
	var b bytes.Buffer
	if text.Decoded {
		b.WriteString(bom)
	}
	b.Write(text.Head)
	for _, src := range texts {
		b.WriteString(src + "\n")
	}
	return collect(open(t, &b, opt))
}

// sources returns the source text of each record, and what it became, of those
// that were not refused.
func sources(all []step) (texts, want []string) {
	n := int64(-1)
	for _, st := range all[:len(all)-1] {
		if strings.HasPrefix(st.text, "refused: ") {
			continue
		}
		if st.n != n {
			texts = append(texts, st.src)
		}
		n = st.n
		want = append(want, st.text)
	}
	return texts, want
}

// TestContractSourceText holds for every format that source texts, one behind
// the other, are the same records again, wherever chunks end.
func TestContractSourceText(t *testing.T) {
	each(t, func(t *testing.T, s sample) {
		in := s.head
		for i := range 40 {
			in += s.record(fmt.Sprint("value ", i, strings.Repeat("x", 5000*(i%3))))
			if i%5 == 3 {
				in += s.bad
			}
		}
		opt := s.opt
		opt.KeepSource = true
		if s.text == nil {
			opt.Cmds = []string{"ECHO {text}"} // the lines will have other numbers
		}
		for _, size := range []int{1000, 70_000, 1 << 20} {
			src := open(t, &chunks{strings.NewReader(in), size}, opt)
			all := steps(src)
			for _, st := range all[:len(all)-1] {
				bad := strings.HasPrefix(st.text, "refused: ")
				if long := strings.Contains(st.text, "--max-record"); (st.src == "") != long || bad && !long && st.src+"\n" != s.bad {
					t.Fatalf("in pieces of %d: record %d, %.40q, has the source text %.40q", size, st.n, st.text, st.src)
				}
			}
			texts, want := sources(all)
			got := reload(t, src.Text(), texts, opt)
			if len(got) != len(want) {
				t.Fatalf("got %d commands again, want %d", len(got), len(want))
			}
			for i := range want {
				if got[i].text != want[i] {
					t.Fatalf("got %.40q again, want %.40q", got[i].text, want[i])
				}
			}
		}
	})
}

// TestContractSourceAllocations holds that source texts cost nothing.
func TestContractSourceAllocations(t *testing.T) {
	each(t, func(t *testing.T, s sample) {
		s.opt.KeepSource = true
		src := open(t, strings.NewReader(s.head+strings.Repeat(s.record("value"), 3000)), s.opt)
		var c parser.Command
		next := func() {
			if err := src.Next(&c); err != nil || len(c.Src) == 0 {
				t.Fatal(err, c.Src)
			}
			src.Mark()
		}
		for range 500 {
			next()
		}
		if n := testing.AllocsPerRun(2000, next); n > 0 {
			t.Errorf("%v allocations a record", n)
		}
	})
}

// FuzzSourceText: the source texts of all records that are right are the same
// records again.
func FuzzSourceText(f *testing.F) {
	for i, in := range []string{
		"id,name\n1,\"a\n2,b\"c\n3,\"\"\r\r\n", "a\",b,\"c\na\",b,\"c\n1,2\n", "SET a \"1\nFLUSHALL\nMULTI\nEXEC\nGET x",
		"*1\r\n$4\r\nPING\r\nGET 'x\n*1\n$4\nPING\n", "a\r\n\nb", "1\t\\\n\n\\.\nx",
		"[{\"a\":1},\n{\"a\":2}]\n[{x\n[1]\n{}{\"a\":1,\"a\":2}\n",
	} {
		f.Add(in, 1+i, byte(i))
	}
	f.Fuzz(func(t *testing.T, in string, size int, kind byte) {
		opt := []Options{
			{Format: "csv", Key: "{@raw}"},
			{Format: "csv", NoHeader: true, Cmds: []string{"SET {1} {@raw}", "DEL {1}"}},
			{Format: "commands"},
			{Format: "resp"},
			{Format: "lines", Cmds: []string{"ECHO {text}"}},
			{Format: "tsv", NoHeader: true, Cmds: []string{"SET {1} {@raw}"}},
			{Format: "json", Cmds: []string{"ECHO {@raw}"}},
		}[kind%7]
		opt.MaxRecord, opt.KeepSource = 64, true
		s := open(t, &chunks{strings.NewReader(in), 1 + size&0xFF}, all(opt))
		texts, want := sources(steps(s))
		text := s.Text()
		if len(texts) == 0 || s.in.eol == '\r' && strings.Contains(in, "\n") {
			return // an LF may stand in a line
		}
		for _, head := range append(packedHeads(), bom, bomUTF16LE, bomUTF16BE, hint, rdbHead, valkeyHead) {
			if fits([]byte(string(text.Head)+texts[0]+"\n"), head) && !text.Decoded {
				return // the first text would be taken for something else
			}
		}
		if s.format == &tsvFormat && isEscaped([]byte(texts[len(texts)-1])) {
			return // an LF behind the last text would be part of it
		}
		var got []string
		for _, o := range reload(t, text, texts, all(opt)) {
			got = append(got, o.text)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %q, want %q, from %q behind %q", got, want, texts, text.Head)
		}
	})
}
