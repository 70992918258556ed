package main

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"respipe/internal/redistest"
)

// probe is another client of a server that is being loaded.
type probe struct{ conn net.Conn }

func newProbe(b *testing.B, addr string) *probe {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &probe{conn}
}

// measure sends a GET each millisecond, whether the one before is answered or
// not, and returns how long the answers took, sorted.
func (p *probe) measure(b *testing.B, span time.Duration) (delays []time.Duration) {
	sent := make(chan time.Time, span/time.Millisecond+1)
	go func() {
		defer close(sent)
		began := time.Now()
		for due := time.Duration(0); due < span; due += time.Millisecond {
			redistest.Sleep(due - time.Since(began))
			sent <- time.Now()
			if _, err := p.conn.Write([]byte("*2\r\n$3\r\nGET\r\n$1\r\n-\r\n")); err != nil {
				return
			}
		}
	}()
	answer := make([]byte, len("$-1\r\n"))
	for at := range sent {
		if _, err := io.ReadFull(p.conn, answer); err != nil {
			b.Fatal(err)
		}
		delays = append(delays, time.Since(at))
	}
	slices.Sort(delays)
	return delays
}

// quantile returns the delay that percent of sorted delays are not above, in
// milliseconds.
func quantile(delays []time.Duration, percent int) float64 {
	return delays[(len(delays)-1)*percent/100].Seconds() * 1e3
}
