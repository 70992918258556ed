package redistest

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// echo starts a server that says what it is told, and ends when it is told to.
func echo(t *testing.T) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(conn, conn)
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn.(*net.TCPConn)
}

func TestDelayIsOfBothWays(t *testing.T) {
	const oneWay = 5 * time.Millisecond
	conn := dial(t, NewDelay(t, echo(t), oneWay).Addr)
	for range 10 {
		began := time.Now()
		conn.Write([]byte("?"))
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 2*oneWay {
			t.Errorf("back after %v", took)
		}
	}
}

// A line that delays pieces one after another would need a minute.
func TestDelayIsNoLackOfSpeed(t *testing.T) {
	const oneWay, pieces = 50 * time.Millisecond, 600
	conn := dial(t, NewDelay(t, echo(t), oneWay).Addr)
	var sent []byte
	began := time.Now()
	for i := range pieces {
		line := bytes.Repeat([]byte{'a' + byte(i%26)}, 1000)
		sent = append(sent, line...)
		if _, err := conn.Write(line); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond / 10) // each of them alone
	}
	conn.CloseWrite()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d of %d bytes came back: %v", len(got), len(sent), err)
	}
	if took := time.Since(began); took > pieces*oneWay/3 {
		t.Errorf("took %v", took)
	}
}

func TestDelayEndsWhatTheClientEnds(t *testing.T) {
	delay := NewDelay(t, echo(t), 0)
	conn := dial(t, delay.Addr)
	conn.Write([]byte("the last word"))
	conn.Close()
	again := dial(t, delay.Addr) // one connection is not the next one's end
	again.Write([]byte("x"))
	if _, err := again.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

func TestDelayToNobody(t *testing.T) {
	conn := dial(t, NewDelay(t, net.JoinHostPort("127.0.0.1", FreePort(t)), time.Second).Addr)
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a connection to nobody: %v", err)
	}
}
