package loader

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"
)

// FuzzRun loads into a server that answers at random. Whatever it says, the
// load ends, each record is accounted for once, and replies are at most as
// many as commands.
func FuzzRun(f *testing.F) {
	f.Add([]byte("+OK\r\n:1\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n-ERR x\r\n$3\r\nabc\r\n"), byte(0))
	f.Add([]byte("-BUSY x\r\n-LOADING y\r\n+OK\r\n-BUSY\r\n+QUEUED\r\n+QUEUED\r\n-EXECABORT because of: BUSY z\r\n"), byte(1))
	f.Add([]byte("-ERR x\r\n*-1\r\n$-1\r\n*1\r\n*1\r\n-E\r\n+OK\r\n+QUEUED\r\n+OK\r\n*-1\r\n"), byte(2))
	f.Add([]byte("+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n"), byte(7))
	f.Fuzz(func(t *testing.T, replies []byte, mode byte) {
		connections := 0
		cfg := config(func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			if connections++; connections > 3 {
				ours.Close()
				theirs.Close()
				return nil, net.ErrClosed
			}
			go babble(theirs, replies)
			return ours, nil
		})
		cfg.Window = 1 + int(mode>>2)%8
		cfg.OnDisconnect = Disconnect(mode % 3)
		cfg.RetryFor, cfg.Timeout, cfg.ConnectTimeout = 5*time.Millisecond, 20*time.Millisecond, time.Second
		const records = 11
		src := script("SET a 1\nINCR b\n!refused\nMULTI\nSET a 2\nSADD s x\nEXEC\nGET a\nSELECT 1\nWATCH a\nDEL s")
		rep, err := Run(context.Background(), src, cfg)
		if rep.Server == nil {
			return
		}
		if sum := rep.Acknowledged + rep.Refused + rep.Unknown + rep.NotSent; sum != rep.Records || rep.Records > records {
			t.Errorf("%q: %+v does not add up", replies, rep)
		}
		if rep.Replies > records-1 || err == nil && rep.Replies != records-1 {
			t.Errorf("%q: %d replies, %v", replies, rep.Replies, err)
		}
	})
}

// babble greets and then says what it was told to say, whatever it is asked.
func babble(nc net.Conn, replies []byte) {
	defer nc.Close()
	buf := make([]byte, 4<<10)
	for {
		n, err := nc.Read(buf)
		if err != nil {
			return
		}
		reply := replies
		for _, name := range greetings {
			if bytes.Contains(buf[:n], []byte(name)) {
				reply = greetingReply([]string{name})
			}
		}
		if bytes.Contains(buf[:n], []byte("CLIENT")) {
			reply = []byte(":1\r\n")
		}
		if _, err := nc.Write(reply); err != nil {
			return
		}
		if bytes.Equal(reply, replies) {
			replies = nil
		}
	}
}
