package parser

import (
	"bytes"
	"testing"
)

func TestParseCommand(t *testing.T) {
	for _, tt := range []struct{ line, op, err string }{
		{"SET user:{id} {name}", "SET", ""},
		{"set k v", "SET", ""},
		{"CLIENT SETNAME {id}", "CLIENT SETNAME", ""},
		{"client", "CLIENT", ""},
		{"EVAL 'return 1' {n} {id}", "EVAL", ""},
		{"EVAL 'return {{1}}' 0", "EVAL", ""},
		{"XADD s * {f} {v}", "XADD", ""},
		{"JSON.SET {id} . {v}", "", ""},
		{"GET{{ {id}", "", ""},
		{"WAIT 1 {ms}", "WAIT", ""},

		{"", "", "an empty command"},
		{" \t", "", "an empty command"},
		{"SET k 'v", "", `a quote is left open: "SET k 'v"`},
		{`SET k "v"{id}`, "", `text after a closing quote: "SET k \"v\"{id}"`},
		{"SET {a b}", "", `a brace is left open: "{a"`},
		{"SET k {}", "", `a placeholder without a name: "{}"`},
		{"{cmd} k", "", `what chooses the command must be literal: "{cmd}"`},
		{"H{cmd} k", "", `what chooses the command must be literal: "H{cmd}"`},
		{"CLIENT {sub} x", "", `what chooses the command must be literal: "{sub}"`},
		{"config {sub}", "", `what chooses the command must be literal: "{sub}"`},
		{"EVAL {script} 0", "", `what chooses the command must be literal: "{script}"`},
		{"evalsha {sha} 0", "", `what chooses the command must be literal: "{sha}"`},
		{"FCALL f{n} 0", "", `what chooses the command must be literal: "f{n}"`},
		{"SUBSCRIBE {id}", "", "SUBSCRIBE breaks one command, one reply"},
		{"client reply {x}", "", "CLIENT REPLY breaks one command, one reply"},
		{"quit", "", "QUIT breaks one command, one reply"},
	} {
		c, err := ParseCommand(tt.line, &Columns{})
		if err != nil {
			if err.Error() != tt.err {
				t.Errorf("%s: error %q, want %q", tt.line, err, tt.err)
			}
		} else if tt.err != "" || c.Op().Name != tt.op {
			t.Errorf("%s: %q, want %q and error %q", tt.line, c.Op().Name, tt.op, tt.err)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct {
		line string
		want [][]byte
	}{
		{"PING", list("PING")},
		{"SET k ''", list("SET", "k", "")},
		{"HSET user:{id} name {name} id {id}", list("HSET", "user:7", "name", "a 'b' \r\n{id}", "id", "7")},
		{"HSET {user:{id}}:profile name {name}", list("HSET", "{user:7}:profile", "name", "a 'b' \r\n{id}")},
		{`SET a{id}b "x {id} y"`, list("SET", "a7b", "x 7 y")},
		{`SET '{a b}' "{id}\n"`, list("SET", "blank", "7\n")},
		{"SET k{empty} {empty}", list("SET", "k", "")},
	} {
		cols := Columns{Names: []string{"id", "name", "a b", "empty", "null"}}
		vals := append(list("7", "a 'b' \r\n{id}", "blank", ""), nil)
		c, err := ParseCommand(tt.line, &cols)
		if err != nil {
			t.Fatal(err)
		}
		args, arena, missing := c.Expand(list("kept"), []byte("kept"), vals)
		if missing >= 0 || !sameArgs(args, append(list("kept"), tt.want...)) || !bytes.HasPrefix(arena, []byte("kept")) {
			t.Errorf("%s: %q, %q, %d, want %q", tt.line, args, arena, missing, tt.want)
		}
	}
}

func TestExpandMissing(t *testing.T) {
	var cols Columns
	vals := [][]byte{{'1'}, nil}
	for _, line := range []string{"SET {a} {b}", "SET k:{a} x{b}", "SET {b} {a}"} {
		cols.Names = []string{"a", "b"}
		c, err := ParseCommand(line, &cols)
		if err != nil {
			t.Fatal(err)
		}
		if args, arena, missing := c.Expand(list("kept"), []byte("kept"), vals); missing != 1 || len(args) != 1 || len(arena) != 4 {
			t.Errorf("%s: %q, %q, %d", line, args, arena, missing)
		}
	}
}

func TestExpandCopiesNoValue(t *testing.T) {
	var cols Columns
	c, err := ParseCommand("HSET user:{id} name {name} x:{id} {id}", &cols)
	if err != nil {
		t.Fatal(err)
	}
	vals := list("7", "alice")
	args, arena, _ := c.Expand(nil, nil, vals)
	if &args[3][0] != &vals[1][0] || &args[5][0] != &vals[0][0] {
		t.Error("a value was copied")
	}
	if n := testing.AllocsPerRun(100, func() { args, arena, _ = c.Expand(args[:0], arena[:0], vals) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if args[1] = append(args[1], "!!"...); string(args[4]) != "x:7" {
		t.Errorf("an argument grew into its neighbour: %q", args[4])
	}
}

func BenchmarkExpand(b *testing.B) {
	var cols Columns
	c, err := ParseCommand("HSET user:{id} name {name} age {age}", &cols)
	if err != nil {
		b.Fatal(err)
	}
	vals := list("1000042", "alice cooper", "33")
	var args [][]byte
	var arena []byte
	b.ReportAllocs()
	for b.Loop() {
		args, arena, _ = c.Expand(args[:0], arena[:0], vals)
	}
}
