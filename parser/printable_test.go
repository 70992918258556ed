package parser

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendPrintable(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"plain text", "plain text"},
		{`back\slash "quoted"`, `back\slash "quoted"`},
		{"naïve 🚀 中", "naïve 🚀 中"},
		{"a\ufffdb", "a\ufffdb"},
		{"tint\x1b[31m", `tint\x1b[31m`},
		{"\x00\t\r\n\x1f \x7f", `\x00\x09\x0d\x0a\x1f \x7f`},
		{"\u0080\u009f\u00a0", `\xc2\x80\xc2\x9f` + "\u00a0"},
		{"a\u2028b\u2029", `a\xe2\x80\xa8b\xe2\x80\xa9`},
		{"\u202e\u2066\u200f\u061c", `\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c`},
		{"\u200d\u2027\u202f\u2065", "\u200d\u2027\u202f\u2065"},
		{"caf\xe9!", `caf\xe9!`},
		{"\xff\xe2\x80", `\xff\xe2\x80`},
		{"\xc0\x80\xed\xa0\x80", `\xc0\x80\xed\xa0\x80`},
	} {
		if got := string(AppendPrintable([]byte("> "), []byte(tt.in))); got != "> "+tt.want {
			t.Errorf("AppendPrintable(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// FuzzAppendPrintable holds that nothing acts on a terminal, and that text
// which is fit to show stays as it is.
func FuzzAppendPrintable(f *testing.F) {
	f.Add("caf\xe9 \x1b[0m \u202e")
	f.Add("naïve")
	f.Fuzz(func(t *testing.T, s string) {
		got := string(AppendPrintable(nil, []byte(s)))
		if !utf8.ValidString(got) || strings.ContainsFunc(got, isHidden) {
			t.Fatalf("AppendPrintable(%q) = %q", s, got)
		}
		if again := string(AppendPrintable(nil, []byte(got))); again != got {
			t.Fatalf("%q is fit to show, but became %q", got, again)
		}
	})
}
