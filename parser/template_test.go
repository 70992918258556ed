package parser

import (
	"slices"
	"strings"
	"testing"
)

func TestParseTemplate(t *testing.T) {
	values := map[string]string{"id": "7", "name": "a b", "empty": "", "odd": "{x}", "a b": "blank", `"q"`: "q"}
	for _, tt := range []struct{ text, want, err string }{
		{"", "", ""},
		{"plain", "plain", ""},
		{"{id}", "7", ""},
		{"user:{id}", "user:7", ""},
		{"{id}:{name}:{id}", "7:a b:7", ""},
		{"{id}{name}", "7a b", ""},
		{"<{empty}>", "<>", ""},
		{"{odd}", "{x}", ""},
		{"{a b}", "blank", ""},
		{`{"q"}`, "q", ""},
		{"{user:{id}}:profile", "{user:7}:profile", ""},
		{"{user:{id}:x}:y", "{user:7:x}:y", ""},
		{"{{{id}}}", "{7}", ""},
		{"{{{id}}}:profile", "{7}:profile", ""},
		{"{{user:{id}}}", "{user:7}", ""},
		{"{{id}}", "{id}", ""},
		{"{{}}", "{}", ""},
		{"{{{{", "{{", ""},
		{"}}{id}{{", "}7{", ""},
		{"{a:{id}}{b:{id}}", "{a:7}{b:7}", ""},
		{"{a:{id}-{name}}", "{a:7-a b}", ""},
		{"{a:{{{id}}}}", "{a:{7}}", ""},
		{`{"id":{id}}`, `{"id":7}`, ""},
		{`{{"id":"{id}"}}`, `{"id":"7"}`, ""},

		{"{", "", `a brace is left open: "{"`},
		{"user:{id", "", `a brace is left open: "{id"`},
		{"{{{", "", `a brace is left open: "{"`},
		{"{user:{id}", "", `a brace is left open: "{user:{id}"`},
		{"{user:{id}}}", "", `a brace is left open: "{user:{id}}}"`},
		{"{user:{id", "", `a brace is left open: "{id"`},
		{"}", "", `a brace closes that did not open: "}" (a literal one is written twice)`},
		{"id}", "", `a brace closes that did not open: "}" (a literal one is written twice)`},
		{"{{id}", "", `a brace closes that did not open: "}" (a literal one is written twice)`},
		{"{{id}:x}", "", `a brace closes that did not open: "}:x}" (a literal one is written twice)`},
		{"{id}}", "", `a brace closes that did not open: "}" (a literal one is written twice)`},
		{"a{}b", "", `a placeholder without a name: "{}b"`},
		{"{a:{}}", "", `a placeholder without a name: "{}}"`},
		{"x{a:{b:{id}}}", "", `braces nested too deep: "{a:{b:{id}}}"`},
		{"{" + strings.Repeat("a", 100), "", `a brace is left open: "{` + strings.Repeat("a", 39) + `"`},
	} {
		var cols Columns
		tmpl, err := ParseTemplate(tt.text, &cols)
		if err != nil {
			if err.Error() != tt.err {
				t.Errorf("%s: error %q, want %q", tt.text, err, tt.err)
			}
			continue
		}
		vals := make([][]byte, len(cols.Names))
		for i, name := range cols.Names {
			vals[i] = []byte(values[name])
		}
		if got, missing := tmpl.Append([]byte("> "), vals); tt.err != "" || string(got) != "> "+tt.want || missing >= 0 {
			t.Errorf("%s: %q, %d, want %q and error %q", tt.text, got, missing, tt.want, tt.err)
		}
	}
}

func TestTemplateParts(t *testing.T) {
	cols := Columns{Names: []string{"x"}}
	for _, tt := range []struct {
		text    string
		literal bool
		column  int
		columns []int
	}{
		{"", true, -1, nil},
		{"a{{b}}", true, -1, nil},
		{"{id}", false, 1, []int{1}},
		{"{x}", false, 0, []int{0}},
		{"{name}{id}{name}", false, -1, []int{2, 1}},
		{"{{{id}}}", false, -1, []int{1}},
	} {
		tmpl, err := ParseTemplate(tt.text, &cols)
		if err != nil {
			t.Fatal(err)
		}
		if _, literal := tmpl.Literal(); literal != tt.literal || tmpl.Column() != tt.column || !slices.Equal(tmpl.Columns(), tt.columns) {
			t.Errorf("%s: literal %v, column %d, columns %v", tt.text, literal, tmpl.Column(), tmpl.Columns())
		}
	}
	if want := []string{"x", "id", "name"}; !slices.Equal(cols.Names, want) {
		t.Errorf("columns %q, want %q", cols.Names, want)
	}
}

func TestTemplateMissing(t *testing.T) {
	var cols Columns
	tmpl, err := ParseTemplate("{a}:{b}:{c}", &cols)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		vals    [][]byte
		want    string
		missing int
	}{
		{list("1", "2", "3"), "> 1:2:3", -1},
		{list("", "", ""), "> ::", -1},
		{[][]byte{{'1'}, nil, nil}, "> ", 1},
		{[][]byte{nil, {'2'}, {'3'}}, "> ", 0},
		{[][]byte{{'1'}, {'2'}, nil}, "> ", 2},
	} {
		if got, missing := tmpl.Append([]byte("> "), tt.vals); string(got) != tt.want || missing != tt.missing {
			t.Errorf("%q: %q, %d, want %q, %d", tt.vals, got, missing, tt.want, tt.missing)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("user:", ":x")
	f.Add("{", "}")
	f.Add("}{{", "{}}")
	double := strings.NewReplacer("{", "{{", "}", "}}")
	f.Fuzz(func(t *testing.T, before, after string) {
		var cols Columns
		if tmpl, err := ParseTemplate(double.Replace(before), &cols); err != nil {
			t.Fatal(err)
		} else if text, ok := tmpl.Literal(); !ok || text != before {
			t.Fatalf("%q became %q", before, text)
		}
		tmpl, err := ParseTemplate(double.Replace(before)+"{id}"+double.Replace(after), &cols)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := tmpl.Append(nil, list("7")); string(got) != before+"7"+after {
			t.Fatalf("%q and %q became %q", before, after, got)
		}
		if tmpl, err := ParseTemplate(before, &cols); err == nil { // whatever it is
			tmpl.Append(nil, make([][]byte, len(cols.Names)))
		}
	})
}
