package redistest

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseView(t *testing.T) {
	const b = "b 127.0.0.1:2@3 master - 0 1 2 connected"
	for _, tt := range []struct {
		text string
		want view
		err  string
	}{
		{"", nil, ""},
		{b, view{{id: "b", epoch: "2"}}, ""},
		{b + " 0-5460", view{{id: "b", epoch: "2", slots: [][2]int{{0, 5460}}}}, ""},
		{b + " 7 9-9 16383", view{{id: "b", epoch: "2", slots: [][2]int{{7, 7}, {9, 9}, {16383, 16383}}}}, ""},
		{b + " 0-6 [7->-c] [8-<-c]", view{{id: "b", epoch: "2", slots: [][2]int{{0, 6}}}}, ""},
		{b + "\na 127.0.0.1:4@5,host myself,slave b 0 1 2 connected\n", view{{id: "a", master: "b", epoch: "2"}, {id: "b", epoch: "2"}}, ""},
		{"a :0@0 master,fail,noaddr - 0 1 2 disconnected", view{{id: "a", epoch: "2"}}, ""},
		{"a 127.0.0.1:4@5 handshake - 0 1 2 connected", view{{id: "a", epoch: "2", unknown: true}}, ""},
		{"\n", nil, "0 fields"},
		{"b 127.0.0.1:2@3 master - 0 1 2", nil, "7 fields"},
		{b + "\n\n", nil, "0 fields"},
		{b + " x", nil, "invalid syntax"},
		{b + " 5-", nil, "invalid syntax"},
		{b + " -5", nil, "invalid syntax"},
		{b + " 5-4", nil, "no range of slots"},
		{b + " 16384", nil, "no range of slots"},
		{b + " 1-2-3", nil, "invalid syntax"},
		{"ERR This instance has cluster support disabled", nil, "7 fields"},
	} {
		got, err := parseView(tt.text)
		if !reflect.DeepEqual(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %+v, %v, want %+v, %q", tt.text, got, err, tt.want, tt.err)
		}
	}
}

func TestViewOwner(t *testing.T) {
	v := view{{id: "a", slots: [][2]int{{0, 9}, {20, 29}}}, {id: "b", slots: [][2]int{{10, 10}}}, {id: "c", master: "a"}}
	for slot, want := range map[int]string{0: "a", 9: "a", 10: "b", 11: "", 19: "", 20: "a", 29: "a", 30: "", -1: ""} {
		if got := v.owner(slot); got != want {
			t.Errorf("owner of %d: %q, want %q", slot, got, want)
		}
	}
	if v.find("b").slots == nil || v.find("d").id != "" || view(nil).find("").id != "" {
		t.Error("find does not find")
	}
	if v[0].count() != 20 || v[1].count() != 1 || v[2].count() != 0 {
		t.Errorf("counts %d, %d, %d", v[0].count(), v[1].count(), v[2].count())
	}
}

func TestViewSame(t *testing.T) {
	v := view{{id: "a", slots: [][2]int{{0, 9}}}, {id: "b", master: "a"}}
	for _, tt := range []struct {
		other view
		same  bool
	}{
		{view{{id: "a", slots: [][2]int{{0, 9}}}, {id: "b", master: "a"}}, true},
		{view{{id: "a", slots: [][2]int{{0, 8}}}, {id: "b", master: "a"}}, false},
		{view{{id: "a", slots: [][2]int{{0, 9}}}, {id: "b"}}, false},
		{view{{id: "a", slots: [][2]int{{0, 9}}}}, false},
		{nil, false},
	} {
		if v.same(tt.other) != tt.same {
			t.Errorf("the same as %+v: %v", tt.other, !tt.same)
		}
	}
}
