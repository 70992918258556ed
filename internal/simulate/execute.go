package simulate

import (
	"bytes"
	"strconv"
	"strings"

	"respipe/loader/engine"
)

// reply is what a server answers: a success, an error, a nil, or the elements
// of an EXEC.
type reply struct {
	err      string
	null     bool
	elements []string // error texts; "" for a success
	records  []int    // that have succeeded
	record   int      // that the command is of; 0 if that is not known
	name     string   // of the command
	last     int      // the last number in the command
}

// retryable reports whether the reply is an error that is retried.
func (r *reply) retryable() bool {
	word, _, _ := strings.Cut(r.err, " ")
	return word == "ASK" || word == "MOVED" || word == "TRYAGAIN" || word == "BUSY"
}

// command is a command as a server has parsed it.
type command struct {
	name   string
	args   [][]byte
	record int   // that it says it is of; 0 without
	keys   []int // without repetition
}

// parse reads the commands that are whole at the beginning of data.
func parse(data []byte) (cmds []command, rest []byte) {
	for {
		args, n := parseOne(data)
		if n == 0 {
			return cmds, data
		}
		cmds = append(cmds, describe(args))
		data = data[n:]
	}
}

// parseOne reads one command; n is 0 if it is not whole.
func parseOne(data []byte) (args [][]byte, n int) {
	count, i := number(data, 0)
	if i == 0 {
		return nil, 0
	}
	for range count {
		size, at := number(data, i)
		if at == 0 || at+size+2 > len(data) {
			return nil, 0
		}
		args = append(args, data[at:at+size])
		i = at + size + 2
	}
	return args, i
}

// number reads a number from its type byte to its line end; the index behind it
// is 0 if it is not whole.
func number(data []byte, i int) (n, end int) {
	at := bytes.IndexByte(data[min(i, len(data)):], '\n')
	if at < 2 {
		return 0, 0
	}
	n, err := strconv.Atoi(string(data[i+1 : i+at-1]))
	if err != nil {
		panic("a server was sent " + strconv.Quote(string(data[i:])))
	}
	return n, i + at + 1
}

// describe finds the record and the keys of a command.
func describe(args [][]byte) command {
	c := command{name: string(args[0]), args: args}
	if len(args) > 1 {
		text := string(args[len(args)-1])
		if _, number, ok := strings.Cut(text, "#"); ok {
			text = number
		}
		c.record, _ = strconv.Atoi(text)
	}
	for _, arg := range args[1:] {
		if k := keyOf(arg); k >= 0 && !contains(c.keys, k) {
			c.keys = append(c.keys, k)
		}
	}
	return c
}

func contains(keys []int, k int) bool {
	for _, other := range keys {
		if other == k {
			return true
		}
	}
	return false
}

// execute executes a command on a connection.
func (c *conn) execute(cmd *command) reply {
	asking := c.asking
	c.asking = false
	switch cmd.name {
	case "ASKING":
		c.asking = true
		return reply{}
	case "MULTI":
		if c.multi {
			return reply{err: "ERR MULTI calls can not be nested"}
		}
		c.multi, c.aborted, c.queue, c.askedMulti = true, false, c.queue[:0], asking
		return reply{}
	case "EXEC":
		return c.exec()
	case "DISCARD":
		if !c.multi {
			return reply{err: "ERR DISCARD without MULTI"}
		}
		c.multi, c.watched = false, nil
		return reply{}
	case "UNWATCH":
		c.watched = nil
		return reply{}
	}
	if c.multi {
		return c.enqueue(cmd)
	}
	if err := c.server.check(cmd.keys, asking); err != "" {
		return reply{err: err}
	}
	r := reply{err: c.run(cmd)}
	if r.err == "" && cmd.record > 0 {
		r.records = []int{cmd.record}
	}
	return r
}

// watchedKey is a key that a connection watches: how often it had been changed,
// and the record of the WATCH.
type watchedKey struct{ key, changes, record int }

// enqueue queues a command of a transaction.
func (c *conn) enqueue(cmd *command) reply {
	if err := c.server.check(cmd.keys, c.askedMulti); err != "" {
		c.aborted = true
		return reply{err: err}
	}
	c.queue = append(c.queue, *cmd)
	return reply{}
}

// exec executes the transaction.
func (c *conn) exec() reply {
	if !c.multi {
		return reply{err: "ERR EXEC without MULTI"}
	}
	c.multi = false
	watched := c.watched
	c.watched = nil
	if c.aborted {
		return reply{err: "EXECABORT Transaction discarded because of previous errors."}
	}
	var keys []int
	for i := range c.queue {
		for _, k := range c.queue[i].keys {
			if !contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	if err := c.server.check(keys, c.askedMulti); err != "" {
		return reply{err: err}
	}
	for _, k := range watched {
		if k.changes != len(c.s.history[k.key]) {
			return reply{null: true}
		}
	}
	c.s.guarded(c.queue, watched)
	r := reply{elements: []string{}}
	c.executing = true
	defer func() { c.executing = false }()
	for i := range c.queue {
		err := c.run(&c.queue[i])
		r.elements = append(r.elements, err)
		if err == "" {
			r.records = append(r.records, c.queue[i].record)
		}
	}
	return r
}

// run lets a command take effect; it returns the error that it ends in.
func (c *conn) run(cmd *command) string {
	sv := c.server
	if c.s.now < sv.refuses && cmd.name != "GETRANGE" && cmd.name != "WATCH" {
		return "READONLY You can't write against a read only replica."
	}
	switch cmd.name {
	case "SET", "MSET":
		for _, k := range cmd.keys {
			c.apply(cmd, k, text)
		}
	case "SADD":
		if sv.kinds[cmd.keys[0]] == text {
			c.s.failedAgain(sv, cmd.record, cmd.keys[0])
			return wrongType
		}
		c.apply(cmd, cmd.keys[0], set)
	case "APPEND":
		if sv.kinds[cmd.keys[0]] == set {
			return wrongType
		}
		c.apply(cmd, cmd.keys[0], text)
	case "PEXPIREAT", "DEL":
		for _, k := range cmd.keys {
			c.apply(cmd, k, missing)
		}
	case "ZRANGESTORE":
		c.s.source(cmd.record, cmd.keys[1])
		c.apply(cmd, cmd.keys[0], text)
	case "GETRANGE", "PUBLISH":
		c.s.touch(cmd.record)
	case "UNKNOWN":
		c.s.wide(cmd.record)
		c.applyAll(cmd)
	case "SCRIPT", "FUNCTION":
		c.s.wide(cmd.record)
		if sv.scripts[cmd.record] && cmd.name == "FUNCTION" && c.s.shape.config.OnDisconnect != engine.Resend {
			c.s.fail("record %d was executed twice at server %d", cmd.record, sv.index)
		}
		sv.scripts[cmd.record] = true
		c.applyAll(cmd)
	case "WATCH":
		for _, k := range cmd.keys {
			c.watched = append(c.watched, watchedKey{k, len(c.s.history[k]), cmd.record})
		}
	case "SELECT":
		return c.selectDatabase(cmd.record)
	case "CLIENT":
		if !c.executing && c.s.mayFail(12) {
			return notNow
		}
		c.name = cmd.record
	default:
		return "ERR unknown command '" + cmd.name + "'"
	}
	return ""
}

// selectDatabase selects a database; it returns the error that this ends in. In a
// transaction the commands behind it would run in another database then.
func (c *conn) selectDatabase(db int) string {
	switch {
	case !c.executing && c.s.mayFail(12):
		return notNow
	case db <= noDatabase && (db == 0 || !c.s.shape.cluster):
		c.db = db
		return ""
	case c.executing:
		c.s.fail("database %d is refused inside of a transaction", db)
	}
	return "ERR DB index is out of range"
}

// notNow is an error for good that one connection gets and others do not.
const notNow = "NOPERM this user has no permissions to run the command"

const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

// noDatabase is above the numbers of all databases.
const noDatabase = 100_000

// applyAll lets a record that may touch any key take effect. It is on every key
// of the server where that can be said: with one connection.
func (c *conn) applyAll(cmd *command) {
	c.s.touch(cmd.record)
	if c.s.shape.several() {
		return
	}
	for k := range c.server.kinds {
		c.apply(cmd, k, c.server.kinds[k])
	}
}

// apply lets a record take effect on a key.
func (c *conn) apply(cmd *command, k int, to kind) {
	c.s.applied(c, cmd.record, k)
	c.server.apply(cmd.record, k, to)
}
