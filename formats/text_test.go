package formats

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []readTest{
		{name: "LF", in: "¶SET a 1\n¶SET b 2\n", want: []string{"SET|a|1", "SET|b|2"}},
		{name: "CRLF", in: "¶SET a 1\r\n¶SET b \"2\"\r\n", want: []string{"SET|a|1", "SET|b|2"}},
		{name: "no newline at the end", in: "¶SET a 1\n¶PING", want: []string{"SET|a|1", "PING"}},
		{name: "CR at the end", in: "¶SET a 1\r", want: []string{"SET|a|1"}},
		{name: "byte order mark", in: "\xEF\xBB\xBF¶SET a 1\n", want: []string{"SET|a|1"}},
		{name: "blank lines", in: "\n \t\r\n\n¶PING\n\n", want: []string{"PING"}},
		{name: "remarks", in: "# a\n  # b \"\n¶SET # c\n", want: []string{"SET|#|c"}},
		{name: "quotes", in: `¶SET "a b" 'c\'d'` + "\n", want: []string{"SET|a b|c'd"}},
		{name: "star", in: "¶*x y\n¶*\n¶*", want: []string{"*x|y", "*", "*"}},
		{name: "RESP among lines", in: "¶SELECT 2\n¶*1\r\n$4\r\nPING\r\n¶SET a 1\n",
			want: []string{"SELECT|2", "PING", "SET|a|1"}},
		{name: "empty", in: "", want: nil},

		{name: "open quote", in: "¶SET a \"1\n¶SET b 2\n", want: []string{"refused: a quote is left open", "SET|b|2"}},
		{name: "text after a quote", in: "¶SET a \"1\"2\n¶PING\n",
			want: []string{"refused: text after a closing quote", "PING"}},
		{name: "open quote at the end", in: "¶PING\n¶SET 'a", want: []string{"PING", "refused: a quote is left open"}},
		{name: "too long", opt: Options{MaxRecord: 50}, in: "¶SET a " + long + "\n¶PING\n",
			want: []string{"refused: longer than --max-record allows", "PING"}},
		{name: "too long at the end", opt: Options{MaxRecord: 50}, in: "¶PING\n¶SET a " + long,
			want: []string{"PING", "refused: longer than --max-record allows"}},
		{name: "as long as may be", opt: Options{MaxRecord: 7}, in: "¶SET a 1\n¶SET a 2",
			want: []string{"SET|a|1", "SET|a|2"}},
		{name: "unsafe behind an open quote", in: "¶FLUSHALL\n¶SET a \"1\n¶FLUSHALL\n¶GET a\n", want: []string{
			"FLUSHALL",
			"refused: a quote is left open",
			"refused: FLUSHALL is refused because line 2 left a quote open: this may be the rest of a value",
			"GET|a"}},
		{name: "refused", in: "¶MONITOR\n¶subscribe c\n¶CLIENT REPLY OFF\n¶QUIT\n¶PING\n", want: []string{
			"refused: MONITOR never ends its replies, it cannot be piped",
			"refused: SUBSCRIBE does not answer with one reply, it cannot be piped",
			"refused: CLIENT REPLY switches replies off, it cannot be piped",
			"refused: QUIT closes the connection, it cannot be piped",
			"PING"}},
		{name: "blocking outside of MULTI", in: "¶BLPOP l 0\n¶BLPOP l 1\n¶MULTI\n¶BLPOP l 0\n¶WAIT 1 0\n¶EXEC\n¶WAIT 1 0\n",
			want: []string{
				"refused: BLPOP without a timeout may wait for ever, it cannot be piped",
				"BLPOP|l|1", "MULTI", "BLPOP|l|0", "WAIT|1|0", "EXEC",
				"refused: WAIT holds up all that follows, it cannot be piped"}},
		{name: "refused inside MULTI", in: "¶MULTI\n¶SUBSCRIBE c\n¶EXEC\n", want: []string{
			"MULTI", "refused: SUBSCRIBE does not answer with one reply, it cannot be piped", "EXEC"}},
		{name: "AUTH", in: "¶AUTH p\n¶MULTI\n¶auth u p\n¶EXEC\n¶AUTH u p\n", want: []string{
			"AUTH|p", "MULTI", "refused: AUTH inside MULTI may never be answered, it cannot be piped", "EXEC", "AUTH|u|p"}},
		{name: "gzip", in: "¶\x1F\x8B\x08", want: []string{"broken: the gzip data is cut off"}},
		{name: "zstd", in: "¶\x28\xB5\x2F\xFD", want: []string{"broken: the zstd data is cut off"}},
		{name: "bzip2", in: "¶BZh91AY", want: []string{"broken: the bzip2 data is cut off"}},
		{name: "xz", in: "¶\xFD7zXZ\x00\x00", want: []string{"broken: the xz data is cut off"}},
		{name: "lz4", in: "¶\x04\x22\x4D\x18\x64", want: []string{"broken: the lz4 data is cut off"}},
		{name: "RDB", in: "¶REDIS0011\xFA", want: []string{"broken: this is an RDB file, which cannot be loaded"}},
		{name: "begins like an RDB", in: "¶REDIS x\n¶RED", want: []string{"REDIS|x", "RED"}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}
