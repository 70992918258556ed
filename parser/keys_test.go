package parser

import "testing"

func TestAppendKeys(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"PING", nil},
		{"FLUSHALL", nil},
		{"NOSUCH a b", nil},
		{"GET a", []string{"a"}},
		{"get a", []string{"a"}},
		{`SET "" v`, []string{""}},
		{"SET a v EX 10", []string{"a"}},
		{"HSET a f v", []string{"a"}},
		{"DEL a b c", []string{"a", "b", "c"}},
		{"MSET a 1 b 2", []string{"a", "b"}},
		{"MSETEX 2 a 1 b 2 EX 10", []string{"a", "b"}},
		{"RENAME a b", []string{"a", "b"}},
		{"COPY a b DB 1", []string{"a", "b"}},
		{"LCS a b LEN", []string{"a", "b"}},
		{"BLPOP a b 0", []string{"a", "b"}},
		{"LMPOP 2 a b LEFT", []string{"a", "b"}},
		{"BLMPOP 1 2 a b LEFT COUNT 3", []string{"a", "b"}},
		{"BITOP AND d a b", []string{"d", "a", "b"}},
		{"PFMERGE d a b", []string{"d", "a", "b"}},
		{"PFMERGE d", []string{"d"}},
		{"SINTERCARD 2 a b LIMIT 1", []string{"a", "b"}},
		{"ZUNIONSTORE d 2 a b WEIGHTS 1 2", []string{"d", "a", "b"}},
		{"ZRANGESTORE d a 0 -1", []string{"d", "a"}},
		{"SORT a BY w_* GET # store d", []string{"a", "d"}},
		{"SORT a", []string{"a"}},
		{"SORT a GET store", []string{"a"}},
		{"SORT a GET", []string{"a"}},
		{"SORT_RO a BY w", []string{"a"}},
		{"GEORADIUS a 1 2 3 km STORE d", []string{"a", "d"}},
		{"GEORADIUSBYMEMBER a m 3 km STOREDIST d", []string{"a", "d"}},
		{"GEOSEARCHSTORE d a FROMMEMBER m", []string{"d", "a"}},
		{"EVAL script 2 a b x y", []string{"a", "b"}},
		{"EVALSHA sha 0 x", nil},
		{"FCALL f 1 a x", []string{"a"}},
		{"XADD a * f v", []string{"a"}},
		{"XREAD COUNT 2 STREAMS a b 0 0", []string{"a", "b"}},
		{"XREADGROUP GROUP streams me STREAMS streams >", []string{"streams"}},
		{"XGROUP CREATE a g $", []string{"a"}},
		{"xinfo stream a", []string{"a"}},
		{"OBJECT ENCODING a", []string{"a"}},
		{"MEMORY USAGE a", []string{"a"}},
		{"MIGRATE h 1 a 0 5000", []string{"a"}},
		{`MIGRATE h 1 "" 0 5000 REPLACE KEYS a b`, []string{"a", "b"}},
		{"SPUBLISH a m", []string{"a"}},
		{"WATCH a b", []string{"a", "b"}},
		{"HEXPIRE a 10 FIELDS 1 f", []string{"a"}},
		{"VADD a VALUES 1 0.5 m", []string{"a"}},
		{"CLIENT SETNAME a", nil},

		// not well formed
		{"GET", nil},
		{"DEL", nil},
		{"MSET a", []string{"a"}},
		{"MSET a 1 b", []string{"a", "b"}},
		{"COPY a", []string{"a"}},
		{"BLPOP 0", nil},
		{"BLPOP", nil},
		{"BITOP AND", nil},
		{"ZUNIONSTORE d", []string{"d"}},
		{"ZUNIONSTORE d x a b", []string{"d"}},
		{"ZUNIONSTORE d 9 a b", []string{"d", "a", "b"}},
		{"ZUNIONSTORE d -1 a b", []string{"d"}},
		{"ZUNIONSTORE d 999999999999999999 a", []string{"d", "a"}},
		{"ZUNIONSTORE d 99999999999999999999 a", []string{"d"}},
		{"MSETEX 999999999999999999 a 1 b", []string{"a", "b"}},
		{"EVAL script 1", nil},
		{"EVAL script", nil},
		{"SORT a STORE", []string{"a"}},
		{"XREAD STREAMS", nil},
		{"XREAD STREAMS a", nil},
		{"XREAD STREAMS a b 0", []string{"a"}},
		{"XREAD", nil},
		{"XGROUP a", nil},
		{"XGROUP CREATE", nil},
		{"MIGRATE h 1", nil},
		{"", nil},
	} {
		op, args := findLine(t, tt.line)
		if got := op.AppendKeys(list("kept"), args); !sameArgs(got, append(list("kept"), list(tt.want...)...)) {
			t.Errorf("keys of %s: %q, want %q", tt.line, got[1:], tt.want)
		}
	}
}

// FuzzAppendKeys holds that any arguments give keys that are among them.
func FuzzAppendKeys(f *testing.F) {
	for _, line := range []string{"EVAL s 2 a b", "XREAD STREAMS a 0", "MIGRATE h 1 '' 0 1 KEYS a", "SORT a STORE", "BLMPOP 0 9 a", "MSETEX 1 a"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		args, _, err := SplitArgs(nil, nil, line)
		if err != nil {
			return
		}
		op := new(Ops).Find(args)
		op.Blocks(args)
		op.Repeatable(args)
		for _, key := range op.AppendKeys(nil, args) {
			if !isOneOf(key, args) {
				t.Fatalf("key %q is not a view into the arguments of %q", key, line)
			}
		}
	})
}

// isOneOf reports whether view is one of args: the same bytes in memory.
func isOneOf(view []byte, args [][]byte) bool {
	for _, arg := range args[1:] {
		if len(arg) == len(view) && (len(view) == 0 || &arg[0] == &view[0]) {
			return true
		}
	}
	return false
}
