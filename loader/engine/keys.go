package engine

import (
	"encoding/binary"
	"math/bits"

	"respipe/parser"
)

// keyReader finds the keys of commands in their RESP.
type keyReader struct {
	op   func(args [][]byte) *parser.Op
	args [][]byte
	keys [][]byte
}

// read returns the keys of a command. They are valid until the next call.
func (r *keyReader) read(resp []byte) [][]byte {
	r.args = appendArgs(r.args[:0], resp)
	r.keys = r.op(r.args).AppendKeys(r.keys[:0], r.args)
	return r.keys
}

// appendArgs appends the arguments of a command in well-formed RESP.
func appendArgs(args [][]byte, resp []byte) [][]byte {
	n, resp := cutNumber(resp)
	for range n {
		var size int
		size, resp = cutNumber(resp)
		args = append(args, resp[:size:size])
		resp = resp[size+2:]
	}
	return args
}

// cutNumber reads the number of "*3\r\n" or "$12\r\n".
func cutNumber(resp []byte) (n int, rest []byte) {
	i := 1
	for ; resp[i] != '\r'; i++ {
		n = n*10 + int(resp[i]-'0')
	}
	return n, resp[i+2:]
}

// hashKey returns 64 bits that stand for a key. Two keys with one hash are
// taken for one key, which costs a needless retry and no more.
func hashKey(key []byte) uint64 {
	const m = 0x9e3779b97f4a7c15
	h := uint64(len(key)) * m
	for ; len(key) >= 8; key = key[8:] {
		h = bits.RotateLeft64(h^binary.LittleEndian.Uint64(key)*m, 29) * m
	}
	for _, c := range key {
		h = (h ^ uint64(c)) * m
		h ^= h >> 32
	}
	return h ^ h>>29
}

// keyTable numbers keys, given by their hashes, from 0 on.
type keyTable struct {
	hashes []uint64 // by place; the length is a power of two
	ids    []int32  // parallel: the number of the key, and one; 0 for a free place
	n      int
}

// reset makes the table empty, ready for so many keys.
func (t *keyTable) reset(keys int) {
	size := 1 << bits.Len(uint(2*keys+8))
	if len(t.ids) < size {
		t.hashes, t.ids = make([]uint64, size), make([]int32, size)
	} else {
		clear(t.ids)
	}
	t.n = 0
}

// id returns the number of a key.
func (t *keyTable) id(hash uint64) int32 {
	if 2*t.n > len(t.ids) {
		t.grow()
	}
	mask := len(t.ids) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		switch {
		case t.ids[i] == 0:
			t.n++
			t.hashes[i], t.ids[i] = hash, int32(t.n)
			return int32(t.n) - 1
		case t.hashes[i] == hash:
			return t.ids[i] - 1
		}
	}
}

// grow doubles the table.
func (t *keyTable) grow() {
	hashes, ids := t.hashes, t.ids
	t.hashes, t.ids = make([]uint64, 2*len(ids)), make([]int32, 2*len(ids))
	mask := len(t.ids) - 1
	for i, id := range ids {
		if id == 0 {
			continue
		}
		at := int(hashes[i]) & mask
		for t.ids[at] != 0 {
			at = (at + 1) & mask
		}
		t.hashes[at], t.ids[at] = hashes[i], id
	}
}
