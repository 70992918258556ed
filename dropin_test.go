package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"respipe/internal/redistest"
	"respipe/parser"
)

// TestDropIn holds that respipe and redis-cli --pipe leave the same databases
// and print the same three lines for every clean command file.
func TestDropIn(t *testing.T) {
	for name, input := range map[string]string{
		"empty":      "",
		"text":       "SET a 1\nHSET h f \"a b\" g '\\x41'\nRPUSH l 1 2 3\nPEXPIREAT a 33177117420000\n",
		"crlf":       "SET a 1\r\nSADD s \"\\x00\\xff\" b\r\n",
		"no newline": "SET a 1\nSET b 2\n\n",
		"databases":  "SET a 0\nSELECT 3\nSET a 3\nEXPIREAT a 33177117420\nSELECT 0\nSET b 0\n",
		"block":      "MULTI\nSET a 1\nINCR a\nEXEC\nGET a\n",
		"replies":    "SET a 1\nGET a\nLRANGE nothing 0 -1\nPING\nECHO \"$5\\r\\n+OK\\r\\n\"\nEVAL \"return {1,{2,'x'},false}\" 0\n",
		"streams":    "XADD s 1-1 f v\nXGROUP CREATE s g 0\nXADD s 2-1 f v\nXREADGROUP GROUP g c COUNT 1 STREAMS s >\n",
		"random":     randomCommands(20000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, their := loaded(t, input, "redis-cli", "--pipe")
			now, our := loaded(t, input, "respipe")
			if their != our {
				t.Errorf("it prints\n%swhere redis-cli prints\n%s", our, their)
			}
			if a, b := contents(old), contents(now); a != b {
				t.Errorf("other databases:\n%.2000s\nwhere redis-cli leaves\n%.2000s", b, a)
			}
		})
	}
}

// loaded pipes input into a program and returns the server and the output.
func loaded(t *testing.T, input, program string, args ...string) (*redistest.Server, string) {
	s := redistest.Start(t, "--enable-debug-command", "yes")
	cmd := exec.Command(program, append([]string{"-p", s.Port}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", program, err, out, stderr.String())
	}
	return s, string(out)
}

// contents returns all that a server holds: what DEBUG DIGEST sees, and the
// expiries, groups and last ids that it does not see.
func contents(s *redistest.Server) string {
	text := s.CLI("DEBUG", "DIGEST") + "\n"
	for _, db := range []string{"0", "3"} {
		text += s.Feed(strings.NewReader(`EVAL "`+
			`local t = {} for _, k in ipairs(redis.call('KEYS', '*')) do `+
			`t[#t+1] = k .. ' ' .. redis.call('PEXPIRETIME', k) `+
			`if redis.call('TYPE', k).ok == 'stream' then t[#t+1] = cjson.encode(redis.call('XINFO', 'GROUPS', k)) end `+
			`end table.sort(t) return t" 0`+"\n"), "-n", db) + "\n"
	}
	return text
}

// randomCommands returns n commands that cannot fail, as text and RESP in one
// file.
func randomCommands(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for range n {
		k := r.IntN(500)
		value := make([]byte, r.IntN(40))
		for i := range value {
			value[i] = byte(r.IntN(256))
		}
		if r.IntN(100) == 0 {
			value = bytes.Repeat(value, 3000)
		}
		var args [][]byte
		for _, word := range strings.Fields([]string{
			fmt.Sprint("SET s:", k), fmt.Sprint("HSET h:", k, " f"), fmt.Sprint("RPUSH l:", k),
			fmt.Sprint("SADD m:", k), fmt.Sprint("ZADD z:", k, " ", k), fmt.Sprint("APPEND a:", k),
		}[r.IntN(6)]) {
			args = append(args, []byte(word))
		}
		args = append(args, value)
		switch r.IntN(4) {
		case 0:
			text = fmt.Appendf(text, "PEXPIREAT s:%d %d\r\n", k, 33177117420000+r.IntN(1000))
		case 1:
			text = fmt.Appendf(text, "INCR n:%d\n", k)
		default:
			text = parser.AppendCommand(text, args)
		}
	}
	return string(text)
}
