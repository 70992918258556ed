package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"respipe/parser"
)

// A command for all nodes goes to those that are masters when everything before
// it is answered; one for all connections, to those that there are then.
func TestBroadcastGoesToTheMastersOfNow(t *testing.T) {
	low := keyIn(true)
	for _, row := range []struct {
		command   string
		successor string // of node a
		log       map[string]string
	}{
		{"FLUSHALL", "b:1", map[string]string{"b:1": "SET 1, FLUSHALL, SET 2", "c:1": "FLUSHALL"}},
		{"SCRIPT LOAD x", "b:1", map[string]string{"b:1": "SET 1, SCRIPT LOAD x, SET 2", "c:1": "SCRIPT LOAD x"}},
		{"CLIENT SETNAME x", "b:1", map[string]string{"b:1": "SET 1, CLIENT SETNAME x, SET 2", "c:1": "CLIENT SETNAME x"}},
		{"FLUSHALL", "c:1", map[string]string{"c:1": "SET 1, FLUSHALL, SET 2"}},
		{"CLIENT SETNAME x", "c:1", map[string]string{"c:1": "SET 1, CLIENT SETNAME x, SET 2"}},
	} {
		t.Run(row.command+" "+row.successor, func(t *testing.T) {
			var moved atomic.Bool
			nodes := map[string]*scripted{
				"a:1": {slots: func() []slotRange {
					if moved.Load() {
						return halves(row.successor, "c:1")()
					}
					return halves("a:1", "c:1")()
				}, reply: func(n *scripted, args []string) []byte {
					moved.Store(true)
					return fmt.Appendf(nil, "-MOVED %d %s\r\n", parser.Slot([]byte(low)), row.successor)
				}},
				"b:1": {slots: halves(row.successor, "c:1"), reply: acceptAll},
				"c:1": {slots: halves(row.successor, "c:1"), reply: acceptAll},
			}
			text := fmt.Sprintf("SET %[1]s 1\n%[2]s\nSET %[1]s 2", low, row.command)
			rep, err := runWithin(t, 10*time.Second, t.Context(), script(text), scriptedCluster(t, nodes))
			if err != nil || rep.Errors > 0 || rep.Replies != 3 || rep.Acknowledged != 3 {
				t.Errorf("%v, %+v", err, rep)
			}
			for addr, want := range row.log {
				if got := nodes[addr].executed(); got != strings.ReplaceAll(want, "SET ", "SET "+low+" ") && !strings.Contains(want, "SETNAME") ||
					!strings.Contains(got, row.command) {
					t.Errorf("%s executed %s, want %s", addr, got, want)
				}
			}
		})
	}
}

// A master fails while a transaction is open on it. Its successor gets all of
// the transaction, and what follows is retried, sent to all nodes and sent on
// new connections as before.
func TestFailoverInsideTransaction(t *testing.T) {
	for _, then := range []string{"BUSY", "FLUSHALL", "lost"} {
		t.Run(then, func(t *testing.T) {
			low, high := keyIn(true), keyIn(false)
			var failed, once atomic.Bool
			slots := func() []slotRange {
				if failed.Load() {
					return halves("b:1", "c:1")()
				}
				return halves("a:1", "c:1")()
			}
			nodes := map[string]*scripted{
				"a:1": {slots: slots, reply: transactions(70)},
				"b:1": {slots: slots, reply: transactions(70)},
				"c:1": {slots: slots, reply: func(n *scripted, args []string) []byte {
					if then != "FLUSHALL" && once.CompareAndSwap(false, true) {
						if then == "BUSY" {
							return []byte("-BUSY later\r\n")
						}
						return nil
					}
					return acceptAll(n, args)
				}},
			}
			cfg := scriptedCluster(t, nodes)
			cfg.Window = 1
			text, wantB, wantC := "MULTI\n", "MULTI, ", ""
			for i := range 70 { // too many to be sent whole
				text += fmt.Sprintf("SET %s %d\n", low, i)
				wantB += fmt.Sprintf("SET %s %d, ", low, i)
			}
			text += "EXEC\n"
			if then == "FLUSHALL" {
				text, wantC = text+"FLUSHALL\n", "FLUSHALL, "
			}
			for i := range 4 {
				text += fmt.Sprintf("SET %s %d\n", high, i)
			}
			src := script(text)
			src.before = func(n int64) {
				if n == 68 {
					eventuallyExecuted(t, nodes["a:1"], "MULTI, SET "+low+" 0")
					failed.Store(true)
					nodes["a:1"].cut(true)
				}
			}
			rep, err := runWithin(t, 20*time.Second, t.Context(), src, cfg)
			if err != nil || rep.Errors > 0 {
				t.Errorf("%v, %d errors, %v", err, rep.Errors, kindTexts(rep))
			}
			account(t, rep)
			wantC += strings.ReplaceAll("SET k 0, SET k 1, SET k 2, SET k 3", "k", high)
			if b, c := nodes["b:1"].executed(), nodes["c:1"].executed(); !strings.HasPrefix(b, wantB+"EXEC") || c != wantC {
				t.Errorf("b executed %s\nc executed %s", b, c)
			}
		})
	}
}

// eventuallyExecuted waits until the log of a node begins so.
func eventuallyExecuted(t *testing.T, n *scripted, prefix string) {
	for end := time.Now().Add(10 * time.Second); !strings.HasPrefix(n.executed(), prefix); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s executed %s, not %s", n.addr, n.executed(), prefix)
			return
		}
	}
}

// An interrupt ends a load while a retryable error keeps commands, whether
// replicas are waited for or not.
func TestInterruptWhileRetrying(t *testing.T) {
	for _, replicas := range []int{0, 1} {
		var refused atomic.Bool
		cfg := config(serve(t, func(args []string) []byte {
			if args[0] == "WAIT" {
				return []byte(":1\r\n")
			}
			refused.Store(true)
			return []byte("-BUSY later\r\n")
		}))
		cfg.OnDisconnect, cfg.RetryFor, cfg.WaitReplicas = Resume, 30*time.Second, replicas
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for !refused.Load() {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond)
			cancel()
		}()
		rep, err := runWithin(t, 10*time.Second, ctx, script("SET a 1\nSET b 1"), cfg)
		if !errors.Is(err, context.Canceled) || rep.Acknowledged != 0 {
			t.Errorf("%d replicas: %v, %+v", replicas, err, rep)
		}
		account(t, rep)
	}
}

// An interrupt in the middle of a transaction, when the connection to another
// node is lost, does not wait for the rest of the transaction.
func TestInterruptInsideTransactionAndLostConnection(t *testing.T) {
	low, high := keyIn(true), keyIn(false)
	nodes := map[string]*scripted{
		"a:1": {slots: halves("a:1", "c:1"), reply: transactions(4)},
		"c:1": {slots: halves("a:1", "c:1"), reply: func(n *scripted, args []string) []byte { n.execute(args); return []byte{} }},
	}
	cfg := scriptedCluster(t, nodes)
	cfg.Window, cfg.Timeout = 1, 60*time.Second
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	src := script("SET " + high + " 1\nMULTI\n" + strings.Repeat("SET "+low+" 1\n", 100) + "EXEC") // too long to be sent whole
	src.before = func(n int64) {
		if n == 90 {
			eventuallyExecuted(t, nodes["c:1"], "SET")
			eventuallyExecuted(t, nodes["a:1"], "MULTI")
			nodes["c:1"].cut(false)
			time.Sleep(50 * time.Millisecond) // so that the loss is noticed first
			cancel()
		}
	}
	rep, err := runWithin(t, 10*time.Second, ctx, src, cfg)
	if err == nil || rep.Unknown != 1 || rep.Acknowledged != 0 {
		t.Errorf("%v, %+v", err, rep)
	}
}

// chunks is a Source of lines that come in chunks: the first two lines at once,
// the others when ready brings something.
type chunks struct {
	*lines
	ready chan []byte
}

func (s *chunks) Next(c *parser.Command) error {
	if s.n >= 2 {
		if _, ok, err := s.wait(s.ready); err != nil || !ok {
			if err == nil {
				err = io.EOF
			}
			return err
		}
	}
	return s.lines.Next(c)
}

// The slots of two keys have moved, one to the node that the other leaves, and
// the nodes do not agree for a while. What is read meanwhile for a key runs
// behind what was refused before, wherever each of them was to go first.
func TestOrderWhileTwoSlotsMove(t *testing.T) {
	k, m := keyIn(false), keyIn(true) // at first k lies on a, m on b
	ks, ms := parser.Slot([]byte(k)), parser.Slot([]byte(m))
	var moved, agreed atomic.Bool
	slots := func(me string) func() []slotRange {
		return func() []slotRange {
			if !moved.Load() {
				return halves("b:1", "a:1")()
			}
			owner := "c:1"
			if me == "c:1" && !agreed.Load() {
				owner = "b:1"
			}
			half := parser.Slots / 2
			return []slotRange{{0, ms - 1, "b:1"}, {ms, ms, owner}, {ms + 1, half - 1, "b:1"}, {half, ks - 1, "a:1"}, {ks, ks, "b:1"}, {ks + 1, parser.Slots - 1, "a:1"}}
		}
	}
	reply := func(n *scripted, args []string) []byte {
		if !moved.Load() {
			time.Sleep(30 * time.Millisecond) // so that both commands are sent
			moved.Store(true)
		}
		slot, owner := parser.Slot([]byte(args[1])), n.addr
		switch slot {
		case ks:
			owner = "b:1"
		case ms:
			owner = "c:1"
		}
		if owner != n.addr {
			return fmt.Appendf(nil, "-MOVED %d %s\r\n", slot, owner)
		}
		return acceptAll(n, args)
	}
	nodes := map[string]*scripted{"a:1": {slots: slots("a:1"), reply: reply}, "b:1": {slots: slots("b:1"), reply: reply}, "c:1": {slots: slots("c:1"), reply: reply}}
	src := &chunks{script(fmt.Sprintf("SET %s 1\nAPPEND %s 1\nAPPEND %s 2", m, k, k)), make(chan []byte, 1)}
	go func() {
		for !moved.Load() {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond) // meanwhile the nodes were asked in vain
		src.ready <- nil
		time.Sleep(100 * time.Millisecond)
		agreed.Store(true)
		close(src.ready)
	}()
	rep, err := runWithin(t, 20*time.Second, t.Context(), src, scriptedCluster(t, nodes))
	if err != nil || rep.Acknowledged != 3 || rep.Errors > 0 {
		t.Errorf("%v, %+v, %v", err, rep, kindTexts(rep))
	}
	if got, want := nodes["b:1"].executed(), strings.ReplaceAll("APPEND k 1, APPEND k 2", "k", k); got != want {
		t.Errorf("b executed %s, want %s", got, want)
	}
}

// Nodes name each other in many forms.
func TestAddressesOfNodes(t *testing.T) {
	for _, row := range [][3]string{
		{"127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7000"},
		{"redis-1.example:7000", "127.0.0.1:7001", "redis-1.example:7000"},
		{":7000", "127.0.0.1:7001", "127.0.0.1:7000"},
		{"?:7000", "127.0.0.1:7001", "127.0.0.1:7000"},
		{":7000", "[::1]:7001", "[::1]:7000"},
		{"::1:7000", "[::1]:7001", "[::1]:7000"},
		{"[::1]:7000", "[::1]:7001", "[::1]:7000"},
		{"fe80::1:2:7000", "[::1]:7001", "[fe80::1:2]:7000"},
		{"2001:db8::7000:7000", "127.0.0.1:7001", "[2001:db8::7000]:7000"},
		{"nonsense", "127.0.0.1:7001", "nonsense"},
	} {
		for _, word := range []string{"MOVED", "ASK"} {
			d, ok := parseRedirect([]byte(word + " 1 " + row[0]))
			if got := announced(d.addr, row[1]); !ok || got != row[2] {
				t.Errorf("%s to %s from %s: %v, %s, want %s", word, row[0], row[1], ok, got, row[2])
			}
		}
	}
}

// selecting is a server that has databases and transactions. It refuses the
// SELECTs, counted over all connections, whose numbers are given, outside of a
// transaction, and counts the SETs in each database.
type selecting struct {
	mu      sync.Mutex
	refuse  map[int]string
	selects int
	sets    map[string]int
}

func (s *selecting) dial(t *testing.T) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		db, multi, pending := "0", false, ""
		return serve(t, func(args []string) []byte {
			s.mu.Lock()
			defer s.mu.Unlock()
			switch {
			case args[0] == "MULTI":
				multi = true
			case args[0] == "EXEC":
				multi, db = false, pending
				return []byte("*1\r\n+OK\r\n")
			case args[0] == "SELECT" && multi:
				pending = args[1]
				return []byte("+QUEUED\r\n")
			case args[0] == "SELECT":
				s.selects++
				if text := s.refuse[s.selects]; text != "" {
					return []byte("-" + text + "\r\n")
				}
				db = args[1]
			case args[0] == "SET":
				s.sets[db]++
			}
			return []byte("+OK\r\n")
		})(ctx)
	}
}

// A SELECT that one of several connections refuses does not leave that
// connection in another database than the others: it is closed, and the load ends
// if the next one is refused, too.
func TestSelectRefusedOnOneConnection(t *testing.T) {
	for _, row := range []struct {
		name, text string
		refuse     map[int]string
		err        string
	}{
		{"of a transaction, for now", "MULTI\nSELECT 5\nEXEC\n", map[int]string{1: "BUSY Redis is busy running a script"}, ""},
		{"of a transaction, for good", "MULTI\nSELECT 5\nEXEC\n", map[int]string{1: "ERR no"}, ""},
		{"plain, the second for now", "SELECT 5\n", map[int]string{2: "LOADING Redis is loading"}, ""},
		{"plain, the second for good", "SELECT 5\n", map[int]string{2: "ERR no"}, ""},
		{"plain, the second always once more", "SELECT 5\n", map[int]string{2: "ERR no", 3: "ERR no"}, "SELECT cannot be done on the new connection: ERR no"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &selecting{refuse: row.refuse, sets: map[string]int{}}
			cfg := config(nil)
			cfg.Dial = s.dial(t)
			cfg.OnDisconnect, cfg.RetryFor, cfg.Connections, cfg.Window = Resume, 5*time.Second, 2, 1
			rep, err := runWithin(t, 20*time.Second, t.Context(), script(row.text+sets(100)), cfg)
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) || len(s.sets) > 0 {
					t.Errorf("%v, SETs by database: %v", err, s.sets)
				}
				return
			}
			if err != nil || rep.Errors != 0 || s.sets["5"] != 100 {
				t.Errorf("%v, %d errors, %v, SETs by database: %v", err, rep.Errors, kindTexts(rep), s.sets)
			}
		})
	}
}

// A redirect to a node that cannot be reached is given up after RetryFor. What
// is refused for now later is retried for as long again.
func TestRetriesAfterOneWasGivenUp(t *testing.T) {
	low, high := keyIn(true), keyIn(false)
	var busy atomic.Bool
	nodes := map[string]*scripted{
		"a:1": {slots: halves("a:1", "c:1"), reply: func(n *scripted, args []string) []byte {
			return fmt.Appendf(nil, "-MOVED %d gone:1\r\n", parser.Slot([]byte(low)))
		}},
		"c:1": {slots: halves("a:1", "c:1"), reply: func(n *scripted, args []string) []byte {
			if args[2] == "3" && busy.CompareAndSwap(false, true) {
				return []byte("-BUSY once\r\n")
			}
			return acceptAll(n, args)
		}},
	}
	cfg := scriptedCluster(t, nodes)
	cfg.Window, cfg.RetryFor = 1, 150*time.Millisecond
	text := "SET " + low + " 0\n"
	for i := range 6 {
		text += fmt.Sprintf("SET %s %d\n", high, i)
	}
	rep, err := runWithin(t, 10*time.Second, t.Context(), script(text), cfg)
	if err != nil || rep.Errors != 1 || rep.Acknowledged != 6 {
		t.Errorf("%v, %d errors, %d acknowledged, %v", err, rep.Errors, rep.Acknowledged, kindTexts(rep))
	}
}

// Nodes that do not agree for a moment are asked again, with a timeout and
// without.
func TestRedirectWithoutTimeout(t *testing.T) {
	low := keyIn(true)
	for _, timeout := range []time.Duration{30 * time.Second, 0} {
		var begun, agreed atomic.Bool
		after := func(done *atomic.Bool) func() []slotRange {
			return func() []slotRange {
				if done.Load() {
					return halves("b:1", "a:1")()
				}
				return halves("a:1", "a:1")()
			}
		}
		nodes := map[string]*scripted{
			"a:1": {slots: after(&begun), reply: func(n *scripted, args []string) []byte {
				if begun.CompareAndSwap(false, true) {
					time.AfterFunc(100*time.Millisecond, func() { agreed.Store(true) })
				}
				return fmt.Appendf(nil, "-MOVED %d b:1\r\n", parser.Slot([]byte(low)))
			}},
			"b:1": {slots: after(&agreed), reply: acceptAll},
		}
		cfg := scriptedCluster(t, nodes)
		cfg.Timeout = timeout
		rep, err := runWithin(t, 4*time.Second, t.Context(), script("SET "+low+" 1"), cfg)
		if err != nil || rep.Acknowledged != 1 {
			t.Errorf("timeout %v: %v, %+v", timeout, err, rep)
		}
	}
}

// A transaction and a plain command were in flight on a lost connection and are
// resent. The error that one of them gets then says nothing of its first attempt,
// behind which a later one may have made its key another type: its outcome is
// unknown. Of one that was acknowledged before it would be no error: see
// TestWrongTypeOfSecondRun of the engine.
func TestWrongTypeOfWhatRunsAgain(t *testing.T) {
	for _, text := range []string{"HSET k f v\nDEL k\nSET k x", "MULTI\nHSET k f v\nEXEC\nDEL k\nSET k x", "MULTI\nPING\nHSET k f v\nEXEC\nDEL k\nSET k x"} {
		var dials atomic.Int32
		cfg := config(nil)
		cfg.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
			first := dials.Add(1) == 1
			multi, elements := false, ""
			return serve(t, func(args []string) []byte {
				switch {
				case first:
					return []byte{}
				case args[0] == "CLIENT":
					return []byte(":1\r\n")
				case args[0] == "MULTI":
					multi = true
				case args[0] == "EXEC":
					multi = false
					return fmt.Appendf(nil, "*%d\r\n%s", strings.Count(elements, "\n"), elements)
				case args[0] == "HSET" && multi:
					elements += "-WRONGTYPE Operation\r\n"
					return []byte("+QUEUED\r\n")
				case multi:
					elements += "+OK\r\n"
					return []byte("+QUEUED\r\n")
				case args[0] == "HSET":
					return []byte("-WRONGTYPE Operation\r\n")
				}
				return []byte("+OK\r\n")
			})(ctx)
		}
		cfg.OnDisconnect, cfg.RetryFor, cfg.Timeout, cfg.ConnectTimeout = Resume, 3*time.Second, 50*time.Millisecond, time.Second
		rep, err := runWithin(t, 10*time.Second, t.Context(), script(text), cfg)
		if err != nil || rep.Errors != 1 || rep.Unknown != 1 || rep.Acknowledged != rep.Records-1 {
			t.Errorf("%q: %v, %+v, %v", text, err, rep, kindTexts(rep))
		}
	}
}
