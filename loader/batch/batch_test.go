package batch

import (
	"math"
	"testing"
	"unsafe"
)

func TestEntryIs24Bytes(t *testing.T) {
	if n := unsafe.Sizeof(Entry{}); n != 24 {
		t.Errorf("an entry takes %d bytes", n)
	}
}

func TestNumbersOrder(t *testing.T) {
	rows := []struct {
		record int64
		index  int
	}{{1, 0}, {1, 1}, {1, 1<<24 - 1}, {2, 0}, {1 << 39, 7}}
	for i, r := range rows {
		n := NumberOf(r.record, r.index)
		if n.Record() != r.record || n.Index() != r.index {
			t.Errorf("%+v: %d, %d", r, n.Record(), n.Index())
		}
		if i > 0 && n <= NumberOf(rows[i-1].record, rows[i-1].index) {
			t.Errorf("%+v is not behind %+v", r, rows[i-1])
		}
	}
}

func TestEntriesKeepTheirPlace(t *testing.T) {
	var b Batch
	positions := []Position{{2, 10, 1 << 40, 1 << 35}, {2, 11, 1<<40 + 50, 1<<35 + 1}, {2, 3, 1<<40 - 99, 1<<35 - 7}}
	for i, p := range positions {
		if !b.Fits(p) {
			t.Fatalf("%+v does not fit", p)
		}
		b.RESP = append(b.RESP, "abc"[:i+1]...)
		b.Add(p, i, 0)
	}
	for i, p := range positions {
		if b.Position(i) != p || b.Number(i) != NumberOf(p.Record, i) || string(b.Command(i)) != "abc"[:i+1] {
			t.Errorf("%d: %+v, %d, %q", i, b.Position(i), b.Number(i), b.Command(i))
		}
	}
	if string(b.Range(1, 2)) != "ababc" {
		t.Errorf("%q", b.Range(1, 2))
	}
	for _, p := range []Position{{1, 10, 1 << 40, 1 << 35}, {2, 10, 1<<40 + math.MaxInt32 + 1, 1 << 35}, {2, 10, 1 << 40, 1}} {
		if b.Fits(p) {
			t.Errorf("%+v fits", p)
		}
	}
	b.Reset()
	if b.Len() != 0 || !b.Fits(Position{File: 7}) {
		t.Error("not empty after Reset")
	}
}
