package simulate

import (
	"fmt"
	"strconv"

	"respipe/parser"
)

// The keys: each group is one hash tag, so one slot.
const (
	groups          = 6
	keysOfGroup     = 3
	keyCount        = groups * keysOfGroup
	manyKeys        = 3 // keys of one command, at most
	noGroup     int = -1
)

// class is what the check knows of a command, by its own lights.
type class uint8

const (
	overwrites class = iota // may be applied twice
	derives                 // may be applied twice as long as its sources are the same
	counts                  // must not be applied twice
	nothing                 // leaves no trace: MULTI, EXEC, SELECT
)

// record is one record of the input: one command.
type record struct {
	args  [][]byte
	class class
	keys  []int // that it writes; nil: none
	from  []int // that it only reads
	wide  bool  // touches every key of the node
	group int   // of its keys
	tx    int   // the transaction that it belongs to, from 1 on
	op    *parser.Op
	file  int
	bad   bool // respipe refuses it before it is a command
}

// names are the names of the keys.
var names = func() (names [keyCount]string) {
	for k := range names {
		names[k] = fmt.Sprintf("{%c}%d", 'a'+k/keysOfGroup, k%keysOfGroup)
	}
	return names
}()

// keyOf finds a key by its name.
func keyOf(name []byte) int {
	if len(name) != 4 || name[0] != '{' {
		return -1
	}
	return int(name[1]-'a')*keysOfGroup + int(name[3]-'0')
}

// groupOf returns the group of a key.
func groupOf(k int) int { return k / keysOfGroup }

// slots are the hash slots of the groups.
var slots = func() (slots [groups]int) {
	for g := range slots {
		slots[g] = parser.Slot([]byte(names[g*keysOfGroup]))
	}
	return slots
}()

// input makes the input of a load.
type input struct {
	s       *schedule
	records []record
	hot     int  // groups in use
	keys    int  // keys of each group in use
	tx      int  // number of the last transaction
	open    bool // it has not ended
}

// make makes the records.
func (in *input) make() {
	r := in.s.random
	in.hot = 1 + r.IntN(groups)
	in.keys = 1 + r.IntN(keysOfGroup)
	if in.s.shape.typed {
		in.hot, in.keys = min(in.hot, 2), 2
	}
	n := 30 + r.IntN(in.s.shape.records)
	for len(in.records) < n {
		group := r.IntN(in.hot)
		switch {
		case in.s.shape.transactions > 0 && r.IntN(100) < in.s.shape.transactions:
			if r.IntN(5) == 0 || in.s.shape.watches {
				in.watch(group)
			}
			in.transaction(group)
		case r.IntN(100) < in.s.shape.barriers:
			in.barrier()
		default:
			in.command(group)
		}
	}
}

// breakTransactions takes the records behind the end of a file out of the
// transaction that is open there.
func (in *input) breakTransactions() {
	broken := 0
	for i := 1; i < len(in.records); i++ {
		rec := &in.records[i]
		if rec.tx > 0 && rec.file != in.records[i-1].file && string(rec.args[0]) != "MULTI" {
			broken = rec.tx
		}
		if rec.tx == broken {
			rec.tx = 0
		}
	}
}

// add adds a record with these arguments.
func (in *input) add(rec record, args ...string) {
	for _, arg := range args {
		rec.args = append(rec.args, []byte(arg))
	}
	rec.file = len(in.records) / in.s.shape.file
	rec.op = in.s.ops.Find(rec.args)
	if in.open {
		rec.tx = in.tx
	}
	in.records = append(in.records, rec)
}

// number is the number of the next record, as an argument.
func (in *input) number() string { return strconv.Itoa(len(in.records) + 1) }

// key chooses a key of a group.
func (in *input) key(group int) int { return group*keysOfGroup + in.s.random.IntN(in.keys) }

// command adds a plain command.
func (in *input) command(group int) {
	if in.s.shape.splits > 0 && !in.open && in.s.extra.IntN(100) < in.s.shape.splits {
		in.split()
		return
	}
	k, n := in.key(group), in.number()
	other := in.key(group)
	choice := in.s.random.IntN(20)
	if in.s.shape.idempotent && (choice == 9 || choice > 14) {
		choice = 0
	}
	if in.s.shape.typed && choice < 18 {
		choice = []int{0, 6, 10}[choice%3]
	}
	switch {
	case choice < 6:
		in.add(record{class: overwrites, keys: []int{k}, group: group}, "SET", names[k], n)
	case choice < 8:
		in.add(record{class: overwrites, keys: []int{k}, group: group}, "SADD", names[k], n)
	case choice < 9:
		in.add(record{class: overwrites, keys: []int{k}, group: group}, "PEXPIREAT", names[k], n)
	case choice < 10 && other != k:
		in.add(record{class: derives, keys: []int{other}, from: []int{k}, group: group}, "ZRANGESTORE", names[other], names[k], "0", n)
	case choice < 12 && other != k:
		in.add(record{class: overwrites, keys: []int{k, other}, group: group}, "MSET", names[k], n, names[other], n)
	case choice < 13:
		in.add(record{class: overwrites, group: group}, "GETRANGE", names[k], "0", n)
	default:
		in.add(record{class: counts, keys: []int{k}, group: group}, "APPEND", names[k], n)
	}
}

// split adds a command with keys of several groups, which a cluster gets in
// parts. DEL names its record in keys that nothing else uses.
func (in *input) split() {
	r, n := in.s.extra, in.number()
	rec := record{class: overwrites, group: noGroup}
	name, del := "MSET", r.IntN(2) == 0
	if del {
		name = "DEL"
	}
	args := []string{name}
	for range 2 + r.IntN(3) {
		k := r.IntN(in.hot)*keysOfGroup + r.IntN(in.keys)
		if !contains(rec.keys, k) {
			rec.keys = append(rec.keys, k)
		}
		if args = append(args, names[k]); del {
			args = append(args, names[k][:3]+"#"+n)
		} else {
			args = append(args, n)
		}
	}
	in.add(rec, args...)
}

// barrier adds a command that may be a barrier.
func (in *input) barrier() {
	n := in.number()
	rec := record{class: counts, wide: true, group: noGroup}
	switch in.s.random.IntN(8) {
	case 0, 1:
		in.add(rec, "UNKNOWN", n)
	case 2:
		rec.class = overwrites
		in.add(rec, "SCRIPT", "LOAD", n)
	case 3:
		in.add(rec, "FUNCTION", "LOAD", n)
	case 4:
		in.add(record{class: counts, group: noGroup}, "PUBLISH", "channel", n)
	case 5:
		in.add(record{class: nothing, group: noGroup}, "CLIENT", "SETNAME", n)
	default:
		if in.s.shape.cluster {
			return
		}
		if in.s.random.IntN(4) == 0 {
			n = strconv.Itoa(noDatabase + len(in.records) + 1)
		}
		in.add(record{class: nothing, group: noGroup}, "SELECT", n)
	}
}

// change adds a session command inside of a transaction: mostly a SELECT, of a
// database that was selected before, of a new one, or of one that no server has.
func (in *input) change() {
	r := in.s.random
	rec, n := record{class: nothing, group: noGroup}, in.number()
	switch r.IntN(8) {
	case 0:
		in.add(rec, "CLIENT", "SETNAME", n)
		return
	case 1:
		n = strconv.Itoa(noDatabase + len(in.records) + 1)
	case 2, 3, 4:
		n = in.selected()
	}
	in.add(rec, "SELECT", n)
}

// selected returns a database that an earlier record has named.
func (in *input) selected() string {
	var all []string
	for i := range in.records {
		if rec := &in.records[i]; string(rec.args[0]) == "SELECT" {
			all = append(all, string(rec.args[1]))
		}
	}
	if all == nil {
		return "0"
	}
	return all[in.s.random.IntN(len(all))]
}

// watch adds a WATCH, perhaps with a command behind it, and seldom without the
// transaction that it is for. The number of the record is in a key that nothing
// else uses.
func (in *input) watch(group int) {
	in.add(record{class: nothing, group: group}, "WATCH", names[in.key(group)], names[group*keysOfGroup][:3]+"#"+in.number())
	if in.s.random.IntN(3) == 0 || in.s.shape.watches {
		in.command(group)
	}
	if in.s.random.IntN(8) == 0 {
		in.add(record{class: nothing, group: noGroup}, "UNWATCH")
	}
}

// transaction adds a transaction on keys of one group.
func (in *input) transaction(group int) {
	r := in.s.random
	in.tx++
	in.open = true
	spans := !in.s.shape.cluster && r.IntN(4) == 0
	n := 1 + r.IntN(6)
	if r.IntN(4) == 0 {
		n = 6 + r.IntN(14)
	}
	in.add(record{class: nothing, group: noGroup}, "MULTI")
	bad := r.IntN(8*n) == 0
	session := r.IntN(5) == 0
	for range n {
		if spans {
			group = r.IntN(in.hot)
		}
		if session && r.IntN(3) == 0 {
			in.change()
		}
		in.command(group)
	}
	in.records[len(in.records)-1].bad = bad
	if session && r.IntN(3) == 0 {
		in.change()
	}
	if r.IntN(12) == 0 {
		in.add(record{class: nothing, group: noGroup}, "DISCARD")
	} else {
		in.add(record{class: nothing, group: noGroup}, "EXEC")
	}
	in.open = false
}
