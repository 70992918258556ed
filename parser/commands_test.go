package parser

import (
	"reflect"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	table, err := parseCommands(commandsText)
	if err != nil {
		t.Fatal(err)
	}
	if len(table) < 240 {
		t.Errorf("%d commands", len(table))
	}
	for name, op := range table {
		if name != op.Name || len(name) > longestName || name != strings.ToUpper(name) {
			t.Errorf("%q stands under %q", op.Name, name)
		}
		for name, sub := range op.subs {
			if sub.Name != op.Name+" "+name || len(name) > longestName || sub.subs != nil {
				t.Errorf("%q stands under %q of %q", sub.Name, name, op.Name)
			}
		}
	}
}

func TestParseCommands(t *testing.T) {
	for _, tt := range []struct{ text, err string }{
		{"", ""},
		{"# remark\n\n", ""},
		{"A write keys=1\nA|B refused unsafe\n", ""},
		{"A", "no class"},
		{"A great", `unknown class "great"`},
		{"A write keys", "invalid syntax"},
		{"A write keys=0", "a place that cannot be"},
		{"A write keys=1..2", "a place that cannot be"},
		{"A write keys=1/0", "a place that cannot be"},
		{"A write keys=1/x", "invalid syntax"},
		{"A write keys=x:B+1", "invalid syntax"},
		{"A write keys=1,#", "invalid syntax"},
		{"A write timeout=x", "invalid syntax"},
		{"A write options=B:1,C:2", ""},
		{"A write options=B", "invalid syntax"},
		{"A write options=B:1,", "invalid syntax"},
		{"A write slow", "unknown attribute"},
		{"A write\nA write", "twice in the table"},
		{"A|B write", "subcommand before its container"},
	} {
		_, err := parseCommands(tt.text)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: error %v, want %q", tt.text, err, tt.err)
		}
	}
}

func TestParseKeySpec(t *testing.T) {
	for _, tt := range []struct {
		text string
		want KeySpec
	}{
		{"1", KeySpec{First: 1, Step: 1}},
		{"3?", KeySpec{First: 3, Step: 1, Filled: true}},
		{"2..-1", KeySpec{First: 2, Last: -1, Step: 1}},
		{"1..-1/2", KeySpec{First: 1, Last: -1, Step: 2}},
		{"#2", KeySpec{First: 2, Step: 1, Count: true}},
		{"#1/2", KeySpec{First: 1, Step: 2, Count: true}},
		{"4:STREAMS+1..half", KeySpec{Keyword: "STREAMS", From: 4, First: 1, Step: 1, Half: true}},
	} {
		if got, err := parseKeySpec(tt.text); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v, want %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestFind(t *testing.T) {
	var ops Ops // one for all, so that what it remembers is tested
	long := strings.Repeat("x", longestName+1)
	for _, tt := range []struct {
		args [][]byte
		want string
	}{
		{nil, ""},
		{list(""), ""},
		{list("", "k"), ""},
		{list("SET", "k", "v"), "SET"},
		{list("SET", "k", "v"), "SET"},
		{list("sEt", "k", "v"), "SET"},
		{list("SETX"), ""},
		{list("SE"), ""},
		{list("S\x00T"), ""},
		{list("SET "), ""},
		{list(long), ""},
		{list(long[1:]), ""},
		{list("CLIENT"), "CLIENT"},
		{list("CLIENT", "REPLY", "OFF"), "CLIENT REPLY"},
		{list("CLIENT", "reply", "OFF"), "CLIENT REPLY"},
		{list("CLIENT", "SETNAME", "n"), "CLIENT SETNAME"},
		{list("CLIENT", "NOSUCH"), "CLIENT"},
		{list("CLIENT", ""), "CLIENT"},
		{list("CLIENT", long), "CLIENT"},
		{list("CLIENT REPLY"), ""},
		{list("cluster", "count-failure-reports", "x"), "CLUSTER COUNT-FAILURE-REPORTS"},
		{list("GET", "REPLY"), "GET"},
	} {
		op := ops.Find(tt.args)
		if op.Name != tt.want || op.Known() != (tt.want != "") || (op == Unknown) != (tt.want == "") {
			t.Errorf("Find(%q) = %q, want %q", tt.args, op.Name, tt.want)
		}
	}
}

func TestFindAllocatesNothing(t *testing.T) {
	var ops Ops
	lines := [][][]byte{list("SET", "k"), list("nosuch"), list("client", "reply"), list("EXPIRE", "k"), list("XREAD", "BLOCK", "0", "STREAMS", "k", "0")}
	keys := make([][]byte, 0, 8)
	if n := testing.AllocsPerRun(100, func() {
		for _, args := range lines {
			op := ops.Find(args)
			op.Blocks(args)
			op.Repeatable(args)
			keys = op.AppendKeys(keys[:0], args)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFind(b *testing.B) {
	set, expire := list("SET", "k", "v"), list("expire", "k", "10")
	b.Run("same", func(b *testing.B) {
		var ops Ops
		for b.Loop() {
			ops.Find(set)
		}
	})
	b.Run("other", func(b *testing.B) {
		var ops Ops
		for b.Loop() {
			ops.Find(set)
			ops.Find(expire)
		}
	})
}
