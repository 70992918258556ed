package formats

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestTypes(t *testing.T) {
	const csv = "id,n,x,y\n¶a,1,2.5,-7\n¶b,two,inf,\n"
	const json = `¶{"id":"a","tags":["r", "s t",3],"n":1.50, "at":{"x":[ 1 ]}}` + "\n" + `¶{"id":"b","tags":[],"n":null}` + "\n"
	const noTags, noX = "refused: no value for {tags...}", "refused: no value for {at.x[0]}"
	tests := []readTest{
		{name: "list", opt: Options{Key: "q", Type: "list", Value: "{id}:{n}"}, in: csv, want: []string{"RPUSH|q|a:1", "RPUSH|q|b:two"}},
		{name: "list of a spread", opt: Options{Key: "q:{id}", Type: "list", Value: "{tags...}"}, in: json, want: []string{"RPUSH|q:a|r|s t|3", noTags}},
		{name: "list of records", opt: Options{Key: "q", Type: "list"}, in: json,
			want: []string{`RPUSH|q|{"id":"a","tags":["r","s t",3],"n":1.50,"at":{"x":[1]}}`, `RPUSH|q|{"id":"b","tags":[],"n":null}`}},
		{name: "list of lines", opt: Options{Format: "lines", Key: "q", Type: "list"}, in: "¶a b\n", want: []string{"RPUSH|q|a b"}},
		{name: "list of CSV", opt: Options{Key: "q", Type: "list"}, in: "¶id\n1\n", want: []string{"broken: --type list needs --value"}},
		{name: "set", opt: Options{Key: "s:{n}", Type: "set", Member: "{id}"}, in: csv, want: []string{"SADD|s:1|a", "SADD|s:two|b"}},
		{name: "set of a spread", opt: Options{Key: "s:{id}", Type: "set", Member: "{tags...}"}, in: json, want: []string{"SADD|s:a|r|s t|3", noTags}},
		{name: "sorted set", opt: Options{Key: "z", Type: "zset", Member: "{id}", Score: "{n}"}, in: csv, want: []string{"ZADD|z|1|a", "refused: --score is no number"}},
		{name: "sorted set, infinite", opt: Options{Key: "z", Type: "zset", Member: "{id}", Score: "{x}"}, in: csv, want: []string{"ZADD|z|2.5|a", "refused: --score is no number"}},
		{name: "sorted set of JSON", opt: Options{Key: "z", Type: "zset", Member: "{id}", Score: "{n}"}, in: json, want: []string{"ZADD|z|1.50|a", "refused: no value for {n}"}},
		{name: "stream", opt: Options{Key: "log", Type: "stream", Fields: []string{"n", "id"}}, in: csv, want: []string{"XADD|log|*|n|1|id|a", "XADD|log|*|n|two|id|b"}},
		{name: "stream of JSON", opt: Options{Key: "log", Type: "stream", Exclude: []string{"tags", "at"}}, in: json, want: []string{"XADD|log|*|id|a|n|1.50", "XADD|log|*|id|b"}},
		{name: "place", opt: Options{Key: "geo", Type: "geo", Member: "{id}", Lon: "{x}", Lat: "{y}"}, in: csv, want: []string{"GEOADD|geo|2.5|-7|a", "refused: --lon is no number"}},
		{name: "place of JSON", opt: Options{Key: "geo", Type: "geo", Member: "{id}", Lon: "{at.x[0]}", Lat: "0"}, in: json, want: []string{"GEOADD|geo|1|0|a", noX}},
		{name: "document of JSON", opt: Options{Key: "d:{id}", Type: "json"}, in: json,
			want: []string{`JSON.SET|d:a|$|{"id":"a","tags":["r","s t",3],"n":1.50,"at":{"x":[1]}}`, `JSON.SET|d:b|$|{"id":"b","tags":[],"n":null}`}},
		{name: "document with fields", opt: Options{Key: "d:{id}", Type: "json", Fields: []string{"n", "id", "at.x", "x y"}, Rename: []string{"at.x=\""}}, in: json,
			want: []string{`JSON.SET|d:a|$|{"n":1.50,"id":"a","\"":[1]}`, `JSON.SET|d:b|$|{"n":null,"id":"b"}`}},
		{name: "document without fields", opt: Options{Key: "d:{id}", Type: "json", Exclude: []string{"tags", "at"}, Rename: []string{"n=m"}}, in: json,
			want: []string{`JSON.SET|d:a|$|{"id":"a","m":1.50}`, `JSON.SET|d:b|$|{"id":"b","m":null}`}},
		{name: "document of CSV", opt: Options{Key: "d:{id}", Type: "json"}, in: "id,n\n¶a,\"\"\"\n\"\n¶\xE9,1\n",
			want: []string{`JSON.SET|d:a|$|{"id":"a","n":"\"\n"}`, "refused: not UTF-8, as JSON must be"}},
		{name: "document of lines", opt: Options{Format: "lines", Key: "d:{@line}", Type: "json"}, in: "¶{ }\n", want: []string{"JSON.SET|d:1|$|{ }"}},
		{name: "document of nothing", opt: Options{Key: "d:{id}", Type: "json", Fields: []string{"x"}}, in: json, want: []string{"refused: no field has a value", "refused: no field has a value"}},
		{name: "string of JSON", opt: Options{Key: "d:{id}", Type: "string"}, in: "¶{ \"id\" : 1 }\n", want: []string{`SET|d:1|{"id":1}`}},
		{name: "raw", opt: Options{Key: "d:{id}", Type: "string", Value: "{@raw}"}, in: "¶{ \"id\" : 1 }\n", want: []string{`SET|d:1|{ "id" : 1 }`}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}

func TestSelection(t *testing.T) {
	const csv = "id,name,city\n¶1,Ann,Oslo\n"
	const json = `¶{"id":1,"name":"Ann","city":null}¶{"id":2,"n":"x","name":"y"}` + "\n"
	tests := []readTest{
		{name: "rename", opt: Options{Key: "u:{id}", Rename: []string{"name=n", "city=c=d"}}, in: csv, want: []string{"HSET|u:1|id|1|n|Ann|c=d|Oslo"}},
		{name: "rename fields", opt: Options{Key: "u:{id}", Fields: []string{"name", "id"}, Rename: []string{"id=nr"}}, in: csv, want: []string{"HSET|u:1|name|Ann|nr|1"}},
		{name: "rename in turn", opt: Options{Key: "u:{id}", Rename: []string{"name=city", "city=name"}}, in: csv, want: []string{"HSET|u:1|id|1|city|Ann|name|Oslo"}},
		{name: "exclude", opt: Options{Key: "u:{id}", Exclude: []string{"id", "city"}}, in: csv, want: []string{"HSET|u:1|name|Ann"}},
		{name: "exclude and take the name", opt: Options{Key: "u:{id}", Exclude: []string{"id"}, Rename: []string{"name=id"}}, in: csv, want: []string{"HSET|u:1|id|Ann|city|Oslo"}},
		{name: "exclude a column that is there twice", opt: Options{Key: "u:{id}", Exclude: []string{"a"}}, in: "id,a,a\n¶1,2,3\n", want: []string{"HSET|u:1|id|1"}},
		{name: "exclude all", opt: Options{Key: "u:{id}", Exclude: []string{"id", "name", "city"}}, in: csv, want: []string{"refused: no field has a value"}},
		{name: "exclude members", opt: Options{Key: "u:{id}", Exclude: []string{"id", "z"}}, in: json, want: []string{"HSET|u:1|name|Ann", "HSET|u:2|n|x|name|y"}},
		{name: "rename members", opt: Options{Key: "u:{id}", Rename: []string{"name=n"}}, in: json, want: []string{"HSET|u:1|id|1|n|Ann", `refused: two fields would be called "n"`}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}

func TestMissing(t *testing.T) {
	null := "-"
	const in = "k,a,b\n1,-,x\n-,y,-\n3,z,w\n"
	const json = `{"k":1,"a":[],"b":"x"}{"a":["y"]}{"k":3,"a":["z"],"b":"w"}`
	for _, tt := range []struct {
		name, in string
		opt      Options
		want     string // outcomes with their numbers
	}{
		{"reject", in, Options{Missing: "reject", Cmds: []string{"X {k}", "Y {a}"}}, "1 refused: no value for {a}; 2 refused: no value for {k}; 3 X|3; 3 Y|z"},
		{"skip commands", in, Options{Missing: "skip", Cmds: []string{"X {k}", "Y {a}", "Z"}}, "1 X|1; 1 Z; 2 Y|y; 2 Z; 3 X|3; 3 Y|z; 3 Z"},
		{"skip records", in, Options{Missing: "skip", Cmds: []string{"X {k} {a}"}}, "3 X|3|z"},
		{"empty commands", in, Options{Missing: "empty", Cmds: []string{"X {k}:{a}"}}, "1 X|1:; 2 X|:y; 3 X|3:z"},
		{"skip a string", in, Options{Missing: "skip", Key: "{k}", Type: "string", Value: "{a}"}, "3 SET|3|z"},
		{"skip a hash", in, Options{Missing: "skip", Key: "{k}", Fields: []string{"a"}}, "3 HSET|3|a|z"},
		{"skip an expiry", in, Options{Missing: "skip", Key: "c{@line}", Fields: []string{"k"}, TTL: "{a}"}, "1 HSET|c2|k|1; 3 refused: --ttl is no whole number of seconds"},
		{"skip nothing that is bad", in, Options{Missing: "skip", Key: "z", Type: "zset", Score: "{k}", Member: "{b}"}, "1 ZADD|z|1|x; 3 ZADD|z|3|w"},
		{"empty fields", in, Options{Missing: "empty", Key: "u:{@line}"}, "1 HSET|u:2|k|1|a||b|x; 2 HSET|u:3|k||a|y|b|; 3 HSET|u:4|k|3|a|z|b|w"},
		{"empty named fields", in, Options{Missing: "empty", Key: "{b}", Fields: []string{"a"}}, "1 HSET|x|a|; 2 refused: {b} is empty, so the key would lack it; 3 HSET|w|a|z"},
		{"empty spread", json, Options{Missing: "empty", Cmds: []string{"X {a...} {b}"}}, "1 X||x; 2 X|y|; 3 X|z|w"},
		{"skip a spread", json, Options{Missing: "skip", Cmds: []string{"X {a...}", "Y {k}"}}, "1 Y|1; 2 X|y; 3 X|z; 3 Y|3"},
		{"empty document", json, Options{Missing: "empty", Key: "{@line}:{@record}", Type: "json", Fields: []string{"k", "b"}},
			`1 JSON.SET|1:1|$|{"k":1,"b":"x"}; 2 JSON.SET|1:2|$|{"k":"","b":""}; 3 JSON.SET|1:3|$|{"k":3,"b":"w"}`},
		{"all skipped", in, Options{Missing: "skip", Cmds: []string{"X {k} {a} {b}"}, Limit: 2}, ""},
		{"limit counts those skipped", in, Options{Missing: "skip", Cmds: []string{"X {k}"}, Limit: 2}, "1 X|1"},
	} {
		tt.opt.Null = &null
		if tt.opt.Limit == 0 {
			tt.opt.Limit = -1
		}
		var got []string
		for _, o := range collect(open(t, strings.NewReader(tt.in), tt.opt)) {
			got = append(got, fmt.Sprint(o.n, " ", o.text))
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s: got\n\t%s, want\n\t%s", tt.name, text, tt.want)
		}
	}
}

func TestExpiry(t *testing.T) {
	const in = "id,s\n¶a,60\n¶b,0\n¶c,1.5\n¶d,-1\n¶e,\n"
	none, gone := "refused: --%s is no whole number of seconds", "refused: --%s is not above 0, so the key would be gone at once"
	refused := func(option string) []string {
		return []string{fmt.Sprintf(gone, option), fmt.Sprintf(none, option), fmt.Sprintf(gone, option), fmt.Sprintf(none, option)}
	}
	tests := []readTest{
		{name: "string", opt: Options{Key: "{id}", Type: "string", Value: "v", TTL: "{s}"}, in: in, want: append([]string{"SET|a|v|EX|60"}, refused("ttl")...)},
		{name: "string at", opt: Options{Key: "{id}", Type: "string", Value: "v", ExpireAt: "{s}"}, in: in, want: append([]string{"SET|a|v|EXAT|60"}, refused("expire-at")...)},
		{name: "string for a time", opt: Options{Key: "{id}", Type: "string", Value: "v", TTL: "90"}, in: "id\n¶a\n", want: []string{"SET|a|v|EX|90"}},
	}
	for i := range tests {
		tests[i].run(t)
	}
	for _, tt := range []struct {
		opt  Options
		want string
	}{
		{Options{Key: "{id}", TTL: "{s}"}, "HSET|a|id|a|s|60 EXPIRE|a|60"},
		{Options{Key: "{id}", ExpireAt: "1999999999"}, "HSET|a|id|a|s|60 EXPIREAT|a|1999999999"},
		{Options{Key: "{id}", Type: "json", TTL: "{s}0"}, `JSON.SET|a|$|{"id":"a","s":"60"} EXPIRE|a|600`},
		{Options{Key: "l", Type: "list", Value: "{s}", TTL: "5", Replace: true}, "DEL|l RPUSH|l|60 EXPIRE|l|5"},
	} {
		if got := records(collect(open(t, strings.NewReader("id,s\na,60\n"), all(tt.opt)))); len(got) != 1 || got[0].text != tt.want {
			t.Errorf("%+v: got %+v, want %s", tt.opt, got, tt.want)
		}
	}
}

// FuzzSeconds: seconds are what Go writes for an integer, within bounds.
func FuzzSeconds(f *testing.F) {
	for _, s := range []string{"1", "0", "-1", "-0", "00", "+1", "1.0", "", "9000000000000000", "9000000000000001", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := strconv.ParseInt(s, 10, 64)
		isInteger := err == nil && strconv.FormatInt(n, 10) == s
		switch err := checkSeconds([]byte(s)); {
		case err == nil && !(isInteger && 0 < n && n <= longestTTL), err != nil && isInteger && 0 < n && n <= longestTTL:
			t.Fatalf("%q: %v", s, err)
		case isInteger && n <= 0 && !errors.Is(err, errGone):
			t.Fatalf("%q: %v", s, err)
		}
	})
}

// FuzzNumber: what counts as a number, ParseFloat has as a finite one.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "-1.5e-7", ".5", "+3", "", "-", "inf", "nan", "0x1p3", "1_000", "1e999", " 1", "1,5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := strconv.ParseFloat(s, 64)
		want := err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) && !strings.ContainsAny(s, "xX_")
		if got := isNumber([]byte(s)); got != want {
			t.Fatalf("%q: %v, want %v", s, got, want)
		}
	})
}
