package main

import "respipe/parser"

// encoder appends a command to dst.
type encoder func(dst []byte, c *parser.Command) []byte

func encoderOf(word string) encoder {
	if word == "commands" {
		return appendLine
	}
	return appendRESP
}

func appendRESP(dst []byte, c *parser.Command) []byte {
	if c.Raw != nil {
		return append(dst, c.Raw...)
	}
	return parser.AppendCommand(dst, c.Args)
}

// appendLine appends the command as one types it in redis-cli. A line that
// begins with * would be taken for RESP, hence the blank.
func appendLine(dst []byte, c *parser.Command) []byte {
	if name := c.Args[0]; len(name) > 0 && name[0] == '*' {
		dst = append(dst, ' ')
	}
	for i, arg := range c.Args {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = parser.AppendQuoted(dst, arg)
	}
	return append(dst, '\n')
}

// discard ends a block of which nothing may run.
var discard = &parser.Command{Args: [][]byte{[]byte("DISCARD")}}
