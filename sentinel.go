package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"respipe/loader"
)

// sentinels are asked who is master.
type sentinels struct {
	master string // name of the group

	mu    sync.Mutex
	addrs []string // the one that answered last comes first

	server endpoint // that they name; TLS and password are those of the sentinels, too
}

// sentinels reads --sentinel and --sentinel-master; nil without them.
func (o *optionReader) sentinels(e endpoint) *sentinels {
	if !o.IsSet("sentinel") {
		if o.IsSet("sentinel-master") {
			o.mistake("sentinel-master", "there is no sentinel to ask", "add --sentinel HOST:PORT")
		}
		return nil
	}
	s := &sentinels{master: "mymaster", server: e}
	if o.IsSet("sentinel-master") {
		s.master = o.String("sentinel-master")
	}
	for _, addr := range o.StringSlice("sentinel") {
		s.addrs = append(s.addrs, withPort(addr, "26379"))
	}
	return s
}

// address asks the sentinels, one after the other, for the master's address.
// The error is a *loader.ConnectError or the cause of ctx.
func (s *sentinels) address(ctx context.Context) (addr string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, sentinel := range s.addrs {
		if addr, err = s.ask(ctx, sentinel); err == nil {
			s.addrs[0], s.addrs[i] = s.addrs[i], s.addrs[0]
			return addr, nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if errors.Is(err, redis.Nil) {
			return "", &loader.ConnectError{
				Err:  fmt.Errorf("the sentinel %s watches no master of the name %s", sentinel, s.master),
				Hint: "--sentinel-master NAME gives the name; SENTINEL MASTERS lists them",
			}
		}
	}
	return "", &loader.ConnectError{Err: fmt.Errorf("no sentinel tells who is master: %w", err), Temporary: true}
}

// ask asks one sentinel, first without a password.
func (s *sentinels) ask(ctx context.Context, sentinel string) (string, error) {
	addr, err := s.askAs(ctx, sentinel, "", "")
	if err != nil && strings.Contains(err.Error(), "NOAUTH") && s.server.pass != "" {
		return s.askAs(ctx, sentinel, s.server.user, s.server.pass)
	}
	return addr, err
}

func (s *sentinels) askAs(ctx context.Context, sentinel, user, pass string) (string, error) {
	client := redis.NewSentinelClient(&redis.Options{
		Addr:     sentinel,
		Dialer:   func(ctx context.Context, _, addr string) (net.Conn, error) { return s.server.dial(ctx, addr) },
		Username: user, Password: pass,
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, PoolSize: 1,
	})
	defer client.Close()
	found, err := client.GetMasterAddrByName(ctx, s.master).Result()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(found[0], found[1]), nil
}
