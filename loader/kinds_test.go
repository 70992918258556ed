package loader

import (
	"strings"
	"testing"

	"respipe/parser"
)

func TestKinds(t *testing.T) {
	var k Kinds
	for i, row := range []struct {
		text string
		nth  int64
	}{
		{"a quote is left open", 1},
		{"EXEC not written: line 3 of its block", 1},
		{"EXEC not written: line 47 of its block", 2},
		{"a quote is left open", 2},
		{"ERR unknown command 'FROB'", 1},
		{"ERR unknown command 'FRO'", 2},
		{"ERR unknown command `FROB`, with args", 1},
		{"ERR unknown command `FRO`, with args", 2},
		{"ERR an 'open quote", 1},
		{"", 1},
	} {
		if _, nth := k.Count([]byte(row.text), parser.Pos{Line: i + 1}); nth != row.nth {
			t.Errorf("%s: %d, want %d", row.text, nth, row.nth)
		}
	}
	if second := k.List[1]; second.First.Line != 2 || second.Count != 2 || second.Text != "EXEC not written: line 3 of its block" {
		t.Errorf("%+v", second)
	}
	for i := range 1000 {
		k.Count([]byte(strings.Repeat("x", i+1)), parser.Pos{})
	}
	if last := k.List[len(k.List)-1]; len(k.List) != maxKinds || last.Text != "other errors" || last.Count < 800 {
		t.Errorf("%d kinds, the last %+v", len(k.List), last)
	}
}
