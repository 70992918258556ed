package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log"
	"net"
	"os/exec"
	"strings"
	"testing"

	"respipe/parser"
)

// sink loads into a server that only counts and answers. It has one core, and
// each client the other, so that what is measured is the client's own work.
func (w *workbench) sink(b *testing.B) {
	port := startSink(b, "sink")
	alone := func(c contender) *contender {
		c.args = append([]string{"taskset", "-c", "1"}, c.args...)
		return &c
	}
	cli, resp := alone(*cliRESP), alone(*respipeRESP)
	others := []*contender{}
	for _, way := range ways {
		if way.name == "csv" || way.name == "jsonl" {
			file := w.writeWay(b, way, w.n)
			others = append(others, alone(contender{"respipe/" + way.name, file, append([]string{"respipe", "--window", "max"}, way.args...)}))
		}
	}
	took := w.race(b, nil, port, w.n, append([]*contender{cli, resp}, others...)...)
	million := func(c *contender) float64 { return float64(w.n) / 1e6 / median(took[c], wallOf) }
	w.atLeast(3, "×", "into a sink: RESP, rate beside `redis-cli --pipe`", million(resp)/million(cli))
	w.atLeast(2, "M/s", "the same: CSV of five fields, one core", million(others[0]))
	w.atLeast(1, "M/s", "the same: JSON lines of five fields, one core", million(others[1]))
}

// startSink starts a sink in a process of its own and returns its port.
func startSink(b *testing.B, name string) (port string) {
	cmd := exec.Command("taskset", "-c", "0", name)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// beSink is a server that listens on the port that it prints. It says OK to
// every command, but that it refuses HELLO, so that it need not say who it is,
// and echoes what ECHO says, by which redis-cli --pipe knows the end. It passes
// over the empty line that redis-cli sends before.
func beSink() {
	l := listen()
	fmt.Println(portOf(l))
	accept(l, appendAnswer)
}

const sinkNodes = 100

// beCluster is a cluster of nodes that are sinks; it prints the port of one.
func beCluster() {
	var nodes []net.Listener
	slots := fmt.Appendf(nil, "*%d\r\n", sinkNodes)
	for i := range sinkNodes {
		nodes = append(nodes, listen())
		first, last := parser.Slots*i/sinkNodes, parser.Slots*(i+1)/sinkNodes-1
		slots = fmt.Appendf(slots, "*3\r\n:%d\r\n:%d\r\n*3\r\n$9\r\n127.0.0.1\r\n:%s\r\n$1\r\nn\r\n", first, last, portOf(nodes[i]))
	}
	answer := func(replies, request []byte) []byte {
		switch {
		case bytes.HasPrefix(request, []byte("*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS")):
			return append(replies, slots...)
		case bytes.HasPrefix(request, []byte("*1\r\n$4\r\nINFO\r\n")):
			return append(replies, "$31\r\nredis_mode:cluster\r\nrole:master\r\n"...)
		}
		return appendAnswer(replies, request)
	}
	fmt.Println(portOf(nodes[0]))
	for _, l := range nodes[1:] {
		go accept(l, answer)
	}
	accept(nodes[0], answer)
}

func listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return l
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// accept swallows what comes on the connections to a listener.
func accept(l net.Listener, answer func(replies, request []byte) []byte) {
	for {
		conn, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go swallow(conn, answer)
	}
}

func swallow(conn net.Conn, answer func(replies, request []byte) []byte) {
	defer conn.Close()
	requests, have := make([]byte, 256<<10), 0
	var replies []byte
	for {
		n, err := conn.Read(requests[have:])
		if err != nil {
			return
		}
		have += n
		replies = replies[:0]
		rest := requests[:have]
		for size := requestSize(rest); size > 0; size = requestSize(rest) {
			replies = answer(replies, rest[:size])
			rest = rest[size:]
		}
		if _, err := conn.Write(replies); err != nil {
			return
		}
		have = copy(requests, rest)
	}
}

func appendAnswer(replies, request []byte) []byte {
	if echoed, ok := bytes.CutPrefix(request, []byte("*2\r\n$4\r\nECHO\r\n")); ok {
		return append(replies, echoed...)
	}
	if bytes.HasPrefix(request, []byte("*2\r\n$5\r\nHELLO\r\n")) {
		return append(replies, "-ERR unknown command\r\n"...)
	}
	if request[0] == '\r' {
		return replies
	}
	return append(replies, "+OK\r\n"...)
}

// requestSize returns the length of the request, or the empty line, that b
// begins with, or 0 when it is not whole. It trusts the lengths.
func requestSize(b []byte) int {
	if len(b) > 1 && b[0] == '\r' {
		return len("\r\n")
	}
	args, at := number(b, 0)
	for ; args > 0; args-- {
		size, next := number(b, at)
		at = next + size + len("\r\n")
	}
	if at > len(b) {
		return 0
	}
	return at
}

// number reads the number behind the byte at i, and where the next line begins:
// behind b, if the line is cut.
func number(b []byte, i int) (n, next int) {
	for i++; i < len(b); i++ {
		c := b[i]
		if c == '\r' {
			return n, i + 2
		}
		n = 10*n + int(c-'0')
	}
	return 0, len(b) + 1
}
