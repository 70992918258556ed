package loader

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"respipe/parser"
)

func TestPositionReads(t *testing.T) {
	const whole = `{"n":4711,"commands":2,"file":1,"offset":99,"line":12,"db":3,"records":4711,"errors":7,"done":true,"token":"T.1","input":{"a":[1]}}`
	p, err := parsePosition([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if p.Mark.N != 4711 || p.Commands != 2 || p.Mark.File != 1 || p.Mark.Offset != 99 || p.Mark.Line != 12 || p.Mark.DB != 3 ||
		p.Records != 4711 || p.Errors != 7 || !p.Done || string(p.Input) != `{"a":[1]}` || !p.writtenBy("T") || p.writtenBy("U") {
		t.Errorf("%+v", p)
	}
	if p.Confirmed != nil || p.Unconfirmed.Records != 0 || p.confirmed() != p.reach() || p.AfterUnconfirmed { // as versions before wrote it
		t.Errorf("unconfirmed: %+v", p)
	}
	from, input := p.Start()
	if from.N != 4711 || string(input) != `{"a":[1]}` {
		t.Errorf("to begin at %+v", from)
	}
	for _, bad := range []string{
		"", " ", "null", "{}", "[]", "4711", `"text"`, "\x00", whole[:len(whole)-1], whole + "x", whole + whole,
		`{"token":""}`, `{"n":-1,"token":"T"}`, `{"commands":-1,"token":"T"}`, `{"db":-1,"token":"T"}`,
		`{"n":2,"token":"T","confirmed":{"n":2}}`, `{"n":2,"token":"T","confirmed":{"n":-1}}`, `{"n":2,"token":"T","confirmed":{"other":1}}`,
		`{"n":2,"token":"T","unconfirmed":{"records":1}}`, `{"n":2,"token":"T","unconfirmed":{"records":1,"ranges":[{"first":{"n":2},"last":{"n":1},"records":1}]}}`,
		`{"n":2,"token":"T","unconfirmed":{"records":3,"ranges":[{"first":{"n":1},"last":{"n":2},"records":3}]}}`,
		`{"n":"1","token":"T"}`, `{"n":1.5,"token":"T"}`, `{"n":99999999999999999999,"token":"T"}`, `{"other":1,"token":"T"}`,
	} {
		if p, err := parsePosition([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, p)
		}
	}
}

func TestPositionTooLong(t *testing.T) {
	p := Position{token: "T", Input: json.RawMessage(`"` + strings.Repeat("x", longestPosition) + `"`)}
	if p.encode() == nil {
		t.Error("no error")
	}
}

func TestPositionCompares(t *testing.T) {
	at := func(n int64, commands, db int, done bool) *Position {
		return &Position{Mark: parser.Mark{N: n, DB: db}, Commands: commands, Done: done}
	}
	for _, test := range []struct {
		a, b         *Position
		same, before bool
	}{
		{nil, nil, true, false},
		{nil, at(0, 0, 0, false), false, false},
		{nil, at(1, 1, 0, false), false, true},
		{at(1, 1, 0, false), nil, false, false},
		{at(1, 1, 0, false), at(1, 1, 0, false), true, false},
		{at(1, 1, 0, false), at(1, 2, 0, false), false, true},
		{at(1, 2, 0, false), at(1, 1, 0, false), false, false},
		{at(1, 9, 0, false), at(2, 1, 0, false), false, true},
		{at(2, 1, 0, false), at(2, 1, 1, false), false, false},
		{at(2, 1, 0, false), at(2, 1, 0, true), false, false},
	} {
		if test.a.same(test.b) != test.same || test.a.reach().before(test.b.reach()) != test.before {
			t.Errorf("%+v and %+v", test.a, test.b)
		}
	}
}

// FuzzPosition holds that what can be read is written as it is understood.
func FuzzPosition(f *testing.F) {
	f.Add([]byte(`{"n":4711,"commands":2,"file":1,"offset":99,"line":12,"db":3,"records":4711,"errors":7,"done":true,"token":"T.1","input":{"a":[1]}}`))
	f.Add([]byte(`{"token":"T","input":null}`))
	f.Add([]byte(`{"n":9,"token":"T","confirmed":{"n":7,"commands":1,"input":{}},"unconfirmed":{"records":2,"ranges":[{"first":{"n":3,"file":"a"},"last":{"n":5},"records":2}]},"after_unconfirmed":true}`))
	f.Add([]byte(`{"N":1,"token":"\u0000<","input":"<"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := parsePosition(raw)
		if err != nil {
			return
		}
		if !bytes.Equal(p.raw, raw) {
			t.Errorf("%q is kept as %q", raw, p.raw)
		}
		if err := p.encode(); err != nil {
			t.Fatal(err)
		}
		once := p.raw
		q, err := parsePosition(once)
		if err != nil || !q.same(p) || q.token != p.token || q.Records != p.Records || q.Errors != p.Errors || (q.Confirmed == nil) != (p.Confirmed == nil) || len(q.Unconfirmed.Ranges) != len(p.Unconfirmed.Ranges) {
			t.Fatalf("%q is written as %q: %v", raw, once, err)
		}
		if err := q.encode(); err != nil || !bytes.Equal(q.raw, once) {
			t.Errorf("%q is written again as %q: %v", once, q.raw, err)
		}
	})
}
