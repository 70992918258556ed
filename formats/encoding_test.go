package formats

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// encodeAs returns a function that encodes text.
func encodeAs(e encoding.Encoding) func(string) string {
	return func(text string) string {
		encoded, err := e.NewEncoder().String(text)
		if err != nil {
			panic(err)
		}
		return encoded
	}
}

// put returns a function that writes bytes in place of each $ of an encoded
// text.
func put(with string, encode func(string) string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(encode(text), encode("$"), with) }
}

func same(text string) string { return text }

func TestEncoding(t *testing.T) {
	little := encodeAs(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM))
	big := encodeAs(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM))
	latin := encodeAs(charmap.Windows1252)
	as := func(name string) Options { return Options{Encoding: name} }
	csv := Options{Encoding: "utf-8", Cmds: []string{"X {a} {b}"}}
	tsv := Options{Encoding: "utf-8", Format: "tsv", Cmds: []string{"X {a} {b}"}}
	lines := Options{Encoding: "latin1", Format: "lines", Cmds: []string{"X {text}"}}
	const text = "¶SET é 1\r\n¶SET 日本 \"😀\"\n¶GET x"
	got := []string{"SET|é|1", "SET|日本|😀", "GET|x"}
	tests := []readTest{
		{name: "UTF-16LE mark", wrap: little, in: bom + text, want: got},
		{name: "UTF-16BE mark", wrap: big, in: bom + text, want: got},
		{name: "mark before another option", opt: as("latin1"), wrap: little, in: bom + text, want: got},
		{name: "UTF-8 mark before another option", opt: as("utf-16"), in: bom + text, want: got},
		{name: "UTF-16", opt: as("utf-16"), wrap: little, in: text, want: got},
		{name: "UTF-16LE", opt: as("UTF-16LE"), wrap: little, in: text, want: got},
		{name: "UTF-16BE", opt: as("utf-16be"), wrap: big, in: text, want: got},
		{name: "UTF-8", opt: as("utf8"), in: text, want: got},
		{name: "latin1", opt: as("latin1"), wrap: latin, in: "¶SET é €\n", want: []string{"SET|é|€"}},
		{name: "iso-8859-1 is windows-1252", opt: as("ISO-8859-1"), wrap: latin, in: "¶SET é €\n", want: []string{"SET|é|€"}},
		{name: "koi8-r", opt: as("koi8-r"), wrap: encodeAs(charmap.KOI8R), in: "¶SET я 1\n", want: []string{"SET|я|1"}},
		{name: "shift_jis", opt: as("sjis"), wrap: encodeAs(japanese.ShiftJIS), in: "¶SET ソ表 1\n", want: []string{"SET|ソ表|1"}},
		{name: "iso-2022-jp", opt: as("iso-2022-jp"), wrap: encodeAs(japanese.ISO2022JP), in: "¶SET 日本 1\n", want: []string{"SET|日本|1"}},
		{name: "every byte of windows-1252", opt: as("windows-1252"), wrap: put("\x81\x8D\x8F\x90\x9D", same), in: "¶GET $\n",
			want: []string{"GET|\u0081\u008D\u008F\u0090\u009D"}},
		{name: "lines", opt: lines, wrap: latin, in: "¶é\n", want: []string{"X|é"}},
		{name: "replacement characters are text", opt: as("utf-8"), in: "¶GET \uFFFD\n", want: []string{"GET|\uFFFD"}},
		{name: "replacement characters of UTF-16 too", opt: as("utf-16"), wrap: little, in: "¶GET \uFFFD\n", want: []string{"GET|\uFFFD"}},
		{name: "escapes are no text", opt: as("utf-8"), in: "¶GET \"\\xff\"\n", want: []string{"GET|\xFF"}},
		{name: "nothing asked", in: "¶GET \xE9\xFF\n", want: []string{"GET|\xE9\xFF"}},
		{name: "nothing asked, UTF-8 mark", in: bom + "¶GET \xE9\n", want: []string{"GET|\xE9"}},
		{name: "mark and no more", wrap: little, in: bom},
		{name: "JSON in UTF-16", opt: Options{Cmds: []string{"X {a}"}}, wrap: little, in: bom + "¶{\"a\":\"é\"}\n", want: []string{"X|é"}},

		{name: "bad UTF-8", opt: as("utf-8"), in: "¶GET 1\n¶GET \xE9\n¶GET \xED\xA0\x80\n¶GET \xF5\n¶GET 2\n",
			want: []string{"GET|1", "refused: not valid utf-8", "refused: not valid utf-8", "refused: not valid utf-8", "GET|2"}},
		{name: "bad UTF-8 and a mark", opt: as("latin1"), in: bom + "¶GET \xE9\n", want: []string{"refused: not valid utf-8"}},
		{name: "cut at the end", opt: as("utf-8"), in: "¶GET 1\n¶GET \xE2\x82", want: []string{"GET|1", "refused: not valid utf-8"}},
		{name: "half a pair", opt: as("utf-16"), wrap: put("\x3D\xD8", little), in: "¶GET $\n¶GET 1\n", want: []string{"refused: not valid utf-16le", "GET|1"}},
		{name: "the other half", opt: as("utf-16be"), wrap: put("\xDE\x00", big), in: "¶GET $\n¶GET 1\n", want: []string{"refused: not valid utf-16be", "GET|1"}},
		{name: "half a unit at the end", wrap: func(s string) string { return little(s) + "\x00" }, in: bom + "¶GET 1\n¶", want: []string{"GET|1", "refused: not valid utf-16le"}},
		{name: "no such byte", opt: as("windows-1253"), wrap: put("\xAA", same), in: "¶GET $\n¶GET 1\n", want: []string{"refused: not valid windows-1253", "GET|1"}},
		{name: "half a character", opt: as("shift_jis"), wrap: put("\x81", same), in: "¶GET $\n¶GET 1\n", want: []string{"refused: not valid shift_jis", "GET|1"}},
		{name: "CSV", opt: csv, in: "a,b\n¶1,\"\xE9\n\"\n¶\xE9,2\n¶3,4\n", want: []string{"refused: not valid utf-8", "refused: not valid utf-8", "X|3|4"}},
		{name: "CSV header", opt: csv, in: "¶a,b,\xE9\n1,2,3\n", want: []string{"broken: the columns cannot be told: not valid utf-8"}},
		{name: "TSV", opt: tsv, in: "a\tb\n¶1\t\xE9\n¶\xE9\\t\t2\n¶3\t4\n", want: []string{"refused: not valid utf-8", "refused: not valid utf-8", "X|3|4"}},
		{name: "RESP", opt: as("utf-8"), in: "¶*2\r\n$3\r\nGET\r\n$1\r\n\xE9\r\n¶*1\r\n$4\r\nPING\r\n", want: []string{"refused: not valid utf-8", "PING"}},
		{name: "two faults are one refusal", opt: as("utf-8"), in: "¶GET \"\xE9\n", want: []string{"refused: a quote is left open"}},
		{name: "remark", opt: as("utf-8"), in: "# \xE9\n¶GET 1\n", want: []string{"GET|1"}},
		{name: "UTF-32", wrap: put("\xFF\xFE\x00\x00", same), in: "¶$", want: []string{"broken: this is UTF-32, convert it to UTF-8 first"}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}

// TestEncodingByFile holds that each file has the encoding of its own mark.
func TestEncodingByFile(t *testing.T) {
	little := encodeAs(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))
	paths := files(t, "a.txt", little("GET é\n"), "b.txt", "GET \xFF\n", "c.txt", "", "d.txt", little("GET $\n"))
	got := texts(collect(source(t, paths, all(Options{}))))
	if want := "a.txt:1 GET|é\nb.txt:1 GET|\xFF\nd.txt:1 GET|$\n"; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestEncodingNames(t *testing.T) {
	for name := range strings.FieldsSeq(charsetNames) {
		if _, err := charsetNamed(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := htmlindex.Get(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	tests := []struct{ name, hint string }{
		{"latin-1", "did you mean latin1?"},
		{"utf_8", "did you mean utf-8?"},
		{"utf16", "did you mean utf-16?"},
		{"UTF-7", "did you mean utf-8?"},
		{"win1252", "did you mean windows-1252?"},
		{"windows-1259", "did you mean windows-1250 or windows-1251 or windows-1252?"},
		{"nonsense", "did you mean utf-8 or utf-16 or latin1 or windows-1252?"},
		{"日本", "did you mean utf-8 or utf-16 or latin1 or windows-1252?"},
		{"iso-2022-kr", ""},
	}
	for _, tt := range tests {
		_, err := Open(nil, Options{Encoding: tt.name})
		usage, ok := err.(*UsageError)
		if !ok || !strings.Contains(usage.Msg, "--encoding") || !strings.HasPrefix(usage.Hint, tt.hint) {
			t.Errorf("%s: got %+v, want hint %q", tt.name, err, tt.hint)
		}
	}
}

// decoded reads what a charset makes of bytes that come in pieces.
func decoded(t *testing.T, set *charset, in []byte, size int) string {
	r := &decoder{r: &chunks{bytes.NewReader(in), size}, t: set.newDecoder(), buf: make([]byte, 64)}
	var out bytes.Buffer
	if _, err := io.CopyBuffer(struct{ io.Writer }{&out}, r, make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// FuzzUTF8: what is valid comes back, and every byte that is not is marked.
func FuzzUTF8(f *testing.F) {
	f.Add([]byte("a\xE9é\uFFFD😀\xF0\x9F\x98"), 1)
	f.Add(bytes.Repeat([]byte("日"), 100), 7)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		var want []byte
		for i := 0; i < len(in); {
			r, n := utf8.DecodeRune(in[i:])
			if r == utf8.RuneError && n == 1 {
				want = append(want, invalid)
			} else {
				want = append(want, in[i:i+n]...)
			}
			i += n
		}
		if got := decoded(t, &utf8Charset, in, 1+size&0xFF); got != string(want) {
			t.Fatalf("%q becomes %q, want %q", in, got, want)
		}
	})
}

// FuzzUTF16: it agrees with unicode/utf16, but that it marks what is no
// character where that writes U+FFFD.
func FuzzUTF16(f *testing.F) {
	f.Add([]byte("a\x00\xE9\x00\x3D\xD8\x00\xDE\xFD\xFF\x3D\xD8a\x00\x00\xDE"), 3, false)
	f.Add([]byte("\xD8\x3D\xDE\x00\xD8\x3D\x00"), 1, true)
	f.Fuzz(func(t *testing.T, in []byte, size int, bigEndian bool) {
		set, d := &utf16LECharset, utf16Decoder{big: bigEndian}
		if bigEndian {
			set = &utf16BECharset
		}
		var units []uint16
		for i := 0; i+1 < len(in); i += 2 {
			units = append(units, uint16(d.unit(in[i:])))
		}
		want := strings.ReplaceAll(string(utf16.Decode(units)), "\uFFFD", "?")
		got := decoded(t, set, in, 1+size&0xFF)
		plain := strings.NewReplacer("\xFF", "?", "\uFFFD", "?").Replace(got)
		if !strings.HasPrefix(plain, strings.TrimSuffix(want, "?")) || strings.Trim(plain[len(strings.TrimSuffix(want, "?")):], "?") != "" {
			t.Fatalf("%q becomes %q, want %q", in, got, want)
		}
		marks := strings.Count(got, "\xFF")
		if sound := len(in)%2 == 0 && slices.Equal(utf16.Encode(utf16.Decode(units)), units); sound != (marks == 0) {
			t.Fatalf("%q becomes %q with %d marks", in, got, marks)
		}
	})
}
