package parser

// KeySpec says where keys of a command stand, in the manner of the key
// specifications of Redis 7. Indexes count from the command's name, which is 0,
// or from the keyword if there is one.
type KeySpec struct {
	Keyword string // the keys stand behind this word, upper case; "" if they do not move
	From    int    // where the search for Keyword begins
	First   int    // index of the first key; with Count, of the number of keys, which follow it
	Last    int    // 0: the first key alone; negative: up to this argument, -1 is the last
	Step    int    // from key to key
	Half    bool   // Last is the end of the first half only: XREAD STREAMS keys ids
	Count   bool   // the number of keys stands before them: EVAL, ZUNIONSTORE
	Filled  bool   // an empty argument is no key: MIGRATE
}

// appendKeys appends the keys among args that this specification finds.
func (k *KeySpec) appendKeys(dst, args [][]byte) [][]byte {
	first, end := k.bounds(args)
	for i := first; i < end; i += k.Step {
		if !k.Filled || len(args[i]) > 0 {
			dst = append(dst, args[i])
		}
	}
	return dst
}

// bounds returns the index of the first key and the one behind the last; end
// is never behind the end of args.
func (k *KeySpec) bounds(args [][]byte) (first, end int) {
	first = k.First
	if k.Keyword != "" {
		i := indexFold(args, k.From, k.Keyword)
		if i < 0 {
			return 0, 0
		}
		first += i
	}
	if first >= len(args) {
		return 0, 0
	}
	room := len(args) - first
	switch {
	case k.Count:
		n, _ := parseInt(args[first])
		return first + 1, first + 1 + max(0, min(n*k.Step, room-1))
	case k.Half:
		return first, first + room/2
	case k.Last < 0:
		return first, len(args) + k.Last + 1
	}
	return first, first + 1
}
