package formats

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"respipe/parser"
)

// deepest is how deep values may be nested in jsontext.
const deepest = 10_000

func TestJSON(t *testing.T) {
	kv := Options{Format: "json", Cmds: []string{"SET {k} {v}"}}
	hash := Options{Format: "json", Key: "u:{id}"}
	short := Options{Format: "json", Cmds: kv.Cmds, MaxRecord: 17}
	const (
		a, b, c = `{"k":"a","v":"1"}`, `{"k":"b","v":"2"}`, `{"k":"c","v":"3"}`
		A, B, C = "SET|a|1", "SET|b|2", "SET|c|3"
		comma   = "refused: invalid character ',' at start of value"
	)
	tests := []readTest{
		// What stands where.
		{name: "lines", opt: kv, in: "¶" + a + "\r\n\n  \n \t¶" + b + " \n¶" + c, want: []string{A, B, C}},
		{name: "one after another", opt: kv, in: "¶" + a + "¶" + b + " \t¶" + c + "\n\n¶" + a, want: []string{A, B, C, A}},
		{name: "in any layout", opt: kv, in: "¶{\n\t\"k\" : \"a\" ,\r\n\n\"v\":\n1}¶" + b + "\n¶{\n\"v\":\"3\",\"k\":\"c\"\n}\n¶" + a, want: []string{A, B, C, A}},
		{name: "array", opt: kv, in: "[¶" + a + ",¶" + b + ",\n¶" + c + "]\n", want: []string{A, B, C}},
		{name: "array in any layout", opt: kv, in: "\n [\n\n  ¶{\"k\":\"a\",\n  \"v\":1\n}\n,\r\n¶" + b + "\n]\n\n", want: []string{A, B}},
		{name: "several arrays", opt: kv, in: "[¶" + a + "]\n[]\n[\n¶" + b + ",¶" + c + "]", want: []string{A, B, C}},
		{name: "objects behind an array", opt: kv, in: "[¶" + a + "]¶" + b + "\n¶" + c, want: []string{A, B, C}},
		{name: "nothing", opt: kv, in: " \r\n\t\n"},
		{name: "no elements", opt: kv, in: "[ \n ]"},
		{name: "as it is asked for", opt: Options{Cmds: kv.Cmds}, in: "¶" + a + "\n¶" + b, want: []string{A, B}},

		// Values.
		{name: "numbers", opt: kv, in: `¶{"k":1.0,"v":-0}¶{"k":1E+2,"v":100000000000000000000000}¶{"k":1e400,"v":0.10}`,
			want: []string{"SET|1.0|-0", "SET|1E+2|100000000000000000000000", "SET|1e400|0.10"}},
		{name: "words", opt: kv, in: `¶{"k":true,"v":false}¶{"k":"null","v":""}`, want: []string{"SET|true|false", "SET|null|"}},
		{name: "escapes", opt: kv, in: `¶{"k":"\ud83d\udd25\u00E9","v":"\"\\\/\b\f\n\r\t\u0000"}¶{"\u006b":"\u000a","v":"é"}`,
			want: []string{"SET|🔥é|\"\\/\b\f\n\r\t\x00", "SET|\n|é"}},
		{name: "containers", opt: kv, in: "¶{\"k\":{ \"b\" : [1 ,\n 2.50, {}] , \"a\": \"\\u00e9 \\\" ,:\" },\"v\":[ ]}",
			want: []string{`SET|{"b":[1,2.50,{}],"a":"\u00e9 \" ,:"}|[]`}},
		{name: "no value", opt: kv, in: `¶{"k":null,"v":1}¶{"v":1}¶{"K":1,"v":1}¶{}`,
			want: []string{"refused: no value for {k}", "refused: no value for {k}", "refused: no value for {k}", "refused: no value for {k}"}},
		{name: "hash", opt: hash, in: `¶{"id":1,"name":"Ann","x":null,"tags":["a", "b"]}¶{"z\u0020":"","id":2}`,
			want: []string{`HSET|u:1|id|1|name|Ann|tags|["a","b"]`, "HSET|u:2|z ||id|2"}},
		{name: "empty key", opt: hash, in: `¶{"id":""}`, want: []string{"refused: {id} is empty, so the key would lack it"}},

		// Records that are refused and stand whole.
		{name: "twice", opt: kv, in: "¶{\"k\":1,\"v\":2,\"x\":3,\"v\":2}\n¶" + a, want: []string{`refused: the member "v" is there twice`, A}},
		{name: "twice by an escape", opt: kv, in: `¶{"k":1,"v":2,"\u0076":2}¶` + a, want: []string{`refused: the member "v" is there twice`, A}},
		{name: "twice inside", opt: kv, in: "[¶{\"k\":1,\"v\":[{\"a\":1,\n\"a\":2}]},¶" + a + "]", want: []string{`refused: the member "a" is there twice`, A}},
		{name: "once each", opt: kv, in: `¶{"k":"a","x":{"k":1,"v":{"k":1}},"v":1}`, want: []string{A}},
		{name: "not UTF-8", opt: kv, in: "¶{\"k\":\"\xE9\",\"v\":2}\n¶{\n\"k\":\"\xC3\",\"v\":2}\n¶" + a, want: []string{"refused: invalid UTF-8", "refused: invalid UTF-8", A}},
		{name: "half a pair", opt: kv, in: `¶{"k":"\ud83d","v":"\udd25"}¶` + a, want: []string{"refused: half a surrogate pair in a string", A}},
		{name: "no objects", opt: kv, in: "¶" + a + "\n¶[1,\n2]\n¶\"x\"\n¶42\n¶-1 ¶null\n¶true\n¶" + b,
			want: []string{A, "refused: this is no object", "refused: this is no object", "refused: this is no object",
				"refused: this is no object", "refused: this is no object", "refused: this is no object", B}},
		{name: "no objects in an array", opt: kv, in: "[¶" + a + ",¶7,¶[{}],¶" + b + "]",
			want: []string{A, "refused: this is no object", "refused: this is no object", B}},
		{name: "an array of no objects", opt: kv, in: "¶[1, {}]\n¶" + a, want: []string{"refused: this is no object", A}},

		// Lines that are refused.
		{name: "comma", opt: kv, in: "¶" + a + ",\n¶" + b + " ,\r\n¶" + c, want: []string{comma, comma, C}},
		{name: "text", opt: kv, in: "¶" + a + " x\n¶" + b, want: []string{"refused: invalid character 'x' at start of value", B}},
		{name: "one of several", opt: kv, in: "¶" + a + b + "{]" + c + "\n¶" + c, want: []string{"refused: invalid character ']' at start of value", C}},
		{name: "behind an object of several lines", opt: kv, in: "¶{\n\"k\":\"a\",\"v\":1}¶,\n¶" + b, want: []string{A, comma, B}},
		{name: "open quote", opt: kv, in: "¶{\"k\":\"a\",\"v\":\"1\n¶" + b, want: []string{"refused: invalid character '\\n' in string (expecting non-control character)", B}},
		{name: "no escape", opt: kv, in: "¶{\"k\":\"secret\\x41\",\"v\":1}\n¶{\"k\":\"\\u12g4\"}\n¶" + b,
			want: []string{"refused: invalid escape in a string", "refused: invalid escape in a string", B}},
		{name: "cut off", opt: kv, in: "¶" + a + "\n¶{\"k\":\"c\",\"v\":\"thr", want: []string{A, "refused: the JSON is cut off"}},
		{name: "cut off at the end of the line", opt: kv, in: "¶" + a + "\n¶{\"k\":\"c\",\"v\": \n\n", want: []string{A, "refused: the JSON is cut off"}},
		{name: "second one cut off", opt: kv, in: "¶" + a + "\n¶" + b + "{", want: []string{A, "refused: the JSON is cut off"}},
		{name: "cut off in the middle", opt: kv, in: "¶{\"k\":\"c\",\r\n\n¶" + a, want: []string{"refused: object member name must be a string", A}},
		{name: "goes on in the next line", opt: kv, in: "¶" + a + "¶{\"k\":\"b\",\n\"v\":2}\n¶" + c, want: []string{A, B, C}},
		{name: "lines behind a bad one", opt: kv, in: "¶{\"k\": x\n \"v\": 1\n}\n\n[1]\n {\"k\":1}\n¶" + b, want: []string{"refused: invalid character 'x' at start of value", B}},
		{name: "nothing behind a bad one", opt: kv, in: "¶{x\n}\n", want: []string{"refused: invalid character 'x' at start of value"}},
		{name: "array that does not begin well", opt: kv, in: "[¶{x}]\n¶" + b, want: []string{"refused: invalid character 'x' at start of value", B}},
		{name: "no array", opt: kv, in: "¶[INFO] started\n¶" + b, want: []string{"refused: invalid character 'I' at start of value", B}},
		{name: "too deep", opt: kv, in: `¶{"v":` + strings.Repeat("[", deepest) + strings.Repeat("]", deepest) + "}\n¶" + a, want: []string{"refused: exceeded max depth", A}},
		{name: "just not too deep", opt: kv, in: `¶{"k":"deep","v":` + strings.Repeat("[ ", deepest-1) + strings.Repeat("]", deepest-1) + "}\n¶" + a,
			want: []string{"SET|deep|" + strings.Repeat("[", deepest-1) + strings.Repeat("]", deepest-1), A}},

		// Where reading ends.
		{name: "breaks on a later line", opt: kv, in: "¶" + a + "\n¶{\"k\":1,\n\"v\":,}\n" + b,
			want: []string{A, "broken: invalid character ',' at start of value, in line 3"}},
		{name: "cut off on a later line", opt: kv, in: "¶" + a + "\n¶{\"k\":1,\n\"v\"", want: []string{A, "broken: the JSON is cut off, in line 3"}},
		{name: "breaks in an array", opt: kv, in: "[¶" + a + ",¶{\"k\":b}]", want: []string{A, "broken: invalid character 'b' at start of value, in line 1"}},
		{name: "breaks on the second line of an array", opt: kv, in: "[\n¶{k:1}]", want: []string{"broken: invalid character 'k' at start of value, in line 2"}},
		{name: "comma at the end of an array", opt: kv, in: "[¶" + a + ",¶]", want: []string{A, "broken: invalid character ']' at start of value, in line 1"}},
		{name: "no comma in an array", opt: kv, in: "[¶" + a + "\n¶" + b + "]", want: []string{A, "broken: a comma or the end of the array is due"}},
		{name: "open array", opt: kv, in: "[¶" + a + "¶", want: []string{A, "broken: the JSON is cut off"}},
		{name: "open array behind a comma", opt: kv, in: "[¶" + a + ",\n¶", want: []string{A, "broken: the JSON is cut off"}},

		// Records that are too long.
		{name: "just not too long", opt: short, in: "¶" + a + "\n ¶{}", want: []string{A, "refused: no value for {k}"}},
		{name: "too long", opt: short, in: "¶{\"k\":\"a\",\"v\":\"10\"}\n¶" + b + "\n¶{\"k\":[\n1,2,\n3,4,5,6,7]}\n¶" + c,
			want: []string{"refused: longer than --max-record allows", B, "refused: longer than --max-record allows", C}},
		{name: "too long in an array", opt: short, in: "[¶{\"k\":\"}\\\"]\",\n\"v\":\"10\"},¶" + b + "\n,¶" + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "]\n¶" + c,
			want: []string{"refused: longer than --max-record allows", B, "refused: longer than --max-record allows", C}},
		{name: "too long at the end", opt: short, in: "[¶{\"k\":\"a\",\"v\":\"1000", want: []string{"broken: the JSON is cut off"}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}

func TestJSONPaths(t *testing.T) {
	const doc = `¶{"a":{"b":[{"c":"x\n"},[1,2],null],"":7,"e\u0022":1},"a.d":"dots","l":[],"n":null,"s":"text"}` + "\n"
	path := func(template, want string) readTest {
		return readTest{name: template, opt: Options{Format: "json", Cmds: []string{"X " + template}}, in: doc, want: []string{want}}
	}
	tests := []readTest{
		path("{a.b[0].c}", "X|x\n"),
		path("{a.b[1][1]}", "X|2"),
		path("{a.b[1]}", "X|[1,2]"),
		path("p:{a.b[0]}:{a.d}", `X|p:{"c":"x\n"}:dots`),
		path(`'{a.e"}'`, "X|1"),
		path("{a.b...}", "refused: no value for {a.b...}"), // one of them is null
		path("{a.b[1]...} {a.b[1]...}", "X|1|2|1|2"),
		path("{a.b[2]}", "refused: no value for {a.b[2]}"),
		path("{a.b[3]}", "refused: no value for {a.b[3]}"),
		path("{a.b[2147483647]}", "refused: no value for {a.b[2147483647]}"),
		path("{a.b.c}", "refused: no value for {a.b.c}"),
		path("{a[0]}", "refused: no value for {a[0]}"),
		path("{s.t}", "refused: no value for {s.t}"),
		path("{a.x}", "refused: no value for {a.x}"),
		path("{a.}", "refused: no value for {a.}"),
		path("{a.b[x]}", "refused: no value for {a.b[x]}"),
		path("{a.b[-1]}", "refused: no value for {a.b[-1]}"),
		path("{a.b[0}", "refused: no value for {a.b[0}"),
		path("{l...}", "refused: no value for {l...}"),
		path("{n...}", "refused: no value for {n...}"),
		path("{z...}", "refused: no value for {z...}"),
		path("{s...}", "refused: {s...} is no array"),
		path("{a...}", "refused: {a...} is no array"),
	}
	for i := range tests {
		tests[i].run(t)
	}
}

// TestJSONManyMembers holds that a name that is there twice is found in objects
// of many members, too, for which jsontext takes a map.
func TestJSONManyMembers(t *testing.T) {
	for _, n := range []int{1, 64, 65, 66, 200} {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"m%d":%d`, i, i))
		}
		good := "{" + strings.Join(members, ",") + "}"
		bad := "{" + strings.Join(append(members, `"m0":0`), ",") + "}"
		got := collect(open(t, strings.NewReader(good+"\n"+bad+good), all(Options{Format: "json", Cmds: []string{"X {m0}"}})))
		if len(got) != 3 || got[0].text != "X|0" || got[1].text != `refused: the member "m0" is there twice` || got[2].text != "X|0" {
			t.Errorf("%d members: got %+v", n, got)
		}
	}
}

// TestJSONLongLine holds that objects without line ends between them are taken
// one by one where they are too many to be looked at as one line.
func TestJSONLongLine(t *testing.T) {
	opt := all(Options{Format: "json", Cmds: []string{"X {k}"}})
	n := 3 * lineCheck / len(`{"k":1}`)
	got := collect(open(t, strings.NewReader(strings.Repeat(`{"k":1}`, n)+"x\n"+`{"k":1}`), opt))
	if good := len(got) - 2; good <= 2*n/3-2 || good >= n || !strings.HasPrefix(got[good].text, "refused: ") || got[good+1].text != "X|1" {
		t.Fatalf("got %d of %d good ones, then %+v", good, n, got[good:])
	}
}

func TestJSONNotes(t *testing.T) {
	var notes []string
	opt := all(Options{Format: "json", Key: "{k}", Note: func(pos parser.Pos, text string) {
		notes = append(notes, pos.String()+": "+text)
	}})
	collect(open(t, strings.NewReader("{\"k\":1}\n{\"k\":\n x,\n\n}"), opt))
	collect(open(t, strings.NewReader("{\"k\":1},\n{\"k\":2},\n]\n  \n]\n{\"k\":3}"), opt))
	if want := "<stdin>:3: lines passed over behind a bad one, as they do not begin with {: 2"; len(notes) != 1 || notes[0] != want {
		t.Errorf("got %q, want %q", notes, want)
	}
}

// TestJSONMemory holds that an array is not kept, however long it is.
func TestJSONMemory(t *testing.T) {
	r := io.MultiReader(strings.NewReader("[{\"k\":0}"), io.LimitReader(newRepeat(",{\"k\":1,\"v\":\"some text\"}"), 64<<20))
	s := open(t, r, all(Options{Format: "json", Cmds: []string{"X {k}"}}))
	var c parser.Command
	for s.Next(&c) == nil {
		if len(s.in.buf) > room+chunkSize {
			t.Fatalf("a buffer of %d bytes", len(s.in.buf))
		}
	}
	if s.n < 1<<20 {
		t.Errorf("ended behind %d records: %v", s.n, s.err)
	}
}
