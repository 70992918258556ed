package batch

// texts are the source texts of the entries of a batch. Commands of one record
// that stand side by side share one.
type texts struct {
	bytes  []byte
	ranges []textRange // parallel to the entries
}

type textRange struct{ from, to uint32 }

const textRangeBytes = 8

func (t *texts) size() int    { return len(t.bytes) + textRangeBytes*len(t.ranges) }
func (t *texts) empty() texts { return texts{t.bytes[:0], t.ranges[:0]} }

// AddText keeps the source text of the record of the entry that was added last;
// nil keeps none.
func (b *Batch) AddText(text []byte) {
	if text == nil {
		return
	}
	t, i := &b.texts, len(b.Entries)-1
	for len(t.ranges) < i {
		t.ranges = append(t.ranges, textRange{}) // of entries without a text
	}
	switch {
	case i > 0 && t.ranges[i-1].to > t.ranges[i-1].from && b.Entries[i-1].Record == b.Entries[i].Record:
		t.ranges = append(t.ranges, t.ranges[i-1])
	default:
		from := uint32(len(t.bytes))
		t.bytes = append(t.bytes, text...)
		t.ranges = append(t.ranges, textRange{from, uint32(len(t.bytes))})
	}
}

// Text returns the source text of the record of entry i; nil if it is the RESP of
// the entry, if it is not kept, or if it was given back.
func (b *Batch) Text(i int) []byte {
	if i >= len(b.texts.ranges) {
		return nil
	}
	r := b.texts.ranges[i]
	if r.from == r.to {
		return nil
	}
	return b.texts.bytes[r.from:r.to:r.to]
}
