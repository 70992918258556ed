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

// option is a word of a command that takes some of the arguments behind it.
type option struct {
	name      string // upper case
	arguments int
}

// appendKeys appends the keys among args that this specification finds. No
// keyword is looked for among the arguments of options.
func (k *KeySpec) appendKeys(dst, args [][]byte, options []option) [][]byte {
	first, end := k.bounds(args, options)
	for i := first; i < end; i += k.Step {
		if !k.Filled || len(args[i]) > 0 {
			dst = append(dst, args[i])
		}
	}
	return dst
}

// bounds returns the index of the first key and the one behind the last; end
// is never behind the end of args.
func (k *KeySpec) bounds(args [][]byte, options []option) (first, end int) {
	first = k.First
	if k.Keyword != "" {
		i := k.findKeyword(args, options)
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

// findKeyword returns the index of the keyword, -1 if it is not there.
func (k *KeySpec) findKeyword(args [][]byte, options []option) int {
	for i := k.From; i < len(args); i++ {
		if equalFold(args[i], k.Keyword) {
			return i
		}
		for _, o := range options {
			if equalFold(args[i], o.name) {
				i += o.arguments
				break
			}
		}
	}
	return -1
}
