package parser

import (
	"bytes"
	"testing"
)

func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"":                     0,
		"123456789":            0x31c3, // the check value of the specification
		"foo":                  12182,
		"bar":                  5061,
		"somekey":              11058,
		"\x00\xff":             int(crc16([]byte{0, 0xff}) % Slots),
		"foo{hash_tag}":        2515,
		"bar{hash_tag}":        2515,
		"hash_tag":             2515,
		"{user1000}.following": 3443,
		"{user1000}.followers": 3443,
	} {
		if got := Slot([]byte(key)); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
}

func TestHashTag(t *testing.T) {
	for key, want := range map[string]string{
		"plain":         "plain",
		"a{b}c":         "b",
		"a{b}{c}":       "b",
		"foo{{bar}}zap": "{bar",
		"foo{}{bar}":    "foo{}{bar}", // the first pair counts, and it is empty
		"a{b":           "a{b",
		"a}b{":          "a}b{",
		"}{b}":          "b",
		"":              "",
	} {
		if got := hashTag([]byte(key)); string(got) != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

// FuzzSlot holds that a key lies in the slot of its hash tag, and that the
// table agrees with the division done bit by bit.
func FuzzSlot(f *testing.F) {
	f.Add([]byte("{user1000}.following"))
	f.Add([]byte("foo{}{bar}"))
	f.Fuzz(func(t *testing.T, key []byte) {
		slot := Slot(key)
		var crc uint16
		for _, c := range hashTag(key) {
			crc ^= uint16(c) << 8
			for range 8 {
				if top := crc & 0x8000; top != 0 {
					crc = crc<<1 ^ 0x1021
				} else {
					crc <<= 1
				}
			}
		}
		if slot != int(crc%Slots) {
			t.Errorf("slot %d, bit by bit %d", slot, crc%Slots)
		}
		if !bytes.ContainsAny(key, "{}") && len(key) > 0 {
			if tagged := Slot([]byte("x{" + string(key) + "}y}")); tagged != slot {
				t.Errorf("as a tag %d, alone %d", tagged, slot)
			}
		}
	})
}
