package formats

import (
	"errors"
	"strings"
	"testing"
)

func TestMapping(t *testing.T) {
	const in = "id,name,city\n¶1,Ann,Oslo\n¶2,NULL,\n"
	null := "NULL"
	key := Options{Key: "u:{id}"}
	tests := []readTest{
		{name: "hash", opt: key, in: in, want: []string{"HSET|u:1|id|1|name|Ann|city|Oslo", "HSET|u:2|id|2|name|NULL|city|"}},
		{name: "hash without nulls", opt: Options{Key: "u:{id}", Type: "hash", Null: &null}, in: in,
			want: []string{"HSET|u:1|id|1|name|Ann|city|Oslo", "HSET|u:2|id|2|city|"}},
		{name: "fields", opt: Options{Key: "u:{id}", Fields: []string{"city", "name"}}, in: in,
			want: []string{"HSET|u:1|city|Oslo|name|Ann", "HSET|u:2|city||name|NULL"}},
		{name: "field without name", opt: Options{Key: "u:{id}", Fields: []string{""}}, in: "id,\n¶1,x\n", want: []string{"HSET|u:1||x"}},
		{name: "no field left", opt: Options{Key: "u:{id}", Fields: []string{"name"}, Null: &null}, in: in,
			want: []string{"HSET|u:1|name|Ann", "refused: no field has a value"}},
		{name: "string", opt: Options{Key: "{name}", Type: "string", Value: "{id}/{city}"}, in: in,
			want: []string{"SET|Ann|1/Oslo", "SET|NULL|2/"}},
		{name: "empty key", opt: Options{Key: "{city}:{id}", Fields: []string{"id"}}, in: in,
			want: []string{"HSET|Oslo:1|id|1", "refused: {city} is empty, so the key would lack it"}},
		{name: "null in the key", opt: Options{Key: "{name}", Fields: []string{"id"}, Null: &null}, in: in,
			want: []string{"HSET|Ann|id|1", "refused: no value for {name}"}},
		{name: "null in the value", opt: Options{Key: "{id}", Type: "string", Value: "{name}", Null: &null}, in: in,
			want: []string{"SET|1|Ann", "refused: no value for {name}"}},
		{name: "specials", opt: Options{Cmds: []string{"X {@record} {@line} f={@file} {@raw} {id}"}}, in: in,
			want: []string{"X|1|2|f=<stdin>|1,Ann,Oslo|1", "X|2|3|f=<stdin>|2,NULL,|2"}},
		{name: "lines", opt: Options{Format: "lines", Key: "k:{text}"}, in: "¶a b\r\n\n¶\"c\n\r\n",
			want: []string{"HSET|k:a b|text|a b", "HSET|k:\"c|text|\"c"}},
		{name: "line too long", opt: Options{Format: "lines", MaxRecord: 3, Cmds: []string{"DEL {text}"}}, in: "¶abc\n¶abcd\n¶d",
			want: []string{"DEL|abc", "refused: longer than --max-record allows", "DEL|d"}},
		{name: "no such column in lines", opt: Options{Format: "lines", Cmds: []string{"DEL {id}"}}, in: "¶abc\n",
			want: []string{`broken: there is no column "id"; there are "text"`}},
		{name: "blocking command", opt: Options{Cmds: []string{"BLPOP {id} {name}"}}, in: "id,name\n¶a,0\n¶b,1\n",
			want: []string{"refused: BLPOP without a timeout may wait for ever, it cannot be piped", "BLPOP|b|1"}},
		{name: "hash of columns twice", opt: key, in: "¶id,a,a\n1,2,3\n",
			want: []string{`broken: a hash cannot have the field "a": the column has no name, or one that is there twice`}},
		{name: "hash of a column without name", opt: key, in: "¶id,\n1,2\n",
			want: []string{`broken: a hash cannot have the field "": the column has no name, or one that is there twice`}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}

// TestMappingSeveral holds that a record is expanded whole or not at all.
func TestMappingSeveral(t *testing.T) {
	null := "-"
	opt := all(Options{Null: &null, Cmds: []string{"SET {id} {v}", "SADD ids {id}", "WAIT {w} 1"}})
	got := collect(open(t, strings.NewReader("id,v,w\n1,a,1\n"), opt))
	if len(got) != 1 || !strings.HasPrefix(got[0].text, "refused: WAIT") {
		t.Fatalf("a command that is refused: got %+v", got)
	}
	opt.Cmds = []string{"MULTI", "SET {id} {v}", `HSET h "" {w}`, "WAIT 1 1", "EXEC"}
	got = collect(open(t, strings.NewReader("id,v,w\n1,a,-\n2,b,c\n"), opt))
	want := []string{"refused: no value for {w}", "MULTI", "SET|2|b", "HSET|h||c", "WAIT|1|1", "EXEC"}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %q", got, want)
	}
	for i, g := range got {
		last := i == 0 || i == len(got)-1
		if g.text != want[i] || g.last != last || g.n != int64(min(i+1, 2)) || g.pos.Line != min(i+2, 3) {
			t.Errorf("outcome %d is %+v, want %q", i, g, want[i])
		}
	}
}

func TestUsage(t *testing.T) {
	tests := []struct {
		name      string
		opt       Options
		msg, hint string
	}{
		{"key and cmd", Options{Key: "{id}", Cmds: []string{"GET {id}"}}, "do not go together", ""},
		{"key without placeholder", Options{Key: "client.key"}, "no placeholder", "--tls-key"},
		{"broken key", Options{Key: "{id"}, "--key: ", ""},
		{"type without key", Options{Type: "hash"}, "--type needs --key", ""},
		{"value without key", Options{Value: "{id}", Cmds: []string{"GET {id}"}}, "--value needs --key", ""},
		{"fields without key", Options{Fields: []string{"id"}}, "--fields needs --key", ""},
		{"rename without key", Options{Rename: []string{"a=b"}}, "--rename needs --key", ""},
		{"ttl without key", Options{TTL: "1", Cmds: []string{"GET {id}"}}, "--ttl needs --key", ""},
		{"replace without key", Options{Replace: true, Cmds: []string{"GET {id}"}}, "--replace needs --key", ""},
		{"missing without key", Options{Missing: "skip"}, "--missing needs --key or --cmd", ""},
		{"unknown missing", Options{Missing: "drop", Key: "{id}"}, `unknown --missing "drop", there are reject, empty and skip`, ""},
		{"key of a list", Options{Key: "{ids...}"}, "--key is one argument", ""},
		{"unknown type", Options{Key: "{id}", Type: "bag"}, `unknown --type "bag", there are hash, string, list, set, zset, stream, geo, json`, ""},
		{"broken value", Options{Key: "{id}", Type: "string", Value: "}"}, "--value: ", ""},
		{"value of a list", Options{Key: "{id}", Type: "string", Value: "{v...}"}, "--value is one argument", ""},
		{"string with fields", Options{Key: "{id}", Type: "string", Value: "1", Fields: []string{"id"}}, "nothing to --type string", "hashes"},
		{"hash with value", Options{Key: "{id}", Value: "1"}, "--value is nothing to --type hash", "it goes with --type string, list"},
		{"hash with score", Options{Key: "{id}", Score: "1"}, "--score is nothing to --type hash", "it goes with --type zset"},
		{"set with value", Options{Key: "{id}", Type: "set", Member: "1", Value: "1"}, "--value is nothing", ""},
		{"set without member", Options{Key: "{id}", Type: "set"}, "--type set needs --member", ""},
		{"sorted set without score", Options{Key: "{id}", Type: "zset", Member: "1"}, "--type zset needs --score", ""},
		{"sorted set of a list", Options{Key: "{id}", Type: "zset", Member: "{m...}", Score: "1"}, "--member is one argument", ""},
		{"place without lat", Options{Key: "{id}", Type: "geo", Member: "1", Lon: "1"}, "--type geo needs --lat", ""},
		{"document in one key", Options{Key: "k", Type: "json"}, "no placeholder", ""},
		{"fields and exclude", Options{Key: "{id}", Fields: []string{"a"}, Exclude: []string{"b"}}, "do not go together", ""},
		{"spread as a field", Options{Key: "{id}", Fields: []string{"a..."}}, `"a..." is no column`, ""},
		{"special in a document", Options{Key: "{id}", Type: "json", Fields: []string{"@line"}}, `"@line" is no column`, ""},
		{"rename to nothing", Options{Key: "{id}", Rename: []string{"a="}}, `--rename "a=" is not as old=new`, ""},
		{"rename of nothing", Options{Key: "{id}", Rename: []string{"a"}}, `--rename "a" is not as old=new`, ""},
		{"rename of no field", Options{Key: "{id}", Fields: []string{"a"}, Rename: []string{"b=c"}}, `"b" is none of the fields`, ""},
		{"rename to another", Options{Key: "{id}", Fields: []string{"a", "b"}, Rename: []string{"a=b"}}, `both "a" and "b"`, ""},
		{"ttl and expire-at", Options{Key: "{id}", TTL: "1", ExpireAt: "1"}, "do not go together", ""},
		{"no ttl", Options{Key: "{id}", TTL: "0"}, `--ttl "0" is not above 0`, ""},
		{"ttl as a time", Options{Key: "{id}", TTL: "1h"}, `--ttl "1h" is no whole number of seconds`, ""},
		{"broken ttl", Options{Key: "{id}", TTL: "{"}, "--ttl: ", ""},
		{"broken expire-at", Options{Key: "{id}", ExpireAt: "{t...}"}, "--expire-at is one argument", ""},
		{"string with replace", Options{Key: "{id}", Type: "string", Replace: true}, "--replace is nothing to --type string", ""},
		{"refused command", Options{Cmds: []string{"MONITOR"}}, "--cmd: MONITOR", ""},
		{"broken command", Options{Cmds: []string{"GET \"{id}"}}, "--cmd: ", ""},
		{"unknown format", Options{Format: "xml"}, "there are auto, commands, resp", ""},
		{"commands with key", Options{Format: "resp", Key: "{id}"}, "holds commands", ""},
		{"delimiter", Options{Delimiter: "\""}, "--delimiter", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(nil, tt.opt)
			usage, ok := errors.AsType[*UsageError](err)
			if !ok {
				t.Fatalf("got %v, want a usage error", err)
			}
			if !strings.Contains(usage.Msg, tt.msg) || !strings.Contains(usage.Hint, tt.hint) {
				t.Errorf("got %q, hint %q; want %q, hint %q", usage.Msg, usage.Hint, tt.msg, tt.hint)
			}
		})
	}
}
