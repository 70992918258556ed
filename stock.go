package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// stock is what a dry run has left in its Redis.
type stock struct {
	types   map[string]int // keys by type
	samples []sample
}

// sample is one key, ready to print.
type sample struct{ key, kind, value, expiry string }

// takeStock counts the keys of all databases and takes the first three keys,
// by name, as samples.
func takeStock(m *miniredis.Miniredis, selected int) stock {
	const databases, samples = 16, 3
	found := stock{types: map[string]int{}}
	for n := range max(databases, selected+1) {
		db := m.DB(n)
		for _, key := range db.Keys() {
			found.types[db.Type(key)]++
			if len(found.samples) < samples {
				found.samples = append(found.samples, takeSample(db, key))
			}
		}
	}
	return found
}

func takeSample(db *miniredis.RedisDB, key string) sample {
	expiry := "no expiry"
	if ttl := db.TTL(key); ttl > 0 {
		expiry = fmt.Sprintf("expires in %d s", ttl.Round(time.Second)/time.Second)
	}
	const most = 60 // characters of key and value
	return sample{
		key: clip(printable(key), most), kind: db.Type(key),
		value: clip(printable(strings.Join(values(db, key), " ")), most), expiry: expiry,
	}
}

// values returns what a key holds, as words; none of a type that has no plain
// values.
func values(db *miniredis.RedisDB, key string) (words []string) {
	switch db.Type(key) {
	case "string":
		text, _ := db.Get(key)
		words = []string{text}
	case "hash":
		fields, _ := db.HKeys(key)
		for _, field := range fields {
			words = append(words, field, db.HGet(key, field))
		}
	case "list":
		words, _ = db.List(key)
	case "set":
		words, _ = db.Members(key)
	case "zset":
		words, _ = db.ZMembers(key)
	case "stream":
		entries, _ := db.Stream(key)
		for _, entry := range entries {
			words = append(append(words, entry.ID), entry.Values...)
		}
	}
	return words
}

// counts writes the keys by type: "3 keys (2 hash, 1 string)".
func (s *stock) counts() string {
	total, parts := 0, []string(nil)
	for _, kind := range slices.Sorted(maps.Keys(s.types)) {
		total += s.types[kind]
		parts = append(parts, strconv.Itoa(s.types[kind])+" "+kind)
	}
	if total == 0 {
		return "no keys"
	}
	return fmt.Sprintf("%d keys (%s)", total, strings.Join(parts, ", "))
}

// rehearsal prints what a dry run has found.
func (c *console) rehearsal(r *rehearsal, found stock) {
	if c.quiet {
		return
	}
	c.printf("dry run: %d records checked, %d of them executed; there would be %s\n", r.records, min(r.records, r.limit), found.counts())
	for _, name := range slices.Sorted(maps.Keys(r.notSimulated)) {
		c.printf("    not simulated: %d %s\n", r.notSimulated[name], name)
	}
	for _, s := range found.samples {
		c.printf("    %s (%s, %s): %s\n", s.key, s.kind, s.expiry, s.value)
	}
}
