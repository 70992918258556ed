package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// endpoint is where the server is and who logs in.
type endpoint struct {
	network    string
	addrs      []string // any of which will do, at least one
	reachable  map[string]string
	sentinels  *sentinels  // nil: none
	tls        *tls.Config // nil: in the clear
	user, pass string
	db         int
}

// name tells one server, or group of servers, from others.
func (e endpoint) name() string {
	if e.sentinels != nil {
		return e.sentinels.master
	}
	return strings.Join(e.addrs, " ")
}

// dial connects to addr, or to where that can be reached; the TLS handshake, if
// any, is done.
func (e endpoint) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, e.network, cmp.Or(e.reachable[addr], addr))
	if err != nil || e.tls == nil {
		return conn, err
	}
	return e.shakeHands(ctx, conn, addr)
}

// endpoint reads the options and the environment of the connection. A URL
// gives what no option gives; the environment, what neither gives.
func (o *optionReader) endpoint(program string) endpoint {
	e := o.address(program)
	e.reachable = o.nodeAddresses()
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
	e.sentinels = o.sentinels(e)
	if e.user != "" && e.pass == "" {
		o.mistake("user", "a user needs a password", "give it by --pass-file, REDISCLI_AUTH or -a; any will do for a user without one")
	}
	return e
}

// address reads host, port, socket and URL.
func (o *optionReader) address(program string) endpoint {
	plain := o.IsSet("host") || o.IsSet("port") || o.IsSet("socket")
	switch env := os.Getenv("REDIS_URL"); {
	case plain && (o.IsSet("url") || o.IsSet("sentinel")):
		o.mistake(cmp.Or(given(o, "url"), "sentinel"), "it tells where the server is, and so do -h, -p and -s", "")
	case o.IsSet("url"):
		return o.url("url", o.String("url"))
	case o.IsSet("sentinel"):
		return endpoint{network: "tcp", addrs: o.StringSlice("sentinel")}
	case env != "" && !plain && !o.Bool("pipe") && program != "redis-cli":
		return o.url("url (from REDIS_URL)", env)
	case o.IsSet("socket"):
		return endpoint{network: "unix", addrs: []string{o.String("socket")}}
	}
	port := "6379"
	if o.IsSet("port") {
		port = o.String("port")
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			o.mistake("port", quoted(port)+" is no port", "")
		}
	}
	e := endpoint{network: "tcp"}
	for _, host := range o.StringSlice("host") {
		e.addrs = append(e.addrs, withPort(host, port))
	}
	if len(e.addrs) == 0 {
		e.addrs = []string{net.JoinHostPort("127.0.0.1", port)}
	}
	return e
}

func given(o *optionReader, name string) string {
	if o.IsSet(name) {
		return name
	}
	return ""
}

// withPort joins a host with a port, unless it has one.
func withPort(host, port string) string {
	if strings.Count(host, ":") == 1 {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// nodeAddresses reads --node-address: where the nodes of a cluster can be
// reached, by the address that they announce.
func (o *optionReader) nodeAddresses() map[string]string {
	reachable := map[string]string{}
	for _, pair := range o.StringSlice("node-address") {
		announced, real, ok := strings.Cut(pair, "=")
		if !ok || !strings.Contains(announced, ":") || !strings.Contains(real, ":") {
			o.mistake("node-address", quoted(pair)+" is no pair of addresses", "write --node-address 10.0.0.7:6379=localhost:7001")
		}
		reachable[announced] = real
	}
	return reachable
}

// url reads a URL; nothing of it is shown, for it may hold a password.
func (o *optionReader) url(name, url string) endpoint {
	opt, err := redis.ParseURL(url)
	if err != nil {
		o.mistake(name, "this is no URL of a Redis", "write redis://user:password@host:port/db, rediss:// for TLS, or unix:///path?db=0, with %40 for an @ in the password")
		return endpoint{}
	}
	return endpoint{network: opt.Network, addrs: []string{opt.Addr}, tls: opt.TLSConfig, user: opt.Username, pass: opt.Password, db: opt.DB}
}
