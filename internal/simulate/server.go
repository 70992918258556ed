package simulate

import (
	"fmt"
	"strconv"
	"time"
)

// kind is the type of a value.
type kind uint8

const (
	missing kind = iota
	text
	set
)

// application is one execution of a record on a key.
type application struct {
	record, key int
	before      kind // of the key
}

// server is a simulated server: a process that has keys.
type server struct {
	s       *schedule
	index   int
	process int // run id
	master  bool
	kinds   [keyCount]kind
	order   []application // what a replica gets, in this order
	down    time.Duration
	busy    time.Duration
	refuses time.Duration // writes, until then
	told    bool          // the engine knows a process of it
	losses  []*loss
	view    [groups]int  // who has the slots, as the server knows
	leaving [groups]int  // where a slot migrates to; -1
	coming  [groups]int  // where a slot comes from; -1
	scripts map[int]bool // what was sent to every master
}

// address returns the address of the server as the engine knows it.
func (sv *server) address() string {
	if sv.s.shape.ipv6 {
		return "[::1]:700" + strconv.Itoa(sv.index)
	}
	return "10.0.0.1:700" + strconv.Itoa(sv.index)
}

// announced returns the address as servers write it in redirects.
func (sv *server) announced() string {
	if sv.s.shape.ipv6 {
		return "::1:700" + strconv.Itoa(sv.index)
	}
	return ":700" + strconv.Itoa(sv.index)
}

// up reports whether the server can be reached.
func (sv *server) up() bool { return sv.s.now >= sv.down }

// runID returns the run id of the process.
func (sv *server) runID() string { return fmt.Sprintf("%d.%d", sv.index, sv.process) }

// check returns the error with which the server refuses a command on keys; ""
// if it does not.
func (sv *server) check(keys []int, asking bool) string {
	if sv.s.now < sv.busy {
		return "BUSY Redis is busy running a script."
	}
	if len(keys) == 0 || !sv.s.shape.cluster {
		return ""
	}
	group := groupOf(keys[0])
	have, lack := 0, 0
	for _, k := range keys {
		if sv.kinds[k] == missing {
			lack++
		} else {
			have++
		}
	}
	switch {
	case sv.view[group] == sv.index && sv.master:
		if to := sv.leaving[group]; to >= 0 && lack > 0 {
			if have > 0 {
				return "TRYAGAIN Multiple keys request during rehashing of slot"
			}
			return fmt.Sprintf("ASK %d %s", slots[group], sv.s.servers[to].announced())
		}
		return ""
	case sv.coming[group] >= 0 && asking:
		if lack > 0 && len(keys) > 1 {
			return "TRYAGAIN Multiple keys request during rehashing of slot"
		}
		return ""
	}
	return fmt.Sprintf("MOVED %d %s", slots[group], sv.s.servers[sv.view[group]].announced())
}

// apply executes a record on a key, which then has a type.
func (sv *server) apply(record, k int, to kind) {
	sv.order = append(sv.order, application{record, k, sv.kinds[k]})
	sv.kinds[k] = to
	sv.s.history[k] = append(sv.s.history[k], record)
}
