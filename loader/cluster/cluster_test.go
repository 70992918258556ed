package cluster

import (
	"slices"
	"testing"
)

func TestParseRedirect(t *testing.T) {
	for _, row := range []struct {
		text string
		want Redirect
		ok   bool
	}{
		{"MOVED 1 10.0.0.1:7000", Redirect{false, 1, "10.0.0.1:7000"}, true},
		{"ASK 16383 ::1:7000", Redirect{true, 16383, "::1:7000"}, true},
		{"MOVED 5 :7000", Redirect{false, 5, ":7000"}, true},
		{"MOVED 16384 a:1", Redirect{}, false},
		{"MOVED -1 a:1", Redirect{}, false},
		{"MOVED 1", Redirect{}, false},
		{"MOVED x a:1", Redirect{}, false},
		{"MOVED 123456 a:1", Redirect{}, false},
		{"TRYAGAIN Multiple keys request during rehashing of slot", Redirect{}, false},
		{"", Redirect{}, false},
	} {
		got, ok := ParseRedirect([]byte(row.text))
		if got != row.want || ok != row.ok {
			t.Errorf("%q: %+v, %v", row.text, got, ok)
		}
	}
}

func TestResolve(t *testing.T) {
	for _, row := range [][3]string{
		{"10.0.0.1:7000", "10.0.0.2:7001", "10.0.0.1:7000"},
		{":7000", "10.0.0.2:7001", "10.0.0.2:7000"},
		{"?:7000", "10.0.0.2:7001", "10.0.0.2:7000"},
		{"::1:7000", "10.0.0.2:7001", "[::1]:7000"},
		{"[::1]:7000", "10.0.0.2:7001", "[::1]:7000"},
		{":7000", "[::1]:7001", "[::1]:7000"},
		{"2001:db8::5:7000", "x:1", "[2001:db8::5]:7000"},
		{"host", "x:1", "host"},
		{":7000", "host", ":7000"},
	} {
		if got := Resolve(row[0], row[1]); got != row[2] {
			t.Errorf("Resolve(%q, %q) = %q, not %q", row[0], row[1], got, row[2])
		}
	}
}

func TestAgree(t *testing.T) {
	whole := []Range{{0, 99, "a:1"}, {100, 16383, "b:1"}}
	split := []Range{{100, 16383, "b:1"}, {0, 49, "a:1"}, {50, 99, "a:1"}}
	moved := []Range{{0, 98, "a:1"}, {99, 16383, "b:1"}}
	for _, row := range []struct {
		name  string
		views []View
		ok    bool
	}{
		{"none", nil, false},
		{"one", []View{{"a:1", whole}}, true},
		{"ranges in another order", []View{{"a:1", whole}, {"b:1", split}}, true},
		{"a slot that one node gives to another", []View{{"a:1", whole}, {"b:1", moved}}, false},
		{"a slot without a master", []View{{"a:1", []Range{{0, 5, "a:1"}, {7, 16383, "a:1"}}}}, true},
		{"that only one node knows of", []View{{"a:1", []Range{{0, 5, "a:1"}, {7, 16383, "b:1"}}}, {"b:1", []Range{{0, 5, "a:1"}, {6, 16383, "b:1"}}}}, false},
		{"no end", []View{{"a:1", []Range{{0, 5, "a:1"}}}}, true},
		{"no slot", []View{{"a:1", nil}}, false},
		{"a range that cannot be", []View{{"a:1", []Range{{0, 16383, "a:1"}, {5, 3, "b:1"}}}}, true},
		{"overlap", []View{{"a:1", []Range{{0, 16383, "a:1"}, {5, 9, "b:1"}}}}, false},
	} {
		ranges, ok := Agree(row.views)
		if ok != row.ok || ok && len(row.views) > 1 && !slices.Equal(ranges, whole) {
			t.Errorf("%s: %v, %v", row.name, ranges, ok)
		}
	}
}
