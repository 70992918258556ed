package parser

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendJSONText(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{`say "a\b"`, `"say \"a\\b\""`},
		{"</script>&", `"</script>&"`},
		{"naïve 🚀 中", `"naïve 🚀 中"`},
		{"a\nb\r\tc", `"a\nb\r\tc"`},
		{"\x00\x07\x1b[0m\x7f", `"\u0000\u0007\u001b[0m\u007f"`},
		{"\u0080\u009f\u00a0", `"\u0080\u009f` + "\u00a0\""},
		{"a\u2028b\u2029", `"a\u2028b\u2029"`},
		{"\u202e\u2066\u200f\u061c", `"\u202e\u2066\u200f\u061c"`},
		{"a\ufffdb", "\"a\ufffdb\""},
		{"\xff", `{"base64":"/w=="}`},
		{"caf\xe9", `{"base64":"Y2Fm6Q=="}`},
		{"\xed\xa0\x80", `{"base64":"7aCA"}`},
		{"naïve"[:3], `{"base64":"bmHD"}`},
	} {
		if got := string(AppendJSONText([]byte("> "), []byte(row.text))); got != "> "+row.want {
			t.Errorf("%q: %s, want %s", row.text, got, row.want)
		}
	}
}

// FuzzAppendJSONText: the text is read back as it was, and nothing acts on a
// terminal.
func FuzzAppendJSONText(f *testing.F) {
	for _, seed := range []string{"", "a\"b\\", "\x00\u0085\u2028\u202e", "caf\xe9", "🚀"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := AppendJSONText(nil, []byte(text))
		if strings.ContainsFunc(string(got), isHidden) {
			t.Errorf("%q: %q", text, got)
		}
		var value any
		if err := json.Unmarshal(got, &value); err != nil {
			t.Fatalf("%q: %s: %v", text, got, err)
		}
		if utf8.ValidString(text) {
			if value != text {
				t.Errorf("%q was read back as %q", text, value)
			}
			return
		}
		if back, _ := base64.StdEncoding.DecodeString(value.(map[string]any)["base64"].(string)); string(back) != text {
			t.Errorf("%q was read back as %q", text, back)
		}
	})
}
