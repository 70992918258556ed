package loader

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"respipe/internal/redistest"
	"respipe/parser"
)

// once is a configuration that loads exactly once into addr, and reads the
// input again where it must.
func once(addr, input string) Config {
	cfg := resuming(addr)
	cfg.ExactlyOnce = &ExactlyOnce{
		Name:     "load",
		Identity: func(parser.Mark) (json.RawMessage, error) { return json.RawMessage(`{"file":"a.txt"}`), nil },
		Reopen:   func(*Position) (Source, error) { return script(input), nil },
	}
	return cfg
}

// runOnce is a run of a command line: it reads the position, and goes on there.
func runOnce(t *testing.T, input string, cfg Config) (*Report, error) {
	t.Helper()
	from, err := ReadPosition(context.Background(), cfg, cfg.ExactlyOnce.Name)
	if err != nil {
		return &Report{}, err
	}
	cfg.ExactlyOnce.From = from
	return Run(context.Background(), scriptOf(input), cfg)
}

func scriptOf(input string) Source {
	if input == "" {
		return &lines{}
	}
	return script(input)
}

func TestExactlyOnceTransactions(t *testing.T) {
	server := redistest.Start(t)
	long := strings.Repeat("INCR n\n", 2500)
	nested, nestedRan := "a.txt:3 ERR MULTI calls can not be nested", "GET n: 1"
	if server.IsValkey() {
		nested, nestedRan = "a.txt:3 ERR Command not allowed inside a transaction;a.txt:4 EXECABORT Transaction discarded because of previous errors.", "EXISTS n: 0"
	}
	for _, test := range []struct {
		name, input string
		errors      string // "file:line text" of each, joined by a semicolon
		replies     int64
		setup       string // a command for redis-cli
		want        string // "COMMAND: answer", joined by a semicolon
		db          int    // behind the last record
	}{
		{"several", long, "", 2500, "", "GET n: 2500", 0},
		{"nothing", "", "", 0, "", "DBSIZE: 1", 0},
		{"refused by the source", "SET a 1\n!no\nSET b 2", "a.txt:2 no", 2, "", "GET b: 2", 0},
		{"nothing but refused", "!no\n!never", "a.txt:1 no;a.txt:2 never", 0, "", "DBSIZE: 1", 0},
		{"elements that are errors", "INCR n\nLPUSH n x\nINCR n\nSADD n x", "a.txt:2 WRONGTYPE Operation against a key holding the wrong kind of value;a.txt:4 WRONGTYPE Operation against a key holding the wrong kind of value", 4, "", "GET n: 2", 0},
		{"refused when queued", "INCR n\nFROB\nINCR n\nGET\nINCR n\nLPUSH n x", "a.txt:2 ERR unknown command 'FROB', with args beginning with: ;a.txt:4 ERR wrong number of arguments for 'get' command;a.txt:6 WRONGTYPE Operation against a key holding the wrong kind of value", 6, "", "GET n: 3", 0},
		{"all refused when queued", "FROB\nGET", "a.txt:1 ERR unknown command 'FROB', with args beginning with: ;a.txt:2 ERR wrong number of arguments for 'get' command", 2, "", "DBSIZE: 1", 0},
		{"a block of its own", "INCR n\nMULTI\nINCR n\nINCR n\nEXEC\nINCR n", "", 6, "", "GET n: 4", 0},
		{"an empty block", "MULTI\nEXEC", "", 2, "", "DBSIZE: 1", 0},
		{"an error in a block", "MULTI\nINCR n\nLPUSH n x\nINCR n\nEXEC\nINCR n", "a.txt:3 WRONGTYPE Operation against a key holding the wrong kind of value", 6, "", "GET n: 3", 0},
		{"a block that is refused", "INCR n\nMULTI\nINCR n\nFROB\nEXEC\nINCR n", "a.txt:4 ERR unknown command 'FROB', with args beginning with: ;a.txt:5 EXECABORT Transaction discarded because of previous errors.", 6, "", "GET n: 2", 0},
		{"a block that we refuse", "INCR n\nMULTI\nINCR n\n!no\nEXEC\nINCR n", "a.txt:4 no;a.txt:5 EXEC not sent: line 4 of its transaction was refused, so none of it ran", 4, "", "GET n: 2", 0},
		{"a block that is discarded", "INCR n\nMULTI\nINCR n\nDISCARD\nINCR n", "", 5, "", "GET n: 2", 0},
		{"a block without an end", "INCR n\nMULTI\nINCR n\n---\nINCR n", "a.txt:2 MULTI without EXEC: its transaction was discarded at the end of the file", 4, "", "GET n: 2", 0},
		{"MULTI inside a block", "MULTI\nINCR n\nMULTI\nEXEC", nested, 4, "", nestedRan, 0},
		{"ends without a beginning", "EXEC\nINCR n\nDISCARD\nUNWATCH\nINCR n\nEXEC x", "a.txt:1 EXEC without MULTI;a.txt:3 DISCARD without MULTI;a.txt:6 EXEC without MULTI", 3, "", "GET n: 2", 0},
		{"what cannot be", "WATCH a\nSWAPDB 0 1\nAUTH x\nINCR n", "a.txt:1 WATCH cannot be loaded exactly once: what runs must not depend on other clients;" +
			"a.txt:2 SWAPDB cannot be loaded exactly once: it would move the position to another database;" +
			"a.txt:3 AUTH cannot be loaded exactly once: a run that goes on behind it would not be logged in by it", 1, "", "GET n: 1", 0},
		{"SWAPDB in a block", "MULTI\nINCR n\nSWAPDB 0 1\nEXEC", "a.txt:3 SWAPDB cannot be loaded exactly once: it would move the position to another database;a.txt:4 EXEC not sent: line 3 of its transaction was refused, so none of it ran", 2, "", "EXISTS n: 0", 0},
		{"databases", "INCR n\nSELECT 3\nINCR n\nINCR n\nSELECT 2\nINCR n", "", 6, "", "GET n: 1;-n 3 GET n: 2;-n 2 GET n: 1;-n 3 EXISTS respipe:load: 0", 2},
		{"a database that is not there", "SELECT 3\nINCR n\nSELECT 99\nINCR n\nSELECT x\nINCR n", "a.txt:3 ERR DB index is out of range;a.txt:5 ERR value is not an integer or out of range", 6, "", "EXISTS n: 0;-n 3 GET n: 3", 3},
		{"databases in blocks", "SELECT 3\nMULTI\nINCR n\nSELECT 4\nINCR n\nSELECT 99\nEXEC\nINCR n\nMULTI\nINCR n\nSELECT 5\nDISCARD\nINCR n", "a.txt:6 ERR DB index is out of range", 13, "", "EXISTS n: 0;-n 3 GET n: 1;-n 4 GET n: 3;-n 5 EXISTS n: 0", 4},
		{"FLUSHALL", "INCR n\nFLUSHALL\nINCR n\n" + long + "FLUSHDB", "", 2504, "", "DBSIZE: 1", 0},
		{"the key itself", "DEL respipe:load\nINCR n\nRENAME respipe:load x\nLPUSH respipe:load x\nINCR n", "a.txt:3 ERR no such key", 5, "", "GET n: 2", 0},
		{"a block with a wrong end", "MULTI\nINCR n\nEXEC x\nINCR n\nDISCARD x", "a.txt:3 EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command;a.txt:5 DISCARD without MULTI", 4, "", "GET n: 1", 0},
		{"long replies", strings.Repeat("GET big\nINCR n\n", 60), "", 120, "SETRANGE big 1000000 x", "GET n: 60", 0},
		{"waiting", "BLPOP empty 0.1\nINCR n\nMULTI\nBLPOP empty 0\nEXEC", "", 5, "", "GET n: 1", 0},
		{"what changes the connection", "CLIENT SETNAME me\nCLIENT GETNAME\nINCR n\nASKING", "a.txt:4 ERR This instance has cluster support disabled", 4, "", "GET n: 1", 0},
		{"commands that wait outside", "SAVE\nINCR n", "a.txt:1 ERR Command not allowed inside a transaction", 2, "", "GET n: 1", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			server.CLI("FLUSHALL")
			if test.setup != "" {
				server.CLI(strings.Fields(test.setup)...)
			}
			cfg := once(server.Addr, test.input)
			var s shown
			cfg.OnSettled = s.settled
			rep, err := runOnce(t, test.input, cfg)
			if got := strings.Join(s.errors, ";"); err != nil || got != test.errors {
				t.Errorf("%v, %q", err, got)
			}
			if n := int64(strings.Count(test.errors, "a.txt:")); rep.Replies != test.replies || rep.Errors != n || rep.Acknowledged+rep.Refused != rep.Records {
				t.Errorf("%d replies, %d errors, %d acknowledged, %d refused of %d", rep.Replies, rep.Errors, rep.Acknowledged, rep.Refused, rep.Records)
			}
			if !slices.IsSorted(s.order) && !strings.Contains(test.errors, "MULTI without") || int64(len(s.order)) < rep.Records {
				t.Errorf("settled in the order %v", s.order)
			}
			for line := range strings.SplitSeq(test.want, ";") {
				command, want, _ := strings.Cut(line, ": ")
				if got := server.CLI(strings.Fields(command)...); got != want {
					t.Errorf("%s: %s, want %s", command, got, want)
				}
			}
			p, err := ReadPosition(context.Background(), cfg, "load")
			if err != nil || !p.Done || p.Records != rep.Records || p.Errors != rep.Errors || p.Mark.DB != test.db || rep.Records > 0 && string(p.Input) != `{"file":"a.txt"}` {
				t.Errorf("position %+v, %v", p, err)
			}
			again, err := runOnce(t, test.input, once(server.Addr, test.input))
			if err != nil || !again.DoneBefore || again.Records+again.Replies+again.Errors > 0 || again.EarlierRecords != rep.Records || again.EarlierErrors != rep.Errors {
				t.Errorf("the second run: %v, %+v", err, again)
			}
		})
	}
}
