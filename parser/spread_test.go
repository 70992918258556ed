package parser

import (
	"bytes"
	"testing"
)

func TestSpreadExpand(t *testing.T) {
	for _, tt := range []struct {
		line  string
		items [][]byte
		want  [][]byte // nil: tags... is missing
	}{
		{"SADD k {tags...}", list("a"), list("SADD", "k", "a")},
		{"SADD k {tags...} z", list("a", "", "b c"), list("SADD", "k", "a", "", "b c", "z")},
		{"SADD k{id} {tags...} {tags...}", list("a", "b"), list("SADD", "k7", "a", "b", "a", "b")},
		{"SADD k {tags...} {tags...}", nil, nil},
		{"SADD {tags} {tags...}", list("a"), list("SADD", "plain", "a")},
	} {
		cols := Columns{Names: []string{"id", "tags", "tags..."}}
		vals := list("7", "plain")
		var packed []byte
		for _, item := range tt.items {
			packed = AppendItem(packed, item)
		}
		c, err := ParseCommand(tt.line, &cols)
		if err != nil {
			t.Fatal(err)
		}
		args, arena, missing := c.Expand(list("kept"), []byte("kept"), append(vals, packed))
		if tt.want == nil {
			if missing != 2 || len(args) != 1 || len(arena) != 4 {
				t.Errorf("%s: %q, %q, %d", tt.line, args, arena, missing)
			}
		} else if missing >= 0 || !sameArgs(args[1:], tt.want) {
			t.Errorf("%s: %q, %d, want %q", tt.line, args[1:], missing, tt.want)
		}
	}
}

func TestSpreadAlone(t *testing.T) {
	for _, tt := range []struct {
		text   string
		spread bool
		err    string
	}{
		{"{tags...}", true, ""},
		{"{a.b[0]...}", true, ""},
		{"{tags..}", false, ""},
		{"{tags... }", false, ""},
		{"tags...", false, ""},
		{"{{tags...}}", false, ""},

		{"{...}", false, `a placeholder without a name: "{...}"`},
		{"x{tags...}", false, `a spread is an argument of its own: "{tags...}"`},
		{"{tags...}:x", false, `a spread is an argument of its own: "{tags...}"`},
		{"{id}{tags...}", false, `a spread is an argument of its own: "{tags...}"`},
		{"{tags...}{id}", false, `a spread is an argument of its own: "{tags...}"`},
		{"{u:{tags...}}", false, `a spread is an argument of its own: "{tags...}"`},
	} {
		tmpl, err := ParseTemplate(tt.text, &Columns{})
		if err != nil {
			if err.Error() != tt.err {
				t.Errorf("%s: error %q, want %q", tt.text, err, tt.err)
			}
		} else if tt.err != "" || tmpl.Spreads() != tt.spread {
			t.Errorf("%s: spreads %v, want %v and error %q", tt.text, tmpl.Spreads(), tt.spread, tt.err)
		}
	}
}

// FuzzSpread: the items of a list are what was put in.
func FuzzSpread(f *testing.F) {
	f.Add([]byte("a,b,,c"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		want := bytes.Split(data, []byte(","))
		var packed []byte
		for _, item := range want {
			packed = AppendItem(packed, item)
		}
		if got := AppendItems(list("kept"), packed); !sameArgs(got[1:], want) {
			t.Fatalf("put in %q, got out %q", want, got[1:])
		}
	})
}
