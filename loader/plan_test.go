package loader

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"respipe/parser"
)

// flightOf makes a flight of lines that begin with what became of them: "+"
// ran, "-" refused for good, "~" refused for now, "?" sent and not answered,
// "." not sent.
func flightOf(text string) (all []flown, written int64) {
	var ops parser.Ops
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		var b Batch
		b.reset(parser.Mark{N: int64(i + 1)}, "a.txt")
		b.start = written
		var args [][]byte
		for _, word := range strings.Fields(line[1:]) {
			args = append(args, []byte(word))
		}
		b.resp = parser.AppendCommand(nil, args)
		b.add(int64(i+1), parser.Pos{File: "a.txt", Line: i + 1}, ops.Find(args).Class, 0)
		got := 1
		switch line[0] {
		case '-':
			b.fail(0, []byte("ERR no"), false)
		case '~':
			b.fail(0, []byte("BUSY wait"), false)
			b.places[0].flags |= again
		case '?', '.':
			got = 0
		}
		if line[0] == '.' {
			b.start = math.MaxInt64 / 2
		} else {
			written += int64(len(b.resp))
		}
		all = append(all, flown{&b, got})
	}
	return all, written
}

func TestPlan(t *testing.T) {
	for _, test := range []struct {
		name   string
		flight string
		send   string // numbers of the lines
		unsure string // of the commands that may have run and cannot run twice
		rerun  string // of those that may find their key changed
		stays  string // of those that stay refused though refused for now
	}{
		{name: "one refused for now", flight: "+SET a 1\n~SET b 1\n+SET c 1", send: "2"},
		{name: "a later one on its key", flight: "~SET a 1\n+SET a 2\n+SET b 1", send: "1 2", rerun: "1"},
		{name: "keys of several", flight: "~SET a 1\n+MSET a 2 b 2\n+DEL b\n+SET c 1", send: "1 2 3", rerun: "1 2"},
		{name: "a later one that cannot run twice", flight: "~SET a 1\n+INCR a\n+SET a 3", stays: "1"},
		{name: "it was refused, too", flight: "~SET a 1\n~INCR a\n~SET a 3", send: "1 2 3"},
		{name: "it did not run", flight: "~SET a x\n-INCR a\n+SET a 3", send: "1 2 3", rerun: "1 2"},
		{name: "by way of another key", flight: "~SET a 1\n+MSET a 2 b 2\n+INCR b", stays: "1"},
		{name: "one stays, one does not", flight: "~SET a 1\n+INCR a\n~SET a 2", send: "3", stays: "1"},
		{name: "all keys", flight: "~SET a 1\n+FLUSHALL\n+SET b 1", send: "1 2 3", rerun: "1 2"},
		{name: "unknown command", flight: "~SET a 1\n+FT.ADD x y\n+SET b 1", stays: "1"},
		{name: "unanswered", flight: "+INCR a\n?SET a 1\n?SADD s x\n?DEL s\n.INCR a\n.RPUSH l x", send: "2 3 4 5 6", rerun: "3"},
		{name: "unanswered, cannot run twice", flight: "+SET a 1\n?INCR a\n.INCR b", send: "2 3", unsure: "2"},
		{name: "SET that may not run twice", flight: "?SET a 1 NX\n?SET b 1 EX 9\n?SET b 1 GET", send: "1 2 3", unsure: "1 3", rerun: "2"},
		{name: "block not ended", flight: "+SET a 1\n+MULTI\n+INCR a\n+INCR b", send: "2 3 4"},
		{name: "block, EXEC not sent", flight: "+MULTI\n?INCR a\n.EXEC\n.SET b 1", send: "1 2 3 4"},
		{name: "block, EXEC sent", flight: "+MULTI\n+INCR a\n?EXEC\n.SET b 1", send: "1 2 3 4", unsure: "1"},
		{name: "repeatable block, EXEC sent", flight: "+MULTI\n+SET a 1\n?EXEC\n?SET b 1", send: "1 2 3 4"},
		{name: "block that ends in DISCARD", flight: "+MULTI\n+INCR a\n?DISCARD\n?SET b 1", send: "1 2 3 4"},
		{name: "block refused for now", flight: "+MULTI\n~SET a 1\n+INCR b\n-EXEC\n+SET a 2", send: "1 2 3 4 5", rerun: "1"},
		{name: "block refused for good, too", flight: "+MULTI\n~SET a 1\n-WHAT b\n-EXEC\n+SET a 2", stays: "2"},
		{name: "block that ran behind one refused", flight: "~SET a 1\n+MULTI\n+SET a 2\n+SET b 2\n+EXEC\n+SET b 3", send: "1 2 3 4 5 6", rerun: "1 2"},
		{name: "block that ran and cannot twice", flight: "~SET a 1\n+MULTI\n+INCR a\n+EXEC", stays: "1"},
		{name: "half a block", flight: "~MULTI\n+SET a 1\n~EXEC", stays: "1 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, written := flightOf(test.flight)
			p := newPlan(&salvage{all: all, written: written})
			var send, unsure, rerun, stays []string
			for _, u := range p.units {
				u.explain()
				for i, part := range u.parts {
					n := string(rune('0' + part.b.N(part.i)))
					if u.send {
						send = append(send, n)
					}
					if u.rerun && i == 0 {
						rerun = append(rerun, n)
					}
					if fs := part.b.failures; len(fs) > 0 && strings.Contains(string(fs[0].Text), "not sent again") {
						stays = append(stays, n)
					}
				}
			}
			for _, u := range p.unsure {
				unsure = append(unsure, string(rune('0'+u.parts[0].b.N(0))))
			}
			for _, pair := range [][2]string{
				{strings.Join(send, " "), test.send}, {strings.Join(unsure, " "), test.unsure},
				{strings.Join(rerun, " "), test.rerun}, {strings.Join(stays, " "), test.stays},
			} {
				if pair[0] != pair[1] {
					t.Errorf("sent %v, unsure %v, rerun %v, stay refused %v", send, unsure, rerun, stays)
					break
				}
			}
		})
	}
}

// TestPlanOfSeveralConnections: a line has the connection, the number of its
// record and its index there, what became of it as in flightOf, and the command.
// What is sent again is in the order of the input, whatever the order of the
// connections, and keys are looked at over all of them.
func TestPlanOfSeveralConnections(t *testing.T) {
	for _, test := range []struct {
		name    string
		flights string
		send    string
		stays   string
	}{
		{name: "refused there, read later here", flights: "b 3.0 .APPEND k 2\na 2.0 ~APPEND k 1", send: "2.0 3.0"},
		{name: "of one record", flights: "b 2.1 .APPEND k 2\na 2.0 ~APPEND k 1\nb 2.2 .APPEND k 3", send: "2.0 2.1 2.2"},
		{name: "three connections", flights: "c 3.0 .SET k 3\nb 2.0 ~SET k 2\na 1.0 ~SET k 1\na 4.0 +SET l 1", send: "1.0 2.0 3.0"},
		{name: "it ran on another connection", flights: "b 3.0 +SET k 2\na 2.0 ~SET k 1", send: "2.0 3.0"},
		{name: "it ran there and cannot run twice", flights: "b 3.0 +APPEND k 2\na 2.0 ~SET k 1\nc 1.0 ~SET k 0", stays: "1.0 2.0"},
		{name: "an open transaction is the last", flights: "a 3.0 +MULTI\na 4.0 +SET k 1\nb 5.0 .SET k 0\nb 2.0 ~SET k 0", send: "2.0 5.0 3.0 4.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			work := map[string]*salvage{}
			for _, line := range strings.Split(test.flights, "\n") {
				conn, rest, _ := strings.Cut(line, " ")
				place, rest, _ := strings.Cut(rest, " ")
				all, _ := flightOf(rest)
				var n int64
				var index uint8
				fmt.Sscanf(place, "%d.%d", &n, &index)
				all[0].mark.N, all[0].places[0].index = n, index
				if work[conn] == nil {
					work[conn] = &salvage{written: everWritten}
				}
				work[conn].all = append(work[conn].all, all...)
			}
			for _, order := range []string{"a b c", "c b a", "b a c"} {
				var all []*salvage
				for _, conn := range strings.Fields(order) {
					if w := work[conn]; w != nil {
						all = append(all, w)
					}
				}
				var send, stays []string
				for _, u := range newPlan(all...).units {
					for _, part := range u.parts {
						place := fmt.Sprintf("%d.%d", part.b.N(part.i), part.b.places[part.i].index)
						if u.send {
							send = append(send, place)
						}
						if u.why != "" {
							stays = append(stays, place)
						}
					}
				}
				if strings.Join(send, " ") != test.send || strings.Join(stays, " ") != test.stays {
					t.Errorf("connections %s: sent %v, stay refused %v", order, send, stays)
				}
			}
		})
	}
}

func TestTemporary(t *testing.T) {
	for text, want := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":           true,
		"BUSY Redis is busy running a script.":                     true,
		"TRYAGAIN Multiple keys request during rehashing of slot":  true,
		"CLUSTERDOWN The cluster is down":                          true,
		"MASTERDOWN Link with MASTER is down":                      true,
		"EXECABORT Transaction discarded because of: BUSY Redis":   true,
		"EXECABORT Transaction discarded because of previous errs": false,
		"EXECABORT Transaction discarded because of: OOM command":  false,
		"BUSYKEY Target key name already exists.":                  false,
		"BUSYGROUP Consumer Group name already exists":             false,
		"ERR BUSY":                          false,
		"ERR because of: BUSY of something": false,
		"":                                  false,
	} {
		if isTemporary([]byte(text)) != want {
			t.Errorf("%q: temporary is %v", text, !want)
		}
	}
}
