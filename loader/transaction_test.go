package loader

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"respipe/parser"
)

// inTransaction returns a transaction of these lines as it is sent, "!" being a
// record that was refused.
func inTransaction(db int, lines ...string) *transaction {
	x := &exactly{run: &run{db: db}, key: "k"}
	t := &transaction{next: Position{raw: []byte("P")}}
	b := &Batch{}
	b.reset(parser.Mark{}, "a.txt")
	var ops parser.Ops
	for i, line := range lines {
		pos := parser.Pos{File: "a.txt", Line: i + 1}
		if line == "!" {
			b.add(int64(i+1), pos, parser.Refused, refused)
			continue
		}
		args := bytes.Fields([]byte(line))
		op := ops.Find(args)
		b.append(&parser.Command{Pos: pos, N: int64(i + 1), Args: args, Op: op}, 0)
		t.block = t.block || op.Class == parser.Multi
		t.discarded = t.discarded || op.Class == parser.Discard
		t.changes = t.changes || op.Class == parser.State
	}
	t.batches = []*Batch{b}
	x.write(t)
	return t
}

func TestTransactionIsWritten(t *testing.T) {
	for _, test := range []struct {
		db    int
		lines []string
		want  string
	}{
		{0, []string{"INCR a", "!", "INCR b"}, "MULTI;INCR a;INCR b;SET k P;EXEC;WATCH k;GET k"},
		{3, []string{"INCR a"}, "MULTI;SELECT 3;INCR a;SELECT 0;SET k P;EXEC;WATCH k;GET k"},
		{0, []string{"SELECT 2", "INCR a"}, "MULTI;SELECT 2;INCR a;SELECT 0;SET k P;EXEC;WATCH k;GET k"},
		{0, []string{"MULTI", "INCR a", "EXEC"}, "MULTI;INCR a;SET k P;EXEC;WATCH k;GET k"},
		{3, []string{"MULTI", "INCR a", "EXEC"}, "MULTI;SELECT 3;INCR a;SELECT 0;SET k P;EXEC;WATCH k;GET k"},
		{3, []string{"MULTI", "INCR a", "DISCARD"}, "MULTI;SELECT 3;INCR a;DISCARD;WATCH k;GET k"},
		{0, nil, "MULTI;SET k P;EXEC;WATCH k;GET k"},
	} {
		var sent []byte
		tx := inTransaction(test.db, test.lines...)
		for _, s := range tx.spans {
			sent = append(sent, s.resp...)
		}
		var got []string
		for len(sent) > 0 {
			args := parser.ParseRequest(sent, nil)
			got = append(got, string(bytes.Join(args, []byte(" "))))
			sent = sent[len(parser.AppendCommand(nil, args)):]
		}
		if text := strings.Join(got, ";"); text != test.want {
			t.Errorf("database %d, %q is sent as\n%s, not as\n%s", test.db, test.lines, text, test.want)
		}
	}
}

// TestTransactionIsAnswered reads each answer in one piece, and cut at every
// byte.
func TestTransactionIsAnswered(t *testing.T) {
	block := []string{"MULTI", "INCR a", "EXEC"}
	plain := []string{"INCR a", "!", "LPUSH a", "INCR b"}
	const behind = "+OK\r\n$1\r\nP\r\n"
	for _, test := range []struct {
		name    string
		db      int
		lines   []string
		replies string
		want    string // what is known then
		wrong   bool   // the connection is of no use
	}{
		{"all went in", 0, plain, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n:1\r\n:2\r\n:1\r\n+OK\r\n" + behind, "ran, key P", false},
		{"an element is an error", 0, plain, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n:1\r\n-WRONGTYPE x\r\n*1\r\n-ERR deep\r\n+OK\r\n" + behind, "2: WRONGTYPE x; ran, key P", false},
		{"all are errors", 3, plain, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*6\r\n+OK\r\n-A\r\n-B\r\n-C\r\n+OK\r\n+OK\r\n" + behind, "0: A; 2: B; 3: C; ran, key P", false},
		{"what we add is an error", 3, plain, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*6\r\n+OK\r\n:1\r\n:1\r\n:1\r\n+OK\r\n-NOPERM x\r\n" + behind, "ran, not written: NOPERM x, key P", false},
		{"one is refused", 0, plain, "+OK\r\n+QUEUED\r\n-ERR x\r\n+QUEUED\r\n+QUEUED\r\n-EXECABORT y\r\n" + behind, "2: ERR x; aborted: EXECABORT y, key P", false},
		{"the position is refused", 0, plain, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n-OOM x\r\n-EXECABORT y\r\n" + behind, "refused: OOM x, aborted: EXECABORT y, key P", false},
		{"another run", 0, plain, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*-1\r\n+OK\r\n$5\r\nother\r\n", "key other", false},
		{"nothing there", 0, plain, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*-1\r\n+OK\r\n$-1\r\n", "no key", false},
		{"a block", 0, block, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n+OK\r\n" + behind, "ran, key P", false},
		{"a block that is refused", 0, block, "+OK\r\n-ERR x\r\n+QUEUED\r\n-EXECABORT y\r\n" + behind, "1: ERR x; 2: EXECABORT y; aborted: EXECABORT y, key P", false},
		{"a block that is discarded", 0, []string{"MULTI", "INCR a", "DISCARD"}, "+OK\r\n+QUEUED\r\n+OK\r\n" + behind, "key P", false},
		{"the server is busy", 0, []string{"INCR a"}, "+OK\r\n-BUSY x\r\n-BUSY x\r\n-EXECABORT y\r\n-BUSY x\r\n-BUSY x\r\n", "0: BUSY x; refused: BUSY x, aborted: EXECABORT y, key is an error", false},
		{"no MULTI", 0, []string{"INCR a"}, "-NOPERM x\r\n:1\r\n+OK\r\n-ERR y\r\n" + behind, "outside, aborted: ERR y, key P", false},
		{"nothing is queued", 0, []string{"INCR a"}, "+OK\r\n+OK\r\n+OK\r\n*0\r\n" + behind, "outside, ran, key P", false},
		{"a bulk string in place of QUEUED", 0, plain, "+OK\r\n+QUEUED\r\n$6\r\nQUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n:2\r\n+OK\r\n" + behind, "outside, ran, key P", false},
		{"an array in place of QUEUED", 0, plain, "+OK\r\n+QUEUED\r\n*1\r\n-QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n:2\r\n+OK\r\n" + behind, "outside, ran, key P", false},
		{"a null in place of QUEUED for the position", 0, plain, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n$-1\r\n*3\r\n:1\r\n:2\r\n:1\r\n" + behind, "outside, ran, key P", false},
		{"no EXEC", 0, []string{"INCR a"}, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+OK\r\n" + behind, "outside, key P", false},
		{"what nobody asked for", 0, []string{"INCR a"}, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n+OK\r\n" + behind + "+OK\r\n", "", true},
		{"no RESP", 0, []string{"INCR a"}, "+OK\r\n+QUEUED\r\n+QUEUED\r\nwhat\r\n", "", true},
		{"no RESP under the key", 0, []string{"INCR a"}, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n+OK\r\n+OK\r\n?\r\n", "", true},
		{"a long value", 0, []string{"INCR a"}, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n+OK\r\n+OK\r\n$2000000\r\n" + strings.Repeat("x", longestPosition+100), "", true},
	} {
		for _, size := range []int{len(test.replies), 7, 3, 2, 1} {
			if size < 7 && len(test.replies) > 1000 {
				continue
			}
			tx := inTransaction(test.db, test.lines...)
			var err error
			for rest := []byte(test.replies); len(rest) > 0 && err == nil; {
				n := min(size, len(rest))
				err = tx.take(rest[:n])
				rest = rest[n:]
			}
			if (err != nil) != test.wrong {
				t.Errorf("%s: %v", test.name, err)
			}
			if got := known(tx); !test.wrong && (got != test.want || tx.at < len(tx.spans)) {
				t.Errorf("%s, in pieces of %d: %s, want %s", test.name, size, got, test.want)
			}
		}
	}
}

// known says what is known of a transaction.
func known(t *transaction) string {
	var failures, facts []string
	for _, f := range t.batches[0].failures {
		failures = append(failures, fmt.Sprintf("%d: %s; ", f.I, f.Text))
	}
	fact := func(is bool, format string, args ...any) {
		if is {
			facts = append(facts, fmt.Sprintf(format, args...))
		}
	}
	fact(t.outside != nil, "outside")
	fact(t.ran, "ran")
	fact(t.refused != nil, "refused: %s", t.refused)
	fact(t.kept != nil, "not written: %s", t.kept)
	fact(t.aborted != nil, "aborted: %s", t.aborted)
	fact(t.key.Nil, "no key")
	fact(t.key.Kind == '-', "key is an error")
	fact(t.key.Kind == '$' && !t.key.Nil, "key %s", t.key.Text)
	return strings.Join(failures, "") + strings.Join(facts, ", ")
}

// FuzzTransactionReplies holds that it does not matter how replies are cut.
func FuzzTransactionReplies(f *testing.F) {
	lines := []string{"INCR a", "!", "LPUSH a", "SELECT 2", "INCR b"}
	f.Add([]byte("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*6\r\n:1\r\n-A\r\n+OK\r\n:1\r\n+OK\r\n+OK\r\n+OK\r\n$1\r\nP\r\n"), uint8(3))
	f.Add([]byte("+OK\r\n-OOM\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n-OOM\r\n-EXECABORT x\r\n-BUSY\r\n$-1\r\n"), uint8(1))
	f.Fuzz(func(t *testing.T, replies []byte, size uint8) {
		whole, pieces := inTransaction(0, lines...), inTransaction(0, lines...)
		wholeErr := whole.take(replies)
		var piecesErr error
		for rest := replies; len(rest) > 0 && piecesErr == nil; {
			n := min(int(size)+1, len(rest))
			piecesErr = pieces.take(rest[:n])
			rest = rest[n:]
		}
		if (wholeErr == nil) != (piecesErr == nil) {
			t.Fatalf("whole: %v, in pieces of %d: %v", wholeErr, size+1, piecesErr)
		}
		if wholeErr == nil && (known(whole) != known(pieces) || whole.at != pieces.at) {
			t.Errorf("whole: %s, in pieces of %d: %s", known(whole), size+1, known(pieces))
		}
	})
}
