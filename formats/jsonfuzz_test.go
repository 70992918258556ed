package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzJSONObject: an object is taken if it is valid, and its members are those that
// encoding/json finds.
func FuzzJSONObject(f *testing.F) {
	f.Add([]byte(`{"a":1,"b\u0041":[true,false,null,{}],"":"\ud83d\udd25é"}`))
	f.Add([]byte("{ \"a\" :\n-0.5e+1\t,\r\"b\":[ ] , \"c\" : {\"a\": [{}, 1] } } rest"))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Add([]byte("{\"a\":\"\xE9\"}"))
	f.Add([]byte(`{"a":01}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r jsonReader
		if len(b) == 0 {
			return
		}
		size, err := r.object(b)
		if err != nil {
			if b[0] == '{' && jsontext.Value(b).IsValid() {
				t.Fatal("an object was not taken")
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(b[:size], &want); err != nil || !jsontext.Value(b[:size]).IsValid() {
			t.Fatalf("taken: %q, %v", b[:size], err)
		}
		if len(r.members) != len(want) {
			t.Fatalf("%d members, want %d", len(r.members), len(want))
		}
		for _, m := range r.members {
			_, name := unquote(nil, m.name)
			source, ok := want[string(name)]
			if !ok || string(source) != string(m.value) {
				t.Fatalf("member %q is %q, want %q", name, m.value, source)
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, source); err != nil || compact.String() != string(r.source(m.value)) {
				t.Fatalf("compact %q, want %q, %v", r.source(m.value), compact.String(), err)
			}
			var text string
			if json.Unmarshal(source, &text) == nil && source[0] == '"' && text != string(r.text(m.value)) {
				t.Fatalf("text %q, want %q", r.text(m.value), text)
			}
			checkItems(t, m.value)
		}
	})
}

// checkItems compares the items of an array with what encoding/json finds.
func checkItems(t *testing.T, value []byte) {
	var want []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &want) != nil {
		return
	}
	var it jsonItems
	it.enter(value)
	for _, w := range want {
		if got := it.next(); string(got) != string(w) {
			t.Fatalf("item %q, want %q", got, w)
		}
	}
	if it.next() != nil {
		t.Fatal("more items than there are")
	}
}

// FuzzJSONReader: an input that jsontext reads to its end as objects, or arrays
// of them, brings just these; and whatever the input, pieces do not matter.
func FuzzJSONReader(f *testing.F) {
	f.Add("{\"a\":1}{\"a\":2}\n{\n\"a\":3}\r\n", 3)
	f.Add("[{\"a\":1},\n{\"a\":[1,2]}]", 1)
	f.Add("{\"a\":1},\n{\"a\":x\n\"b\n{}7 [1]\n{\"a\":1,\"a\":2}", 2)
	f.Add("{\"a\":1}{\"b\":\n{\"a\": \"\\ud83d\\udd25\",\n", 7)
	f.Add("[{\"a\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"},{}] x", 5)
	f.Fuzz(func(t *testing.T, in string, size int) {
		opt := all(Options{Format: "json", Cmds: []string{"X {@line} {@raw}"}, MaxRecord: 64})
		got := collect(open(t, strings.NewReader(in), opt))
		if pieces := collect(open(t, &chunks{strings.NewReader(in), 1 + size&0x1F}, opt)); !reflect.DeepEqual(got, pieces) {
			t.Fatalf("in pieces %+v, in one %+v", pieces, got)
		}
		at := int64(-1)
		for i, o := range got {
			if o.n != int64(i+1) || o.pos.Offset <= at || o.pos.Line != 1+strings.Count(in[:o.pos.Offset], "\n") {
				t.Fatalf("record %d stands at %+v, behind one at %d", o.n, o.pos, at)
			}
			at = o.pos.Offset
		}
		want, ok := objects(in)
		if !ok {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%d records, want %d: %+v", len(got), len(want), got)
		}
		for i, g := range got {
			if !strings.HasPrefix(g.text, "X|") || !strings.HasSuffix(g.text, "|"+want[i]) {
				t.Fatalf("record %d is %q, want %q", i+1, g.text, want[i])
			}
		}
	})
}

// objects returns the objects in an input that holds nothing else, and arrays
// of them only at its beginning; ok is false for any other.
func objects(in string) (all []string, ok bool) {
	d := jsontext.NewDecoder(strings.NewReader(in))
	if strings.HasPrefix(in, bom) {
		return nil, false
	}
	for arrays := true; ; {
		switch kind := d.PeekKind(); {
		case kind == '{':
			value, err := d.ReadValue()
			if err != nil || len(value) > 64 {
				return nil, false
			}
			all, arrays = append(all, string(value)), d.StackDepth() > 0
		case kind == '[' && arrays && d.StackDepth() == 0, kind == ']':
			if _, err := d.ReadToken(); err != nil {
				return nil, false
			}
			arrays = true
		default:
			_, err := d.ReadToken()
			return all, err == io.EOF
		}
	}
}

// FuzzPath: the steps of a path, written down, are the same path again.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"a.b[0].c", "a", "a[1][2]", "[0]", "a.", ".a", "a[x]", "a[1]b", "a..b", "a[-1]", "a]b.c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		path := parsePath(s)
		if path == nil {
			return
		}
		var text strings.Builder
		for _, step := range path {
			if step.member == nil {
				fmt.Fprintf(&text, "[%d]", step.index)
			} else {
				fmt.Fprintf(&text, ".%s", step.member)
			}
		}
		if got := parsePath(text.String()[1:]); !reflect.DeepEqual(got, path) {
			t.Fatalf("%q is %+v, written as %s it is %+v", s, path, text.String(), got)
		}
	})
}
