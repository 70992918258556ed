package engine

import (
	"strings"
	"testing"

	"respipe/loader/batch"
	"respipe/parser"
)

// What is resent, by the states of the entries in the order of the input. Each
// entry is written as its class (o overwrites, d derives, n non-idempotent), its
// state (q queued, f in flight, r ran, t retryable error, e error for good) and
// its keys; * may touch any key.
func TestPlan(t *testing.T) {
	for _, row := range []struct{ entries, resent string }{
		{"", ""},
		{"ota", "+"},
		{"nta", "+"},
		{"ofa", "+"},
		{"nfa", "-"},
		{"ota ora", "++"},
		{"ota orb", "+-"},
		{"ota nra", "--"},       // the second one must not run twice
		{"nta ora", "--"},       // the first one must not run behind the second
		{"nta ofa", "-+"},       // the same, if the second may have run
		{"ota orab nrb", "---"}, // the second would drag the third along
		{"ota orab orb", "+++"}, // and may, here
		{"ota orab otb", "+++"}, //
		{"dta ora", "--"},       // what it reads has changed
		{"dta orb", "+-"},       //
		{"ota oea", "--"},       // an error for good is final
		{"nqa nqa", "++"},       // what has not run may always
		{"oqa nta oqb", "+++"},  //
		{"ota or*", "++"},       //
		{"ota nr*", "--"},       //
		{"ot* orb", "++"},       //
		{"ota orb orb orab", "+--+"},
	} {
		var p plan
		words := strings.Fields(row.entries)
		p.table.reset(len(words))
		for i, word := range words {
			en := pending{number: batch.NumberOf(int64(i), 0), key: int32(len(p.ids))}
			en.class = parser.Retry(strings.IndexByte("odn", word[0]))
			en.state = entryState(strings.IndexByte("qfrte", word[1]))
			for _, key := range []byte(word[2:]) {
				if en.wide = key == '*'; !en.wide {
					p.ids = append(p.ids, p.table.id(hashKey([]byte{key})))
				}
			}
			en.keyEnd = int32(len(p.ids))
			p.entries = append(p.entries, en)
		}
		p.mayRunAgain(false)
		p.mustRunAgain()
		got := ""
		for i := range p.entries {
			if p.entries[i].send {
				got += "+"
			} else {
				got += "-"
			}
		}
		if got != row.resent {
			t.Errorf("%s: resent %s, not %s", row.entries, got, row.resent)
		}
	}
}

// A table of keys numbers each key once, however many there are.
func TestKeyTable(t *testing.T) {
	var table keyTable
	table.reset(1)
	for range 2 {
		for i := range 10_000 {
			if id := table.id(hashKey([]byte{byte(i), byte(i >> 8)})); int(id) != i {
				t.Fatalf("key %d has number %d", i, id)
			}
		}
	}
}
