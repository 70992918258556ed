package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// endpoint is where the server is and who logs in.
type endpoint struct {
	network, addr string
	tls           *tls.Config // nil: in the clear
	user, pass    string
	db            int
}

// dial connects to addr; the TLS handshake, if any, is done.
func (e endpoint) dial(ctx context.Context, addr string) (net.Conn, error) {
	if e.tls != nil {
		return e.dialTLS(ctx, addr)
	}
	return new(net.Dialer).DialContext(ctx, e.network, addr)
}

// endpoint reads the options and the environment of the connection. A URL
// gives what no option gives; the environment, what neither gives.
func (o *optionReader) endpoint(program string) endpoint {
	e := o.address(program)
	e.tls = o.tlsConfig(e)
	if o.IsSet("db") {
		e.db = int(o.count("db", 0))
	}
	if o.IsSet("user") {
		e.user = o.String("user")
	}
	if pass := o.password(); pass != "" {
		e.pass = pass
	}
	if e.pass == "" {
		e.pass = cmp.Or(os.Getenv("REDISCLI_AUTH"), os.Getenv("VALKEYCLI_AUTH"))
	}
	if e.user != "" && e.pass == "" {
		o.mistake("user", "a user needs a password", "give it by --pass-file, REDISCLI_AUTH or -a; any will do for a user without one")
	}
	return e
}

// address reads host, port, socket and URL.
func (o *optionReader) address(program string) endpoint {
	plain := o.IsSet("host") || o.IsSet("port") || o.IsSet("socket")
	switch env := os.Getenv("REDIS_URL"); {
	case o.IsSet("url") && plain:
		o.mistake("url", "it names the server, and so do -h, -p and -s", "")
	case o.IsSet("url"):
		return o.url("url", o.String("url"))
	case env != "" && !plain && !o.Bool("pipe") && program != "redis-cli":
		return o.url("url (from REDIS_URL)", env)
	case o.IsSet("socket"):
		return endpoint{network: "unix", addr: o.String("socket")}
	}
	host, port := "127.0.0.1", "6379"
	if o.IsSet("host") {
		host = o.String("host")
	}
	if o.IsSet("port") {
		port = o.String("port")
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			o.mistake("port", quoted(port)+" is no port", "")
		}
	}
	return endpoint{network: "tcp", addr: net.JoinHostPort(host, port)}
}

// url reads a URL; nothing of it is shown, for it may hold a password.
func (o *optionReader) url(name, url string) endpoint {
	opt, err := redis.ParseURL(url)
	if err != nil {
		o.mistake(name, "this is no URL of a Redis", "write redis://user:password@host:port/db, rediss:// for TLS, or unix:///path?db=0, with %40 for an @ in the password")
		return endpoint{}
	}
	return endpoint{network: opt.Network, addr: opt.Addr, tls: opt.TLSConfig, user: opt.Username, pass: opt.Password, db: opt.DB}
}
