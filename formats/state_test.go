package formats

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"respipe/parser"
)

// accepted.
func FuzzState(f *testing.F) {
	for _, st := range []state{{}, {columns: 1 << 60, quote: 7, kept: kept{flags: 5, ahead: 1 << 40, cause: "x"}}} {
		f.Add(st.encode())
	}
	f.Add([]byte{stateVersion + 1})
	f.Add(bytes.Repeat([]byte{0xFF}, 30))
	f.Fuzz(func(t *testing.T, b []byte) {
		st, err := decodeState(b)
		if err != nil {
			if st != (state{}) {
				t.Fatalf("%v, and %+v", err, st)
			}
			return
		}
		if again, err := decodeState(st.encode()); err != nil || again != st {
			t.Fatalf("%+v is decoded as %+v, %v", st, again, err)
		}
		if st.quote < 0 || st.ahead < 0 {
			t.Fatalf("got %+v", st)
		}
	})
}

// that asking for it costs nothing.
func TestStateIsShared(t *testing.T) {
	tests := []struct {
		name, in string
		opt      Options
		want     string // a letter for each state, by record
	}{
		{"commands", "GET a\nMULTI\nGET 'b\nEXEC\nGET c\n", Options{}, "aabbb"},
		{"csv", "k\n1\n\"2\"\n\"3\n4\n5\n", Options{Key: "{k}"}, "aabbb"},
		{"csv without quotes", "k,v\n1,2\n1\n\"1\"x,2\n3,4\n", Options{Key: "{k}"}, "aaba"},
		{"tsv", "k\n1\n2\n", Options{Format: "tsv", Key: "{k}"}, "aa"},
		{"JSON lines", "{\"k\":1}{\"k\":2}\n{\"k\":3}\n{\"k\":}\n{\"k\":3}", Options{Key: "{k}"}, "aaaaa"},
		{"JSON array", "[{\"k\":1},{\"k\":2},{\"k\":3}]", Options{Key: "{k}"}, "aaa"},
		{"JSON arrays", "[{\"k\":1}]\n[{\"k\":2},{\"k\":3}]\n[{\"k\":}]", Options{Key: "{k}"}, "aaab"},
	}
	for _, tt := range tests {
		s := open(t, strings.NewReader(tt.in), all(tt.opt))
		var states []parser.Mark
		var got strings.Builder
		for {
			var c parser.Command
			if err := s.Next(&c); err == io.EOF {
				break
			}
			m := s.Mark()
			if n := testing.AllocsPerRun(10, func() { s.Mark() }); n > 0 {
				t.Errorf("%s: %v allocations a mark", tt.name, n)
			}
			k := 0
			for ; k < len(states) && &states[k].State[0] != &m.State[0]; k++ {
				if bytes.Equal(states[k].State, m.State) {
					break // it has come back
				}
			}
			if k == len(states) {
				states = append(states, m)
			}
			fmt.Fprintf(&got, "%c", 'a'+k)
		}
		if got.String() != tt.want {
			t.Errorf("%s: states are %s, want %s", tt.name, got.String(), tt.want)
		}
	}
}
