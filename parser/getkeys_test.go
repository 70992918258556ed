package parser

import (
	"slices"
	"strings"
	"testing"

	"respipe/internal/redistest"
)

// keyLines are command lines as the server takes them. Those at the end of a
// part are for servers after 7.0: others pass them over.
const keyLines = `
copy a b
COPY a b DB 1 REPLACE
DEL a
DEL a b c a
DUMP a
EXISTS a b
EXPIRE a 10
EXPIRE a 10 NX
EXPIREAT a 10 GT
EXPIRETIME a
KEYS *
MIGRATE host 6379 a 0 5000
MIGRATE host 6379 a 0 5000 COPY REPLACE AUTH2 user pass
MIGRATE host 6379 "" 0 5000 KEYS a b c
MIGRATE host 6379 "" 0 5000 REPLACE AUTH pass keys a b
MIGRATE host 6379 "" 0 5000 AUTH keys KEYS a b
MIGRATE host 6379 "" 0 5000 AUTH2 keys auth KEYS a
MOVE a 1
OBJECT ENCODING a
OBJECT FREQ a
object idletime a
OBJECT REFCOUNT a
OBJECT HELP
PERSIST a
PEXPIRE a 10 XX
PEXPIREAT a 10
PEXPIRETIME a
PTTL a
RENAME a b
RENAMENX a b
RESTORE a 0 v
RESTORE a 0 v REPLACE ABSTTL IDLETIME 1 FREQ 2
RESTORE-ASKING a 0 v
SCAN 0 MATCH a COUNT 10
SORT a
SORT a BY w_* LIMIT 0 5 GET # GET o_* DESC ALPHA
SORT a BY w_* STORE b
SORT a store b LIMIT 0 5
SORT a BY store GET #
SORT a GET store STORE b
SORT a LIMIT store store BY store
SORT_RO a
SORT_RO a BY w_* GET store ALPHA
TOUCH a b
TTL a
TYPE a
UNLINK a b

APPEND a v
BITCOUNT a
BITCOUNT a 0 -1 BIT
BITFIELD a GET u4 0 INCRBY u2 100 1
BITFIELD_RO a GET u4 0
BITOP AND a b
BITOP NOT a b
BITOP XOR a b c d
BITPOS a 1 0 -1 BYTE
DECR a
DECRBY a 2
GET a
GETBIT a 7
GETDEL a
GETEX a
GETEX a EX 10
GETRANGE a 0 -1
GETSET a v
INCR a
INCRBY a 2
INCRBYFLOAT a 2.5
LCS a b
LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN
MGET a b c
MSET a 1 b 2
MSETNX a 1 b 2
PFADD a
PFADD a x y
PFCOUNT a b
PFDEBUG ENCODING a
PFMERGE a b c
PSETEX a 10 v
SET a v
SET "" v
SET a v NX GET EX 10
SET a v KEEPTTL
SETBIT a 7 1
SETEX a 10 v
SETNX a v
SETRANGE a 3 v
STRLEN a
SUBSTR a 0 -1
DELEX a IFEQ v
DIGEST a
MSETEX 2 a 1 b 2 EX 10
DELIFEQ a v

HDEL a f g
HEXISTS a f
HGET a f
HGETALL a
HINCRBY a f 2
HINCRBYFLOAT a f 2.5
HKEYS a
HLEN a
HMGET a f g
HMSET a f v
HRANDFIELD a 2 WITHVALUES
HSCAN a 0
HSET a f v g w
HSETNX a f v
HSTRLEN a f
HVALS a
HEXPIRE a 10 FIELDS 1 f
HEXPIREAT a 10 FIELDS 1 f
HEXPIRETIME a FIELDS 1 f
HGETDEL a FIELDS 1 f
HGETEX a EX 10 FIELDS 1 f
HPERSIST a FIELDS 1 f
HPEXPIRE a 10 FIELDS 1 f
HPEXPIREAT a 10 FIELDS 1 f
HPEXPIRETIME a FIELDS 1 f
HPTTL a FIELDS 1 f
HSETEX a EX 10 FIELDS 1 f v
HTTL a FIELDS 1 f

BLMOVE a b LEFT RIGHT 1
BLMPOP 1 2 a b LEFT
BLMPOP 1 1 a RIGHT COUNT 3
BLPOP a 1
BLPOP a b c 1
BRPOP a b 1
BRPOPLPUSH a b 1
LINDEX a 0
LINSERT a BEFORE x y
LLEN a
LMOVE a b LEFT RIGHT
LMPOP 1 a LEFT
LMPOP 3 a b c RIGHT COUNT 2
LPOP a 2
LPOS a x RANK -1 COUNT 0
LPUSH a x y
LPUSHX a x
LRANGE a 0 -1
LREM a 0 x
LSET a 0 x
LTRIM a 0 1
RPOP a
RPOPLPUSH a b
RPUSH a x y
RPUSHX a x

SADD a x y
SCARD a
SDIFF a b
SDIFFSTORE a b c
SINTER a b c
SINTERCARD 1 a
SINTERCARD 2 a b LIMIT 1
SINTERSTORE a b c
SISMEMBER a x
SMEMBERS a
SMISMEMBER a x y
SMOVE a b x
SPOP a 2
SRANDMEMBER a -2
SREM a x y
SSCAN a 0 MATCH b
SUNION a b
SUNIONSTORE a b c

BZMPOP 1 2 a b MIN
BZMPOP 1 1 a MAX COUNT 3
BZPOPMAX a b 1
BZPOPMIN a 1
GEOADD a 1 2 x
GEOADD a NX CH 1 2 x 3 4 y
GEODIST a x y km
GEOHASH a x y
GEOPOS a x
GEORADIUS a 1 2 3 km
GEORADIUS a 1 2 3 km WITHDIST COUNT 3 ANY ASC
GEORADIUS a 1 2 3 km STORE b
GEORADIUS a 1 2 3 km COUNT 3 storedist b
GEORADIUSBYMEMBER a store 3 km
GEORADIUSBYMEMBER a x 3 km STORE b
GEORADIUSBYMEMBER a x 3 km DESC STOREDIST b
GEORADIUSBYMEMBER_RO a x 3 km
GEORADIUS_RO a 1 2 3 km WITHCOORD
GEOSEARCH a FROMMEMBER x BYRADIUS 3 km
GEOSEARCHSTORE a b FROMLONLAT 1 2 BYBOX 3 4 km STOREDIST
ZADD a 1 x
ZADD a XX GT CH INCR 1 x
ZCARD a
ZCOUNT a -inf +inf
ZDIFF 2 a b WITHSCORES
ZDIFFSTORE a 2 b c
ZINCRBY a 2 x
ZINTER 2 a b WEIGHTS 1 2 AGGREGATE MAX
ZINTERCARD 2 a b LIMIT 1
ZINTERSTORE a 1 b
ZINTERSTORE a 2 b c AGGREGATE SUM
ZLEXCOUNT a - +
ZMPOP 1 a MIN
ZMPOP 2 a b MAX COUNT 3
ZMSCORE a x y
ZPOPMAX a 2
ZPOPMIN a
ZRANDMEMBER a 2 WITHSCORES
ZRANGE a 0 -1 REV WITHSCORES
ZRANGEBYLEX a - + LIMIT 0 1
ZRANGEBYSCORE a 0 1
ZRANGESTORE a b 0 -1 BYSCORE REV LIMIT 0 1
ZRANK a x
ZREM a x y
ZREMRANGEBYLEX a - +
ZREMRANGEBYRANK a 0 1
ZREMRANGEBYSCORE a 0 1
ZREVRANGE a 0 -1
ZREVRANGEBYLEX a + -
ZREVRANGEBYSCORE a 1 0
ZREVRANK a x
ZSCAN a 0
ZSCORE a x
ZUNION 2 a b
ZUNIONSTORE a 2 b c
ZUNIONSTORE a 2 b c WEIGHTS 1 2 AGGREGATE MIN
ZUNIONSTORE a 1 b WEIGHTS 2

XACK a g 1-1 2-1
XADD a * f v
XADD a NOMKSTREAM MAXLEN ~ 10 LIMIT 2 1-1 f v
XAUTOCLAIM a g me 10 0 COUNT 2 JUSTID
XCLAIM a g me 10 1-1
XDEL a 1-1
XGROUP CREATE a g $ MKSTREAM
XGROUP CREATECONSUMER a g me
XGROUP DELCONSUMER a g me
XGROUP DESTROY a g
XGROUP SETID a g 0
XGROUP HELP
XINFO CONSUMERS a g
XINFO GROUPS a
XINFO STREAM a FULL COUNT 1
XLEN a
XPENDING a g
XPENDING a g IDLE 10 - + 5 me
XRANGE a - + COUNT 1
XREAD STREAMS a 0
XREAD COUNT 2 BLOCK 10 STREAMS a b c 0 0 $
XREAD streams streams a 0 0
XREADGROUP GROUP g me STREAMS a >
XREADGROUP GROUP streams me COUNT 2 BLOCK 10 NOACK STREAMS a b > 0
XREADGROUP GROUP g streams STREAMS a >
XREVRANGE a + -
XSETID a 1-1
XTRIM a MAXLEN 10
XTRIM a MINID ~ 1 LIMIT 5
XACKDEL a g IDS 1 1-1
XDELEX a IDS 1 1-1

VADD a VALUES 1 0.5 m
VCARD a
VDIM a
VEMB a m
VGETATTR a m
VINFO a
VISMEMBER a m
VLINKS a m
VRANDMEMBER a
VRANGE a - +
VREM a m
VSETATTR a m x
VSIM a ELE m

EVAL script 0
EVAL script 2 a b x y
EVALSHA sha 1 a
EVALSHA_RO sha 1 a x
EVAL_RO script 2 a b
FCALL f 1 a x
FCALL f 0 x
FCALL_RO f 2 a b
WATCH a b

ACL WHOAMI
CLIENT SETNAME a
CLUSTER KEYSLOT a
CONFIG GET a
ECHO a
FLUSHALL ASYNC
FUNCTION LIST
MEMORY DOCTOR
MEMORY USAGE a
MEMORY USAGE a SAMPLES 5
PING a
PUBLISH channel a
SCRIPT EXISTS sha
SELECT 1
SWAPDB 0 1
`

// channelLines have a channel that decides the node like a key, but is none to
// COMMAND GETKEYS.
const channelLines = `
SPUBLISH a message
SSUBSCRIBE a b
SUNSUBSCRIBE a b
`

// TestAppendKeysIsCommandGetKeys holds that the table finds the keys that a
// server finds.
func TestAppendKeysIsCommandGetKeys(t *testing.T) {
	s := redistest.Start(t)
	checked := 0
	for _, line := range linesOf(keyLines) {
		op, args := findLine(t, line)
		want, known := getKeys(t, s, args)
		if !known {
			continue
		}
		checked++
		var got []string
		for _, key := range op.AppendKeys(nil, args) {
			got = append(got, string(key))
		}
		slices.Sort(got)
		slices.Sort(want) // servers differ in the place of what is stored to
		if !slices.Equal(got, want) {
			t.Errorf("keys of %s: %q, the server finds %q", line, got, want)
		}
	}
	t.Logf("%d lines", checked)
	if checked < 200 {
		t.Errorf("only %d lines were checked", checked)
	}
}

// linesOf returns the lines of a text that are not empty.
func linesOf(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}

// getKeys returns the keys of a command as the server finds them; known is
// false if it does not know the command.
func getKeys(t *testing.T, s *redistest.Server, args [][]byte) (keys []string, known bool) {
	t.Helper()
	ask := []any{"COMMAND", "GETKEYS"}
	for _, arg := range args {
		ask = append(ask, arg)
	}
	keys, err := s.Client().Do(t.Context(), ask...).StringSlice()
	switch {
	case err == nil:
		return keys, true
	case strings.Contains(err.Error(), "has no key arguments"):
		return nil, true
	case strings.Contains(err.Error(), "Invalid command specified"):
		return nil, false
	}
	t.Errorf("COMMAND GETKEYS %q: %v", args, err)
	return nil, false
}

// TestEveryCommandWithKeys holds that what a server knows to have keys has
// some in the table, and stands among the lines.
func TestEveryCommandWithKeys(t *testing.T) {
	lines := map[string]bool{}
	for _, line := range linesOf(keyLines + channelLines) {
		op, args := findLine(t, line)
		if keys := op.AppendKeys(nil, args); len(keys) > 0 {
			lines[op.Name] = true
		}
	}
	reply, err := redistest.Start(t).Client().Do(t.Context(), "COMMAND").Slice()
	if err != nil {
		t.Fatal(err)
	}
	names := namesWithKeys(t, reply)
	t.Logf("%d commands", len(names))
	if len(names) < 170 {
		t.Errorf("the server has only %d commands with keys", len(names))
	}
	for _, name := range names {
		op, _ := findLine(t, name)
		if op.Name != name || op.Keys == nil {
			t.Errorf("%s has no keys in the table", name)
		}
		if !lines[name] {
			t.Errorf("%s has no line with a key", name)
		}
	}
}

// namesWithKeys returns the names of the commands in a reply to COMMAND that
// have a first key or a key specification, but not those of modules.
func namesWithKeys(t *testing.T, reply []any) (names []string) {
	t.Helper()
	for _, element := range reply {
		// name, arity, flags, first key, last key, step, categories, tips, key
		// specifications, subcommands
		fields, ok := element.([]any)
		if !ok || len(fields) < 10 {
			t.Fatalf("%v is no command as Redis 7 describes it", element)
		}
		name, first, specs := fields[0].(string), fields[3].(int64), fields[8].([]any)
		if (first != 0 || len(specs) > 0) && !strings.Contains(name, ".") {
			names = append(names, strings.ToUpper(strings.Replace(name, "|", " ", 1)))
		}
		names = append(names, namesWithKeys(t, fields[9].([]any))...)
	}
	return names
}
