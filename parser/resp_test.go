package parser

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestAppendCommand(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"PING"}, "*1\r\n$4\r\nPING\r\n"},
		{[]string{"SET", "k", ""}, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"},
		{[]string{"SET", "a\r\nb", "\x00\xff"}, "*3\r\n$3\r\nSET\r\n$4\r\na\r\nb\r\n$2\r\n\x00\xff\r\n"},
		{strings.Fields(strings.Repeat("x ", 12)), "*12\r\n" + strings.Repeat("$1\r\nx\r\n", 12)},
		{[]string{"S", strings.Repeat("v", 99)}, "*2\r\n$1\r\nS\r\n$99\r\n" + strings.Repeat("v", 99) + "\r\n"},
		{[]string{"S", strings.Repeat("v", 100)}, "*2\r\n$1\r\nS\r\n$100\r\n" + strings.Repeat("v", 100) + "\r\n"},
		{[]string{"S", strings.Repeat("v", 70_000)}, "*2\r\n$1\r\nS\r\n$70000\r\n" + strings.Repeat("v", 70_000) + "\r\n"},
	} {
		args := toBytes(test.args)
		got := AppendCommand([]byte("before"), args)
		if string(got) != "before"+test.want {
			t.Errorf("%.60q: %.60q, want %.60q", test.args, got, test.want)
		}
		if size := CommandSize(args); size < len(test.want) {
			t.Errorf("%.60q: CommandSize says %d, it takes %d", test.args, size, len(test.want))
		}
		if back := ParseRequest([]byte(test.want), nil); !slices.EqualFunc(back, args, bytes.Equal) {
			t.Errorf("%.60q: read back as %.60q", test.args, back)
		}
	}
}

func TestParseRequestMalformed(t *testing.T) {
	for _, test := range []struct {
		resp string
		want int // arguments that can be made out
	}{
		{"", 0},
		{"*", 0},
		{"*\r\n", 0},
		{"*-1\r\n", 0},
		{"*2\r\n", 0},
		{"*2x\r\n$1\r\na\r\n", 0},
		{"*2\r\n$1\r\na\r\n", 1},
		{"*2\r\n$1\r\na\r\n$5\r\nab", 1},
		{"*2\r\n$1\r\na\r\n$-1\r\n", 1},
		{"*1\r\n$99999999999999999999\r\na\r\n", 0},
		{"$3\r\nabc\r\n", 0},
	} {
		if got := ParseRequest([]byte(test.resp), nil); len(got) != test.want {
			t.Errorf("%q: %q, want %d arguments", test.resp, got, test.want)
		}
	}
}

func FuzzAppendCommand(f *testing.F) {
	f.Add("SET", "key", "value")
	f.Add("", "\r\n", "$3\r\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		args := toBytes([]string{a, b, c})
		resp := AppendCommand(nil, args)
		if back := ParseRequest(resp, nil); !slices.EqualFunc(back, args, bytes.Equal) {
			t.Errorf("%q became %q", args, back)
		}
		if len(resp) > CommandSize(args) {
			t.Errorf("%q takes %d bytes, CommandSize says %d", args, len(resp), CommandSize(args))
		}
		var s ReplyScanner // a command has the shape of a reply
		if n, ev, err := s.Scan(resp); n != len(resp) || ev != Done || err != nil {
			t.Errorf("%q: scanned %d of %d bytes, %v, %v", resp, n, len(resp), ev, err)
		}
	})
}

func toBytes(words []string) (args [][]byte) {
	for _, w := range words {
		args = append(args, []byte(w))
	}
	return args
}

func BenchmarkAppendCommand(b *testing.B) {
	args := toBytes([]string{"SET", "key:000000123", "value-000123"})
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendCommand(buf[:0], args)
	}
}

func ExampleAppendCommand() {
	fmt.Printf("%q\n", AppendCommand(nil, [][]byte{[]byte("GET"), []byte("user:7")}))
	// Output: "*2\r\n$3\r\nGET\r\n$6\r\nuser:7\r\n"
}
