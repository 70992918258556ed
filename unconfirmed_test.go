package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"respipe/internal/redistest"
)

// muteProxy passes on what it is sent, and no reply from the first request on
// that holds marker, until that connection is cut.
type muteProxy struct {
	port   string
	muted  chan net.Conn // the connection, once it is mute
	struck atomic.Bool
}

func newMuteProxy(t *testing.T, s *redistest.Server, marker string) *muteProxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	p := &muteProxy{port: port, muted: make(chan net.Conn, 1)}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", s.Addr)
			if err != nil {
				client.Close()
				return
			}
			p.carry(client, server, []byte(marker))
		}
	}()
	return p
}

func (p *muteProxy) carry(client, server net.Conn, marker []byte) {
	var mute atomic.Bool
	go func() {
		defer server.Close()
		b := make([]byte, 64<<10)
		for {
			n, err := client.Read(b)
			strikes := bytes.Contains(b[:n], marker) && p.struck.CompareAndSwap(false, true)
			if strikes {
				mute.Store(true)
			}
			server.Write(b[:n])
			if strikes {
				p.muted <- client
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer client.Close()
		b := make([]byte, 64<<10)
		for {
			n, err := server.Read(b)
			if !mute.Load() {
				client.Write(b[:n])
			}
			if err != nil {
				return
			}
		}
	}()
}

// TestExactlyOnceUnconfirmed: a transaction with a refused record runs, and its
// reply is lost, as the connection is cut, or as respipe is killed. Its records
// are named, by this run or the next one, and by every further one, and are in
// FILE.unknown once; --after is not sent.
func TestExactlyOnceUnconfirmed(t *testing.T) {
	const records, window = 30, 10
	for _, kill := range []bool{false, true} {
		for _, input := range []string{"in.txt", "in.txt.gz", "-"} {
			for _, bad := range []int{5, 15, 25} { // in the first transaction, a middle one, the last one
				t.Run(fmt.Sprint("killed ", kill, " ", input, " ", bad), func(t *testing.T) {
					t.Parallel()
					s := redistest.Start(t)
					s.CLI("SET", "text", "x")
					proxy := newMuteProxy(t, s, "MARKER")
					l := &unconfirmedLoad{input: input, args: []string{"--exactly-once", "x", "--window", fmt.Sprint(window), "--after", "SET ready 1"}}
					l.write(t, records, bad)
					first := l.run(t, proxy.port)
					cut := <-proxy.muted
					first0 := (bad-1)/window*window + 1
					last := first0 + window - 1
					eventually(t, s, fmt.Sprint(last-1), "LLEN", "L")
					named := fmt.Sprintf(`^.*:%d to .*:%d: 10 records are unconfirmed: `, first0, last)
					counts := `^errors: 0, replies: 0$`
					if kill {
						first.signal(syscall.SIGKILL)
						first.wait()
						l.run(t, s.Port).expect(exitErrors, "^going on behind .*:"+fmt.Sprint(last)+": ", "are read again, and not sent$", named,
							`^10 records with unknown outcome are in `)
					} else {
						cut.Close()
						first.expect(exitErrors, named, `^errors: 0, replies: 20$`, `^10 records with unknown outcome are in `)
					}
					l.run(t, s.Port).expect(exitErrors, named, "^x is done: 30 records ", counts)
					l.args = append(l.args, "--summary", "json")
					l.run(t, s.Port).expect(exitErrors, named, `"unknown":0,"not_sent":0,"unconfirmed":10,.*"exit":1`)
					if got := s.CLI("LLEN", "L") + " " + s.CLI("EXISTS", "ready"); got != fmt.Sprint(records-1, " 0") {
						t.Errorf("records loaded, and whether --after was sent: %s", got)
					}
					l.checkUnknown(t, first0, last, bad)
				})
			}
		}
	}
}

// TestExactlyOnceAfterUnconfirmed: the reply to --after is lost. Whether it was
// refused is not known; every run of the line says so.
func TestExactlyOnceAfterUnconfirmed(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		s := redistest.Start(t)
		proxy := newMuteProxy(t, s, "ready")
		l := &unconfirmedLoad{input: "-", dir: t.TempDir(), text: "INCR n\n", args: []string{"--exactly-once", "x", "--after", "INCR ready"}}
		first := l.run(t, proxy.port)
		cut := <-proxy.muted
		eventually(t, s, "1", "GET", "ready")
		const lost = "^the command of --after ran, but its reply was lost"
		if kill {
			first.signal(syscall.SIGKILL)
			first.wait()
		} else {
			cut.Close()
			first.expect(exitErrors, lost, "^errors: 0, replies: 1$")
		}
		for range 2 {
			l.run(t, s.Port).expect(exitErrors, lost, "^x is done: 1 records ")
		}
		if got := s.CLI("GET", "ready"); got != "1" {
			t.Errorf("--after was sent %s times", got)
		}
	}
}

// unconfirmedLoad is a load whose line is run again and again.
type unconfirmedLoad struct {
	input string
	text  string // of standard input
	dir   string
	args  []string
}

// write writes an input of which one record is refused.
func (l *unconfirmedLoad) write(t *testing.T, records, bad int) {
	l.dir = t.TempDir()
	var text strings.Builder
	for i := 1; i <= records; i++ {
		if i == bad {
			fmt.Fprintln(&text, "LPUSH text MARKER")
		} else {
			fmt.Fprintln(&text, "RPUSH L", i)
		}
	}
	l.text = text.String()
	content := []byte(l.text)
	if l.input == "-" {
		return
	}
	l.text = ""
	if strings.HasSuffix(l.input, ".gz") {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(content)
		w.Close()
		content = packed.Bytes()
	}
	l.input = filepath.Join(l.dir, l.input)
	if err := os.WriteFile(l.input, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// run begins a run of the line.
func (l *unconfirmedLoad) run(t *testing.T, port string) *child {
	c := start(t, append(append([]string{"-p", port}, l.args...), "--rejects", filepath.Join(l.dir, "rejects"), l.input)...)
	io.WriteString(c.stdin, l.text)
	c.stdin.Close()
	return c
}

// checkUnknown looks whether the records from first to last, of which one is
// bad, are in one file of unknown records, and nothing is in another file.
func (l *unconfirmedLoad) checkUnknown(t *testing.T, first, last, bad int) {
	files, err := filepath.Glob(filepath.Join(l.dir, "rejects*"))
	if err != nil || len(files) != 1 || !strings.HasSuffix(files[0], ".unknown") {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	var want strings.Builder
	for i := first; i <= last; i++ {
		if i == bad {
			want.WriteString("LPUSH text MARKER\n")
		} else {
			fmt.Fprintln(&want, "RPUSH L", i)
		}
	}
	if err != nil || string(text) != want.String() {
		t.Errorf("%s holds %q (%v), want %q", files[0], text, err, want.String())
	}
}
