package main

import (
	"strings"
	"testing"

	"respipe/parser"
)

func TestDescribe(t *testing.T) {
	const unknown = "ERR unknown command 'X', with args beginning with: 's3cret' 'b' "
	many := "MSET" + strings.Repeat(" k v", 5)
	long := strings.Repeat("x", 300)
	for _, row := range []struct{ words, command, want, withValues string }{
		{"WRONGTYPE bad", "HSET book:41 f v", "WRONGTYPE bad [HSET book:41]", "WRONGTYPE bad [HSET book:41 f v]"},
		{"ERR no", "hset k f v", "ERR no [HSET k]", "ERR no [hset k f v]"},
		{"ERR no", "MSET a 1 b 2", "ERR no [MSET a b]", "ERR no [MSET a 1 b 2]"},
		{"ERR no", many, "ERR no [MSET k k k and 2 keys more]", "ERR no [" + many + "]"},
		{"ERR no", "SET " + long + " v", "ERR no [SET " + long[:200] + "...]", "ERR no [SET " + long[:200] + "... v]"},
		{"ERR no", "PING hello", "ERR no [PING]", "ERR no [PING hello]"},
		{"ERR no", "", "ERR no", "ERR no"},
		{"ERR \x1b[0m", "SET a\x07 1", `ERR \x1b[0m [SET a\x07]`, `ERR \x1b[0m [SET a\x07 1]`},
		{unknown, "FROB k v", "ERR unknown command 'X', with args beginning with: ... [FROB]", strings.TrimSuffix(unknown, " ") + "  [FROB k v]"},
		{"WRONGPASS no", "AUTH s3cret", "WRONGPASS no [AUTH]", "WRONGPASS no [AUTH]"},
		{unknown, "auth s3cret", "ERR unknown command 'X', with args beginning with: ... [AUTH]", "ERR unknown command 'X', with args beginning with: ... [AUTH]"},
		{"ERR no", "CONFIG SET requirepass s3cret", "ERR no [CONFIG SET]", "ERR no [CONFIG SET]"},
	} {
		var args [][]byte
		for _, word := range strings.Fields(row.command) {
			args = append(args, []byte(word))
		}
		var command []byte
		if len(args) > 0 {
			command = parser.AppendCommand(nil, args)
		}
		for values, want := range map[bool]string{false: row.want, true: row.withValues} {
			d := describer{values: values}
			if got := d.failure([]byte(row.words), command); got != want {
				t.Errorf("%s (values %v):\n got %s\nwant %s", row.command, values, got, want)
			}
		}
	}
}

func TestClip(t *testing.T) {
	for _, row := range []struct {
		text string
		n    int
		want string
	}{{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc..."}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äöü..."}, {"a", 0, "..."}} {
		if got := clip(row.text, row.n); got != row.want {
			t.Errorf("%q to %d: %q", row.text, row.n, got)
		}
	}
}
