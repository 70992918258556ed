package formats

import (
	"fmt"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	const in = "k,n\na,1\na,2\nb,x\nb,3\na,4\n"
	for _, tt := range []struct {
		name string
		opt  Options
		want string
	}{
		{"hash, each record", Options{Key: "{k}", Fields: []string{"n"}, Limit: 2}, "DEL|a HSET|a|n|1; DEL|a HSET|a|n|2"},
		{"list, once a key", Options{Key: "{k}", Type: "list", Value: "{n}", Limit: -1},
			"DEL|a RPUSH|a|1; RPUSH|a|2; DEL|b RPUSH|b|x; RPUSH|b|3; RPUSH|a|4"},
		{"stream, once", Options{Key: "s", Type: "stream", Fields: []string{"n"}, Limit: 2}, "DEL|s XADD|s|*|n|1; XADD|s|*|n|2"},
		{"sorted set, not by a refused record", Options{Key: "{k}", Type: "zset", Member: "m", Score: "{n}", Limit: -1},
			"DEL|a ZADD|a|1|m; ZADD|a|2|m; refused: --score is no number; DEL|b ZADD|b|3|m; ZADD|a|4|m"},
		{"what is passed over has cleared", Options{Key: "{k}", Type: "zset", Member: "m", Score: "{n}", Skip: 3, Limit: -1},
			"DEL|b ZADD|b|3|m; ZADD|a|4|m"},
		{"hash, whatever is passed over", Options{Key: "{k}", Fields: []string{"n"}, Skip: 4, Limit: -1}, "DEL|a HSET|a|n|4"},
	} {
		tt.opt.Replace = true
		var got []string
		for _, o := range records(collect(open(t, strings.NewReader(in), tt.opt))) {
			got = append(got, o.text)
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s: got\n\t%s, want\n\t%s", tt.name, text, tt.want)
		}
	}
}

func TestReplaceSpread(t *testing.T) {
	opt := all(Options{Key: "{k}", Type: "set", Member: "{m...}", Replace: true})
	got := records(collect(open(t, strings.NewReader(`{"k":1,"m":[2,3]}{"k":1,"m":[4]}`), opt)))
	if len(got) != 2 || got[0].text != "DEL|1 SADD|1|2|3" || got[1].text != "DEL|1 SADD|1|4" {
		t.Errorf("got %+v", got)
	}
}

// TestReplaceForgetsNothing holds that memory is bounded by refusing keys, and
// not by forgetting some.
func TestReplaceForgetsNothing(t *testing.T) {
	k := &keyed{kind: &kind{adds: true}, replace: true, cleared: newCleared()}
	for i := range clearedKeys {
		key := fmt.Append(nil, i)
		if due, err := k.clears(key); !due || err != nil {
			t.Fatalf("key %d: %v, %v", i, due, err)
		}
		k.cleared.add(key)
	}
	if due, err := k.clears([]byte("0")); due || err != nil {
		t.Errorf("the first key: %v, %v", due, err)
	}
	if _, err := k.clears([]byte("one more")); err != errTooManyKeys {
		t.Errorf("one more key: %v", err)
	}
}
