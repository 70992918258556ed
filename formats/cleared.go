package formats

import (
	"fmt"
	"hash/maphash"
)

// clearedKeys bounds the memory of --replace: it takes about 20 MiB.
const clearedKeys = 1 << 20

var errTooManyKeys = fmt.Errorf("--replace remembers %d keys, and this is one more; DEL them before the load instead", clearedKeys)

// cleared remembers the keys that --replace has cleared, by a hash of 64 bits:
// among a million keys two are taken for one in one load of thirty million.
type cleared struct {
	seed maphash.Seed
	keys map[uint64]struct{}
}

func newCleared() *cleared {
	return &cleared{seed: maphash.MakeSeed(), keys: map[uint64]struct{}{}}
}

// has reports whether a key has been cleared.
func (c *cleared) has(key []byte) bool {
	_, ok := c.keys[maphash.Bytes(c.seed, key)]
	return ok
}

// add remembers a key. A nil cleared remembers nothing.
func (c *cleared) add(key []byte) {
	if c != nil {
		c.keys[maphash.Bytes(c.seed, key)] = struct{}{}
	}
}

// clears reports whether a key must be cleared before the record at hand goes
// in. Where a record is all that is under its key, it always must; where it
// adds to what others have put there, the first one clears it.
func (k *keyed) clears(key []byte) (bool, error) {
	switch {
	case !k.replace:
		return false, nil
	case k.cleared == nil:
		return true, nil
	case k.cleared.has(key):
		return false, nil
	case len(k.cleared.keys) == clearedKeys:
		return false, errTooManyKeys
	}
	return true, nil
}
