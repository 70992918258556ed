package loader

import (
	"bytes"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// lazyPair returns a lazy reader and what writes to it.
func lazyPair(t *testing.T) (*replySocket, net.Conn) {
	t.Helper()
	ours, theirs := tcpPair(t)
	return newReplySocket(ours, true), theirs
}

// Whatever the server writes, in whatever pieces, arrives though it never
// reaches the low water, whether more is owed than will come or not.
func TestRepliesBelowTheLowWaterArrive(t *testing.T) {
	for _, owed := range []int64{1, lowWater, 1 << 40} {
		for _, piece := range []int{1, 100, lowWater - 1, lowWater, lowWater + 1} {
			s, far := lazyPair(t)
			want := bytes.Repeat([]byte("+OK\r\n"), lowWater)[:3*piece]
			go func() {
				for i := range 3 {
					far.Write(want[i*piece : (i+1)*piece])
					time.Sleep(time.Millisecond)
				}
			}()
			var got []byte
			buf := make([]byte, readBuffer)
			for len(got) < len(want) {
				n, err := s.read(buf, owed)
				if err != nil {
					t.Fatalf("owed %d, pieces of %d: %v after %d bytes", owed, piece, err, len(got))
				}
				got = append(got, buf[:n]...)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("owed %d, pieces of %d: other bytes", owed, piece)
			}
		}
	}
}

func TestLowWaterSeesTheEnd(t *testing.T) {
	s, far := lazyPair(t)
	far.Write([]byte("+OK\r\n"))
	far.Close()
	buf := make([]byte, 100)
	n, err := s.read(buf, 1<<40)
	if err != nil || string(buf[:n]) != "+OK\r\n" {
		t.Fatalf("read %q, %v", buf[:n], err)
	}
	if n, err = s.read(buf, 1<<40); err != io.EOF {
		t.Errorf("read %d bytes, %v at the end", n, err)
	}
}

// When a write has failed in the middle of a lazy read, that read ends with
// the last words' deadline.
func TestLastWordsEndALazyRead(t *testing.T) {
	s, _ := lazyPair(t)
	time.AfterFunc(mostPatient/2, s.fail)
	done := make(chan error, 1)
	go func() {
		_, err := s.read(make([]byte, 100), 1<<40)
		done <- err
	}()
	select {
	case err := <-done:
		if !os.IsTimeout(err) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(5 * lastWords):
		t.Error("the read does not end")
	}
}
