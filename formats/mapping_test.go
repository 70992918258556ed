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
			want: []string{"HSET|u:1|name|Ann", "refused: no field has a value, so there is no hash"}},
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
		{"type without key", Options{Type: "hash"}, "need --key", ""},
		{"value without key", Options{Value: "{id}", Cmds: []string{"GET {id}"}}, "need --key", ""},
		{"fields without key", Options{Fields: []string{"id"}}, "need --key", ""},
		{"string without value", Options{Key: "{id}", Type: "string"}, "needs --value", ""},
		{"string with fields", Options{Key: "{id}", Type: "string", Value: "1", Fields: []string{"id"}}, "hashes", ""},
		{"broken value", Options{Key: "{id}", Type: "string", Value: "}"}, "--value: ", ""},
		{"hash with value", Options{Key: "{id}", Value: "1"}, "--type string", ""},
		{"unknown type", Options{Key: "{id}", Type: "list"}, `unknown --type "list"`, ""},
		{"refused command", Options{Cmds: []string{"MONITOR"}}, "--cmd: MONITOR", ""},
		{"broken command", Options{Cmds: []string{"GET \"{id}"}}, "--cmd: ", ""},
		{"unknown format", Options{Format: "xml"}, "auto, commands, resp, csv, lines", ""},
		{"commands with key", Options{Format: "resp", Key: "{id}"}, "holds commands", ""},
		{"delimiter", Options{Delimiter: '"'}, "--delimiter", ""},
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
