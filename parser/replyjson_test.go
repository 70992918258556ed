package parser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendReplyJSON(t *testing.T) {
	for _, row := range []struct{ reply, want string }{
		{"+OK\r\n", `"OK"`},
		{"+\r\n", `""`},
		{"-ERR no \"x\"\r\n", `{"error":"ERR no \"x\""}`},
		{"-ERR \xff\r\n", `{"error":{"base64":"RVJSIP8="}}`},
		{":0\r\n", `0`},
		{":-9223372036854775808\r\n", `-9223372036854775808`},
		{"$0\r\n\r\n", `""`},
		{"$6\r\na\r\nb\"c\r\n", `"a\r\nb\"c"`},
		{"$2\r\n\xff\x00\r\n", `{"base64":"/wA="}`},
		{"$-1\r\n", `null`},
		{"*-1\r\n", `null`},
		{"*0\r\n", `[]`},
		{"*3\r\n:1\r\n$-1\r\n*1\r\n+a\r\n", `[1,null,["a"]]`},
		{"*2\r\n+OK\r\n-WRONGTYPE no\r\n", `["OK",{"error":"WRONGTYPE no"}]`},
		{"+OK\r\n+again\r\n", `"OK"`},

		{"_\r\n", `null`},
		{"#t\r\n", `true`},
		{"#f\r\n", `false`},
		{",1.50\r\n", `1.50`},
		{",1e-400\r\n", `1e-400`},
		{",inf\r\n", `"inf"`},
		{",-nan\r\n", `"-nan"`},
		{",.5\r\n", `".5"`},
		{"(3492890328409238509324850943850943825024385\r\n", `3492890328409238509324850943850943825024385`},
		{"!8\r\nERR a\r\nb\r\n", `{"error":"ERR a\r\nb"}`},
		{"=8\r\ntxt:a\nb\"\r\n", `"a\nb\""`},
		{"=2\r\ntx\r\n", `""`},
		{"~2\r\n+a\r\n:1\r\n", `["a",1]`},
		{">2\r\n+message\r\n+x\r\n", `["message","x"]`},
		{"%2\r\n+a\r\n:1\r\n:2\r\n*0\r\n", `[["a",1],[2,[]]]`},
		{"%0\r\n", `[]`},

		// no numbers of JSON
		{":+5\r\n", `"+5"`},
		{":007\r\n", `"007"`},
		{":\r\n", `""`},
		{":1 \r\n", `"1 "`},
		{":1\n2\r\n", `"1\n2"`},
		{":true\r\n", `"true"`},

		// cut
		{"", `{"cut":null}`},
		{"+", `{"cut":""}`},
		{"+O", `{"cut":"O"}`},
		{"+OK\r", `{"cut":"OK"}`},
		{"-ERR wro", `{"cut":{"error":"ERR wro"}}`},
		{":12", `{"cut":null}`},
		{",1.5\r", `{"cut":null}`},
		{"#t", `{"cut":null}`},
		{"$", `{"cut":null}`},
		{"$5\r\n", `{"cut":""}`},
		{"$5\r\nab", `{"cut":"ab"}`},
		{"$5\r\nabcde", `{"cut":"abcde"}`},
		{"$5\r\nabcde\r", `{"cut":"abcde"}`},
		{"$9\r\nna\xc3", `{"cut":"na"}`},
		{"$9\r\na\xf0\x9f\x9a", `{"cut":"a"}`},
		{"$9\r\na\xff", `{"cut":{"base64":"Yf8="}}`},
		{"$1\r\n\xc3", `{"cut":{"base64":"ww=="}}`},
		{"=9\r\nmk", `{"cut":""}`},
		{"!9\r\nERR", `{"cut":{"error":"ERR"}}`},
		{"*2\r\n", `{"cut":[]}`},
		{"*2\r\n:1\r\n", `{"cut":[1]}`},
		{"*2\r\n:1\r\n:2", `{"cut":[1]}`},
		{"*2\r\n:1\r\n*2\r\n$3\r\na", `{"cut":[1,["a"]]}`},
		{"%2\r\n+a\r\n:1\r\n+b\r\n", `{"cut":[["a",1],["b"]]}`},
		{"*999999999999999999\r\n", `{"cut":[]}`},
		{"$999999999999999999\r\na", `{"cut":"a"}`},

		// no reply
		{"HTTP/1.1 400 Bad Request\r\n\r\n", `{"cut":null}`},
		{"\r\n+OK\r\n", `{"cut":null}`},
		{"$x\r\n", `{"cut":null}`},
		{"$-2\r\n", `{"cut":null}`},
		{"*1x\r\n", `{"cut":null}`},
		{"*-2\r\n", `{"cut":null}`},
		{"$99999999999999999999\r\n", `{"cut":null}`},
		{"#x\r\n", `{"cut":null}`},
		{"*2\r\n+a\r\n?\r\n", `{"cut":["a"]}`},
		{"|1\r\n+a\r\n+b\r\n+OK\r\n", `{"cut":null}`},

		// depth
		{strings.Repeat("*1\r\n", maxDepth) + ":1\r\n", strings.Repeat("[", maxDepth) + "1" + strings.Repeat("]", maxDepth)},
		{strings.Repeat("*1\r\n", maxDepth+1) + ":1\r\n", `{"cut":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + "}"},
		{"*2\r\n:1\r\n" + strings.Repeat("*1\r\n", 1e6), `{"cut":[1,` + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + "]}"},
	} {
		if got := string(AppendReplyJSON([]byte("> "), []byte(row.reply))); got != "> "+row.want {
			t.Errorf("%.80q:\n got %s\nwant %s", row.reply, got, row.want)
		}
	}
}

// TestReplyCollected holds that the bytes of each reply can be collected from
// what ReplyScanner uses.
func TestReplyCollected(t *testing.T) {
	const stream = "+OK\r\n*3\r\n+a\r\n-ERR b\r\n-ERR c\r\n$3\r\na\r\n\r\n*1\r\n*1\r\n$-1\r\n:7\r\n"
	want := `"OK"|["a",{"error":"ERR b"},{"error":"ERR c"}]|"a\r\n"|[[null]]|7`
	for size := 1; size <= len(stream); size++ {
		var s ReplyScanner
		var found []string
		var reply []byte
		for rest := stream; rest != ""; {
			piece := []byte(rest[:min(size, len(rest))])
			rest = rest[len(piece):]
			for again := true; again; {
				n, event, err := s.Scan(piece)
				if err != nil {
					t.Fatal(err)
				}
				reply = append(reply, piece[:n]...)
				if piece = piece[n:]; event == Done {
					found = append(found, string(AppendReplyJSON(nil, reply)))
					reply = reply[:0]
				}
				again = event == Element || len(piece) > 0
			}
		}
		if got := strings.Join(found, "|"); got != want {
			t.Errorf("by %d: %s", size, got)
		}
	}
}

func TestAppendReplyJSONAllocates(t *testing.T) {
	replies := [][]byte{
		[]byte("+OK\r\n"), []byte(":12\r\n"), []byte("*2\r\n$3\r\na\x01b\r\n%1\r\n+k\r\n,1.5\r\n"),
		[]byte("*2\r\n$3\r\nab"), []byte("$1\r\n\xff\r\n"), []byte("-ERR no\r\n"),
	}
	dst := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		for _, reply := range replies {
			dst = AppendReplyJSON(dst[:0], reply)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzAppendReplyJSON holds that whatever comes becomes one JSON value that is
// safe to show; that a whole reply is whole in it, as ParseReply reads it; and
// that the beginning of one never looks whole.
func FuzzAppendReplyJSON(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n", "-ERR a\r\n", ":1\r\n", "$3\r\nab\xff\r\n", "*2\r\n$-1\r\n*1\r\n:5\r\n", "%1\r\n+a\r\n,1.5\r\n",
		"=5\r\ntxt:a\r\n", "*1\r\n*1\r\n", "$9\r\na\xf0\x9f", "#t\r\n", "_\r\n", "(12\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		got := AppendReplyJSON(nil, reply)
		if !json.Valid(got) || bytes.ContainsFunc(got, isHidden) {
			t.Fatalf("%q: %q", reply, got)
		}
		v, rest, err := ParseReply(reply)
		if err != nil {
			return
		}
		if want := plain(v); !reflect.DeepEqual(decoded(t, got), want) {
			t.Errorf("%q: %s, want %v", reply, got, want)
		}
		for cut := range len(reply) - len(rest) {
			got := AppendReplyJSON(nil, reply[:cut])
			if !json.Valid(got) || !bytes.HasPrefix(got, []byte(`{"cut":`)) {
				t.Fatalf("%q: %s", reply[:cut], got)
			}
		}
	})
}

// plain returns what the JSON of a reply must decode to.
func plain(v Value) any {
	switch {
	case v.Nil:
		return nil
	case v.Kind == '-':
		return map[string]any{"error": plain(Value{Kind: '+', Text: v.Text})}
	case v.Kind == '*':
		all := []any{}
		for _, elem := range v.Elems {
			all = append(all, plain(elem))
		}
		return all
	case !utf8.Valid(v.Text):
		var value any
		_ = json.Unmarshal(AppendJSONText(nil, v.Text), &value)
		return value
	case v.Kind == ':' && isJSONNumber(v.Text):
		return json.Number(v.Text)
	}
	return string(v.Text)
}

// decoded returns the value of a JSON text, with numbers as they stand.
func decoded(t *testing.T, text []byte) (value any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return value
}

// FuzzReplyRoundTrip: a value that is written as a reply comes back as JSON.
func FuzzReplyRoundTrip(f *testing.F) {
	f.Add([]byte("a3b\x00c\x01dxyz"))
	f.Add([]byte("faaifbf"))
	f.Add([]byte("gac\x02hb\x03"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := growth{data: data}
		reply, want := g.value(5)
		got := AppendReplyJSON(nil, reply)
		if value := decoded(t, got); !reflect.DeepEqual(value, want) {
			t.Errorf("%q: %s\n got %v\nwant %v", reply, got, value, want)
		}
	})
}

// growth grows a value out of bytes, and the reply that says it.
type growth struct{ data []byte }

func (g *growth) next() (c byte) {
	if len(g.data) > 0 {
		c, g.data = g.data[0], g.data[1:]
	}
	return c
}

func (g *growth) text() string {
	n := min(int(g.next()%20), len(g.data))
	text := strings.ToValidUTF8(string(g.data[:n]), "?")
	g.data = g.data[n:]
	return text
}

func (g *growth) value(depth int) (reply []byte, value any) {
	kinds := 9
	if depth == 0 {
		kinds = 6
	}
	switch kind := int(g.next()) % kinds; kind {
	case 0:
		return []byte("_\r\n"), nil
	case 1:
		text := strings.NewReplacer("\r", "", "\n", "").Replace(g.text())
		return []byte("+" + text + "\r\n"), text
	case 2:
		text := g.text()
		return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text), text
	case 3:
		number := strconv.Itoa(int(int8(g.next())) * int(g.next()))
		return []byte(":" + number + "\r\n"), json.Number(number)
	case 4:
		truth := g.next()%2 == 0
		return []byte("#" + strconv.FormatBool(truth)[:1] + "\r\n"), truth
	case 5:
		text := g.text()
		return fmt.Appendf(nil, "!%d\r\n%s\r\n", len(text), text), map[string]any{"error": text}
	case 8:
		key, name := g.value(depth - 1)
		elem, value := g.value(depth - 1)
		return append(append([]byte("%1\r\n"), key...), elem...), []any{[]any{name, value}}
	default:
		all := []any{}
		n := int(g.next() % 4)
		reply = fmt.Appendf(nil, "%c%d\r\n", "*~"[kind-6], n)
		for range n {
			elem, value := g.value(depth - 1)
			reply, all = append(reply, elem...), append(all, value)
		}
		return reply, all
	}
}

func BenchmarkAppendReplyJSON(b *testing.B) {
	reply := []byte("*5\r\n$7\r\nLee, An\r\n:12\r\n$-1\r\n$20\r\n" + strings.Repeat("ab", 10) + "\r\n$3\r\nn\xc3\xaf\r\n")
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	b.SetBytes(int64(len(reply)))
	for b.Loop() {
		dst = AppendReplyJSON(dst[:0], reply)
	}
}
