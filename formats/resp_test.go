package formats

import (
	"strings"
	"testing"

	"respipe/parser"
)

// crlf writes RESP down on one line: each blank is a CRLF.
func crlf(s string) string { return strings.ReplaceAll(s, " ", "\r\n") }

func TestRESP(t *testing.T) {
	resp := Options{Format: "resp"}
	huge := strings.Repeat("v", 300)
	tests := []readTest{
		{name: "requests", in: crlf("¶*2 $3 GET $1 a ¶*1 $4 PING "), want: []string{"GET|a", "PING"}},
		{name: "empty argument", in: crlf("¶*3 $3 SET $1 a $0  "), want: []string{"SET|a|"}},
		{name: "line ends in a payload", in: crlf("¶*2 $3 GET $4     ¶*1 $4 PING "), want: []string{"GET|\r\n\r\n", "PING"}},
		{name: "blank", in: crlf("*0 ¶*1 $4 PING  *0 *-1 ¶*1 $4 PING  "), want: []string{"PING", "PING"}},
		{name: "text between", in: crlf("¶*1 $4 PING ¶GET\ta ¶*1 $4 PING "), want: []string{"PING", "GET|a", "PING"}},
		{name: "bare LF", in: "¶*2\n$3\nGET\n$1\na\n¶*1\r\n$4\nPING\n", want: []string{"GET|a", "PING"}},
		{name: "too long", opt: Options{MaxRecord: 200}, in: crlf("¶*3 $3 SET $300 " + huge + " $3 a\nb ¶*1 $4 PING "),
			want: []string{"refused: longer than --max-record allows", "PING"}},
		{name: "too long and broken", opt: Options{MaxRecord: 200}, in: crlf("¶*3 $3 SET $300 " + huge + " $2 a\nb "),
			want: []string{"broken: broken RESP: argument 3 of 3: no line end behind it, so its length is wrong, at line 8, byte 327"}},
		{name: "too long and cut off", opt: Options{MaxRecord: 200}, in: crlf("¶*3 $3 SET $300 " + huge[:250]),
			want: []string{"broken: broken RESP: argument 2 of 3: cut off, at line 5, byte 269"}},
		{name: "cut off later", in: crlf("¶*1 $4 PING ¶*2 $3 GET $5 he"),
			want: []string{"PING", "broken: broken RESP: argument 2 of 2: cut off, at line 8, byte 33"}},
		{name: "cut off line end", in: "¶*1\r\n$4\r\nPING\r",
			want: []string{"broken: broken RESP: argument 1 of 1: cut off, at line 3, byte 13"}},
		{name: "length too small", in: crlf("¶*1 $3 PING "),
			want: []string{"broken: broken RESP: argument 1 of 1: no line end behind it, so its length is wrong, at line 3, byte 11"}},
		{name: "length too large", in: crlf("¶*2 $4 GET $1 a "),
			want: []string{"broken: broken RESP: argument 1 of 2: no line end behind it, so its length is wrong, at line 3, byte 12"}},
		{name: "length too small in LF", in: "¶*2\n$2\nGET\n",
			want: []string{"broken: broken RESP: argument 1 of 2: no line end behind it, so its length is wrong, at line 3, byte 8"}},
		{name: "CR left over in LF", in: "¶*1\n$4\nPING\r\n",
			want: []string{"broken: broken RESP: argument 1 of 1: no line end behind it, so its length is wrong, at line 3, byte 10"}},
		{name: "null", in: crlf("¶*2 $3 GET $-1 "),
			want: []string{"broken: broken RESP: argument 2 of 2: null, which no command may hold, at line 4, byte 14"}},
		{name: "argument missing", in: crlf("¶*2 $3 GET *1 $4 PING "),
			want: []string{"broken: broken RESP: argument 2 of 2: missing, a request begins in its place, at line 4, byte 13"}},
		{name: "no bulk", in: crlf("¶*2 $3 GET :1 "),
			want: []string{"broken: broken RESP: argument 2 of 2: does not begin with $, at line 4, byte 13"}},
		{name: "written out", in: `¶*1\r\n$4\r\nPING\r\n`,
			want: []string{`broken: broken RESP: its count of arguments: the line end is written out as the four characters \r\n, at line 1, byte 6`}},
		{name: "count", opt: resp, in: crlf("¶*x "),
			want: []string{"broken: broken RESP: its count of arguments: not a number, at line 1, byte 1"}},
		{name: "count cut off", opt: resp, in: "¶*", want: []string{"broken: broken RESP: its count of arguments: cut off, at line 1, byte 1"}},
		{name: "negative count", in: crlf("¶*-2 "),
			want: []string{"broken: broken RESP: its count of arguments: not a number, at line 1, byte 1"}},
		{name: "leading zero", in: crlf("¶*1 $04 PING "),
			want: []string{"broken: broken RESP: argument 1 of 1: not a number, at line 2, byte 6"}},
		{name: "large count", in: crlf("¶*9999999999 "),
			want: []string{"broken: broken RESP: its count of arguments: not a number, at line 1, byte 10"}},
		{name: "announced and not there", in: crlf("¶*999999999 $999999999 "),
			want: []string{"broken: broken RESP: argument 1 of 999999999: cut off, at line 3, byte 24"}},
		{name: "text behind a number", in: crlf("¶*1x $4 PING "),
			want: []string{"broken: broken RESP: its count of arguments: not a number, at line 1, byte 2"}},
	}
	for i := range tests {
		tests[i].run(t)
	}
}

func TestRESPRaw(t *testing.T) {
	var notes []string
	opt := all(Options{Note: func(pos parser.Pos, text string) { notes = append(notes, pos.String()+": "+text) }})
	good, bare := crlf("*2 $3 GET $1 a "), "*2\n$3\nGET\n$1\na\n"
	got := collect(open(t, strings.NewReader(good+bare+bare+"GET a\n"), opt))
	if len(got) != 4 {
		t.Fatalf("got %d commands, want 4: %+v", len(got), got)
	}
	for i, want := range []string{good, "", "", ""} {
		if got[i].raw != want {
			t.Errorf("raw %d is %q, want %q", i, got[i].raw, want)
		}
	}
	if len(notes) != 1 || notes[0] != "<stdin>:6: bare LF line ends in RESP, written anew with CRLF" {
		t.Errorf("notes are %q", notes)
	}
}
