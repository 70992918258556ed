package loader

import (
	"bufio"
	"context"
	"net"
	"testing"
	"time"
)

// TestWrongPassword has a server that says nothing of a wrong password while it
// has replies to send, as servers from Redis 7.2 on do: see
// github.com/redis/redis/issues/15640.
func TestWrongPassword(t *testing.T) {
	cfg := config(func(context.Context) (net.Conn, error) {
		ours, theirs := tcpPair(t)
		go muteServer(theirs)
		return ours, nil
	})
	cfg.Timeout, cfg.ConnectTimeout = 200*time.Millisecond, time.Second
	for _, connections := range []int{1, 3} {
		cfg.Connections = connections
		rep, err := Run(context.Background(), script("SET a 1\nAUTH wrong\nSET b 1\nSET c 1\nAUTH wrong\nSET d 1"), cfg)
		if err != nil || rep.Errors != 2 || rep.Replies != 6 {
			t.Errorf("%d connections: %v, %+v", connections, err, rep)
		}
	}
}

// muteServer answers what it has read at once in one write.
func muteServer(conn net.Conn) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	var replies []byte
	for {
		args, err := readRequest(br)
		if err != nil {
			return
		}
		switch reply := greetingReply(args); {
		case reply != nil:
			replies = append(replies, reply...)
		case args[0] != "AUTH":
			replies = append(replies, "+OK\r\n"...)
		case len(replies) == 0:
			replies = append(replies, "-WRONGPASS no\r\n"...)
		}
		if br.Buffered() > 0 {
			continue
		}
		if _, err := conn.Write(replies); err != nil {
			return
		}
		replies = replies[:0]
	}
}
