package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"respipe/parser"
)

// errNoHello says that HELLO leads nowhere.
var errNoHello = errors.New("HELLO refused")

// greeting is the talk that opens a data connection.
type greeting struct {
	nc   net.Conn
	addr string // that was dialled
	cfg  Config
	buf  []byte // read and not yet taken
	info Server
}

// greet makes one connection and opens it with login.
func greet(ctx context.Context, cfg Config, addr string, login func(*greeting) error) (*greeting, error) {
	nc, err := cfg.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	g := &greeting{nc: nc, addr: addr, cfg: cfg}
	g.info = Server{Addr: nc.RemoteAddr().String(), DB: cfg.DB, Keys: -1}
	err = login(g)
	if err == nil {
		err = g.ready()
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, g.explain(err)
	}
	return g, nil
}

// hello logs in with HELLO 2, whose answer tells any user who the server is.
func (g *greeting) hello() error {
	args := []string{"HELLO", "2"}
	if g.cfg.Pass != "" {
		args = append(args, "AUTH", userName(g.cfg), g.cfg.Pass)
	}
	v, err := g.ask(args...)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), isReset(err):
		return errNoHello
	case err != nil:
		return err
	case v.Kind == '-':
		if err := refusal(string(v.Text)); err != nil {
			return err
		}
		return errNoHello
	}
	g.describe(v)
	if g.info.Mode == "sentinel" {
		return &ConnectError{Err: errors.New(g.info.Addr + " is a sentinel, it holds no data"), Hint: "give the address of the master that it watches"}
	}
	return nil
}

// auth logs in as before HELLO.
func (g *greeting) auth() error {
	if g.cfg.Pass == "" {
		return nil
	}
	args := []string{"AUTH", g.cfg.Pass}
	if g.cfg.User != "" {
		args = []string{"AUTH", g.cfg.User, g.cfg.Pass}
	}
	v, err := g.ask(args...)
	if err != nil || v.Kind != '-' {
		return err
	}
	text := string(v.Text)
	if strings.Contains(text, "without any password configured") || strings.Contains(text, "no password is set") {
		return nil
	}
	if err := refusal(text); err != nil {
		return err
	}
	return &ConnectError{Err: errors.New(text), Hint: "the user name or the password is wrong"}
}

// ready selects the database and asks whether the server takes commands. An
// error that speaks of the server's state says no; any other answer says yes,
// as a user may be forbidden to PING.
func (g *greeting) ready() error {
	if g.cfg.DB != 0 {
		v, err := g.ask("SELECT", strconv.Itoa(g.cfg.DB))
		if err != nil {
			return err
		}
		if v.Kind == '-' {
			return notReady(v, fmt.Errorf("database %d: %s", g.cfg.DB, v.Text))
		}
	}
	v, err := g.ask("PING")
	if err != nil {
		return err
	}
	if v.Kind == '-' {
		if err := notReady(v, nil); err != nil {
			return err
		}
		if err := refusal(string(v.Text)); err != nil {
			return err
		}
	}
	return g.inquire()
}

// inquire asks what the server tells of itself. What it refuses to tell stays
// unknown.
func (g *greeting) inquire() error {
	v, err := g.ask("INFO")
	if err != nil {
		return err
	}
	if v.Kind == '$' {
		g.info.Health = parseHealth(v.Text)
		g.info.RunID = g.info.Health.runID
		if g.info.Mode == "" {
			g.info.Mode = g.info.Health.mode
		}
	}
	if g.cfg.CountKeys {
		if g.info.Keys, err = g.askNumber("DBSIZE", -1); err != nil {
			return err
		}
	}
	if g.info.ID == 0 {
		g.info.ID, err = g.askNumber("CLIENT ID", 0)
	}
	return err
}

// askNumber asks for a number; it is other where none is told.
func (g *greeting) askNumber(command string, other int64) (int64, error) {
	v, err := g.ask(strings.Fields(command)...)
	if err != nil || v.Kind != ':' {
		return other, err
	}
	n, err := strconv.ParseInt(string(v.Text), 10, 64)
	return n, err
}

// notReady returns an error when v says that the server cannot take commands
// now, else other.
func notReady(v parser.Value, other error) error {
	word, _, _ := strings.Cut(string(v.Text), " ")
	switch word {
	case "LOADING", "BUSY", "MASTERDOWN":
		return &ConnectError{Err: fmt.Errorf("the server is not ready: %s", v.Text), Hint: "--wait-ready 60s waits until it is", Temporary: true, NotReady: true}
	}
	if other == nil {
		return nil
	}
	return &ConnectError{Err: other}
}

// refusal returns an error for the answers by which a server sends a client
// away, nil for any other.
func refusal(text string) error {
	hint, known := "", true
	switch word, _, _ := strings.Cut(text, " "); {
	case word == "NOAUTH":
		hint = "give the password with --pass-file FILE, or in the environment as REDISCLI_AUTH"
	case word == "WRONGPASS":
		hint = "the user name or the password is wrong"
	case word == "DENIED":
		hint = "the server is in protected mode: connect from its own machine, or give it a password"
	case strings.HasPrefix(text, "ERR max number of clients"):
	default:
		known = false
	}
	if !known {
		return nil
	}
	return &ConnectError{Err: errors.New(text), Hint: hint}
}

// describe takes what HELLO tells.
func (g *greeting) describe(v parser.Value) {
	for i := 0; i+1 < len(v.Elems); i += 2 {
		value := string(v.Elems[i+1].Text)
		switch string(v.Elems[i].Text) {
		case "server":
			g.info.Name = value
		case "version":
			g.info.Version = value
		case "mode":
			g.info.Mode = value
		case "role":
			g.info.Role = value
		case "id":
			g.info.ID, _ = strconv.ParseInt(value, 10, 64)
		}
	}
}

// ask sends a command and reads its reply, valid until the next ask.
func (g *greeting) ask(args ...string) (parser.Value, error) {
	words := make([][]byte, len(args))
	for i, arg := range args {
		words[i] = []byte(arg)
	}
	return g.exchange(parser.AppendCommand(nil, words))
}

// exchange sends a command in RESP and reads its reply, valid until the next
// one.
func (g *greeting) exchange(command []byte) (parser.Value, error) {
	if _, err := g.nc.Write(command); err != nil {
		return parser.Value{}, err
	}
	return g.reply()
}

// longestReply bounds a reply that is kept as a whole, in bytes.
const longestReply = 64 << 20

// reply reads one reply, valid until the next one.
func (g *greeting) reply() (parser.Value, error) {
	for {
		v, rest, err := parser.ParseReply(g.buf)
		if err == nil {
			g.buf = rest
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			return v, err
		}
		if len(g.buf) > longestReply {
			return v, errors.New("a reply of more than 64 MiB")
		}
		chunk := make([]byte, 8<<10)
		n, err := g.nc.Read(chunk)
		g.buf = append(g.buf, chunk[:n]...)
		if err != nil && n == 0 {
			return parser.Value{}, err
		}
	}
}

// within has a talk that must not take longer than to connect may. The error is
// a *PositionError, the cause of ctx, or a *ConnectError, temporary where this
// connection broke.
func (g *greeting) within(ctx context.Context, talk func() error) error {
	if g.cfg.ConnectTimeout > 0 {
		g.nc.SetDeadline(time.Now().Add(g.cfg.ConnectTimeout))
	}
	stop := context.AfterFunc(ctx, func() { g.nc.SetDeadline(time.Unix(1, 0)) })
	err := talk()
	if !stop() {
		return context.Cause(ctx)
	}
	g.nc.SetDeadline(time.Time{})
	if _, ok := errors.AsType[*PositionError](err); ok || err == nil {
		return err
	}
	if bad, ok := errors.AsType[*ConnectError](err); ok {
		return bad
	}
	if bad, ok := errors.AsType[*ConnectError](g.explain(err)); ok {
		return bad
	}
	return &ConnectError{Err: err, Temporary: true}
}

// askWithin is ask on a connection of which nothing bounds the time.
func (g *greeting) askWithin(ctx context.Context, args ...string) (v parser.Value, err error) {
	err = g.within(ctx, func() error {
		v, err = g.ask(args...)
		return err
	})
	return v, err
}

// explain says in words what an error of the greeting means.
func (g *greeting) explain(err error) error {
	addr := g.info.Addr
	switch {
	case errors.Is(err, errNoHello):
		return err
	case errors.Is(err, parser.ErrNotRESP) && len(g.buf) > 1 && g.buf[0] == 0x15 && g.buf[1] == 0x03:
		return &ConnectError{Err: fmt.Errorf("%s speaks TLS", addr), Hint: "this is the TLS port of the server: add --tls"}
	case errors.Is(err, parser.ErrNotRESP):
		return &ConnectError{Err: fmt.Errorf("%s is no Redis server: %w", addr, err), Hint: "check host and port"}
	case isTimeout(err):
		return &ConnectError{Err: fmt.Errorf("%s took the connection but did not answer within %v", addr, g.cfg.ConnectTimeout), Hint: "is it a Redis server? If this is its TLS port, add --tls", Temporary: true}
	case errors.Is(err, io.EOF), isReset(err):
		return &ConnectError{Err: fmt.Errorf("%s closed the connection without an answer", addr), Hint: "is it a Redis server? If this is its TLS port, add --tls", Temporary: true}
	}
	return err
}

func userName(cfg Config) string {
	if cfg.User == "" {
		return "default"
	}
	return cfg.User
}
