package parser

import (
	"strings"
	"testing"
)

// findLine splits a command line and looks its command up.
func findLine(t *testing.T, line string) (*Op, [][]byte) {
	t.Helper()
	args, _, err := SplitArgs(nil, nil, []byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return new(Ops).Find(args), args
}

func TestOpClass(t *testing.T) {
	for _, tt := range []struct {
		class Class
		lines string
	}{
		{Write, "NOSUCH k|INCR k|APPEND k v|RPUSH k v|LPOP k|SPOP k|GETSET k v|RENAME a b|EVAL s 0|XADD k * f v|JSON.SET k . 1|CLIENT KILL x|CLIENT"},
		{Repeatable, "SET k v|GET k|hset k f v|DEL k|UNLINK k|SADD k m|ZADD k 1 m|EXPIRE k 1|SETEX k 1 v|MSET k v|PFADD k v|OBJECT ENCODING k|PING|FLUSHALL"},
		{State, "SELECT 1|AUTH p|CLIENT SETNAME n|client setinfo a b|CLIENT TRACKING ON|CLIENT NO-EVICT ON|CLIENT NO-TOUCH ON|READONLY|READWRITE|ASKING"},
		{Multi, "MULTI|multi"},
		{Exec, "EXEC"},
		{Discard, "DISCARD"},
		{Watch, "WATCH k"},
		{Unwatch, "UNWATCH"},
		{Refused, "SUBSCRIBE c|PSUBSCRIBE c|SSUBSCRIBE c|UNSUBSCRIBE|PUNSUBSCRIBE|SUNSUBSCRIBE|MONITOR|SYNC|PSYNC ? -1|REPLCONF a|QUIT|quit|RESET|HELLO 3|SHUTDOWN|CLIENT REPLY OFF|client reply skip"},
		{RefusedAlone, "WAIT 1 0|WAITAOF 1 0 0"},
	} {
		for line := range strings.SplitSeq(tt.lines, "|") {
			if op, _ := findLine(t, line); op.Class != tt.class {
				t.Errorf("%s is of class %d, want %d", line, op.Class, tt.class)
			}
		}
	}
}

func TestOpUnsafe(t *testing.T) {
	for _, line := range strings.Split("FLUSHALL|FLUSHDB ASYNC|SWAPDB 0 1|CONFIG SET a b|config get a|CONFIG NOSUCH|DEBUG SLEEP 1|REPLICAOF a 1|SLAVEOF NO ONE|"+
		"MODULE LOAD x|ACL SETUSER x|CLUSTER RESET|MIGRATE h 1 k 0 1|EVAL s 0|EVAL_RO s 0|EVALSHA s 0|FCALL f 0|FUNCTION FLUSH|SCRIPT FLUSH|"+
		"SHUTDOWN|FAILOVER|BGSAVE|SAVE|BGREWRITEAOF|CLIENT KILL x|CLIENT PAUSE 1|SLOWLOG RESET|LATENCY RESET|PFDEBUG a k", "|") {
		if op, _ := findLine(t, line); !op.Unsafe {
			t.Errorf("%s is not unsafe", line)
		}
	}
	for _, line := range strings.Split("SET k v|DEL k|KEYS *|SORT k|INFO|RESTORE k 0 x|ROLE|SELECT 1|AUTH p|CLIENT LIST|CLIENT SETNAME n|PUBLISH c m|MULTI|NOSUCH|MEMORY USAGE k", "|") {
		if op, _ := findLine(t, line); op.Unsafe {
			t.Errorf("%s is unsafe", line)
		}
	}
}

func TestOpRepeatable(t *testing.T) {
	for _, tt := range []struct{ yes, no string }{
		{"SET k v EX 10", "SET k v EX 10 NX"},
		{"SET k v PXAT 5", "SET k v xx"},
		{"SET nx v", "SET k v get"},
		{"SET k vNX", "SET k v KEEPTTL"},
		{"SET k ifeq2", "SET k v IFEQ x"},
		{"ZADD k CH 1 m", "ZADD k GT 1 m"},
		{"ZADD k 1 m", "ZADD k INCR 1 m"},
		{"GEOADD k 1 2 m", "GEOADD k NX 1 2 m"},
		{"EXPIRE k 10", "EXPIRE k 10 nx"},
		{"PEXPIREAT k 10", "PEXPIREAT k 10 GT"},
		{"BITFIELD k SET u8 0 1", "BITFIELD k INCRBY u8 0 1"},
		{"SORT k", "SORT k STORE d"},
		{"GEORADIUS k 1 2 3 km", "GEORADIUS k 1 2 3 km STORE d"},
		{"HSET k f v", "HSETNX k f v"},
		{"SREM k m", "SMOVE k d m"},
		{"SUNION a b", "SUNIONSTORE d a b"},
		{"XDEL s 1-1", "XADD s 1-1 f v"},
		{"HSETEX k EX 1 FIELDS 1 f v", "HSETEX k FNX EX 1 FIELDS 1 f v"},
		{"EVAL_RO s 0", "EVAL s 0"},
		{"GET k", "GETDEL k"},
		{"PING", "SELECT 1"},
		{"ECHO x", "NOSUCH x"},
	} {
		if op, args := findLine(t, tt.yes); !op.Repeatable(args) {
			t.Errorf("%s is not repeatable", tt.yes)
		}
		if op, args := findLine(t, tt.no); op.Repeatable(args) {
			t.Errorf("%s is repeatable", tt.no)
		}
	}
}

func TestOpBlocks(t *testing.T) {
	for _, line := range strings.Split("BLPOP a b 0|brpop a 0.0|BRPOPLPUSH a b -0|BLMOVE a b LEFT LEFT 0e5|BZPOPMIN a .0|BZPOPMAX a 0.|"+
		"BLMPOP 0 1 a LEFT|BZMPOP 0.000 1 a MIN|XREAD BLOCK 0 STREAMS a $|XREAD COUNT 2 block 0 STREAMS a $|XREADGROUP GROUP g c BLOCK 0 STREAMS a >|"+
		"BLPOP a +0|BLPOP a 0x0|BLPOP a 00|BLPOP a 0E-3|BLPOP a 0x0p+1", "|") {
		if op, args := findLine(t, line); !op.Blocks(args) {
			t.Errorf("%s does not block", line)
		}
	}
	for _, line := range strings.Split("BLPOP a b 1|BLPOP a 0.1|BLPOP a -1|BLPOP a \"\"|BLPOP a .|BLPOP a 0.0.|BLPOP a 0x|BLPOP a 0e|BLPOP a 0e+|BLPOP a 0p1|BLPOP a zero|BLPOP a +|"+
		"BLPOP|BLMPOP|BLMPOP 1 1 0 LEFT|XREAD|XREAD BLOCK|XREAD BLOCK 10 STREAMS a 0|XREAD STREAMS block 0|XREAD STREAMS a 0|"+
		"XREADGROUP GROUP block 0 STREAMS a >|XREADGROUP GROUP g|SET k 0|NOSUCH 0|LPOP a 0", "|") {
		if op, args := findLine(t, line); op.Blocks(args) {
			t.Errorf("%s blocks", line)
		}
	}
	if Unknown.Blocks(nil) || Unknown.Known() || Unknown.Repeatable(nil) {
		t.Error("an unknown command is nothing but a write")
	}
}
