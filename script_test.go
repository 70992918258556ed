package main

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"respipe/internal/redistest"
)

// TestScripts runs the stories of testdata/script. Besides the usual commands
// they have $TESTDATA, the folder above, and:
//
//	redis [options]      starts a server and sets PORT
//	redis-tls [options]  the same with a TLS port, TLSPORT; sets CA, CERT and KEY
//	nobody               sets PORT to a port on which nobody listens
//	httpd                starts a server that answers in HTTP and sets PORT
//	exits N command...   runs a command that must end with status N
func TestScripts(t *testing.T) {
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values["t"] = env.T()
			env.Setenv("GORACE", quickExit)
			env.Setenv("TESTDATA", testdata)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"redis": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv("PORT", redistest.Start(testOf(ts), args...).Port)
			},
			"redis-tls": func(ts *testscript.TestScript, _ bool, args []string) {
				s, port, files := redistest.StartTLS(testOf(ts), args...)
				for name, value := range map[string]string{"PORT": s.Port, "TLSPORT": port, "CA": files.CA, "CERT": files.ClientCert, "KEY": files.ClientKey} {
					ts.Setenv(name, value)
				}
			},
			"nobody": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Setenv("PORT", redistest.FreePort(testOf(ts)))
			},
			"httpd": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Setenv("PORT", httpd(testOf(ts)))
			},
			"exits": exits,
		},
	})
}

func testOf(ts *testscript.TestScript) testing.TB { return ts.Value("t").(testing.TB) }

func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	status := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	if status != want {
		ts.Fatalf("exit status %d, want %d", status, want)
	}
}

// httpd starts a server that is no Redis and returns its port.
func httpd(t testing.TB) string {
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
				bufio.NewReader(conn).ReadString('\n')
				fmt.Fprint(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
