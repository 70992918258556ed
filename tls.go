package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"respipe/loader"
)

// tlsConfig reads the options of TLS for a connection to e; nil is a plain
// one.
func (o *optionReader) tlsConfig(e endpoint) *tls.Config {
	if !o.Bool("tls") && e.tls == nil {
		for _, name := range []string{"cacert", "cacertdir", "cert", "tls-key", "sni", "insecure"} {
			if o.IsSet(name) {
				o.mistake(name, "it means something with TLS only", "add --tls, or give a URL that begins with rediss://")
			}
		}
		return nil
	}
	if e.network == "unix" {
		o.mistake("tls", "a unix socket has no TLS", "")
	}
	cfg := &tls.Config{ServerName: o.String("sni"), InsecureSkipVerify: o.Bool("insecure"), MinVersion: tls.VersionTLS12}
	if e.tls != nil && e.tls.InsecureSkipVerify { // rediss://...?skip_verify=true
		cfg.InsecureSkipVerify = true
	}
	cfg.RootCAs, cfg.Certificates = o.authorities(), o.certificates()
	return cfg
}

// authorities reads --cacert and --cacertdir; nil stands for those of the
// system.
func (o *optionReader) authorities() *x509.CertPool {
	file, dir := o.String("cacert"), o.String("cacertdir")
	if file == "" && dir == "" {
		return nil
	}
	pool := x509.NewCertPool()
	if file != "" {
		text, err := os.ReadFile(file)
		if err == nil && !pool.AppendCertsFromPEM(text) {
			err = errors.New(file + " holds no certificate in PEM")
		}
		o.failed("cacert", err, "")
	}
	if dir != "" {
		o.failed("cacertdir", appendFolder(pool, dir), "")
	}
	return pool
}

// appendFolder adds the certificates of a folder, in which other files may
// lie, too.
func appendFolder(pool *x509.CertPool, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, entry := range entries {
		text, _ := os.ReadFile(filepath.Join(dir, entry.Name()))
		found = pool.AppendCertsFromPEM(text) || found
	}
	if !found {
		return errors.New(dir + " holds no certificate in PEM")
	}
	return nil
}

// certificates reads --cert and --tls-key.
func (o *optionReader) certificates() []tls.Certificate {
	cert, key := o.String("cert"), o.String("tls-key")
	switch {
	case cert == "" && key == "":
		return nil
	case cert == "":
		o.mistake("tls-key", "the certificate that it belongs to is missing", "--cert FILE")
		return nil
	case key == "":
		o.mistake("cert", "the key that belongs to it is missing", "--tls-key FILE")
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	o.failed("cert", err, "--cert and --tls-key are files in PEM that belong together")
	return []tls.Certificate{pair}
}

// shakeHands makes conn a TLS connection to the host of addr.
func (e endpoint) shakeHands(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	cfg := e.tls
	if cfg.ServerName == "" {
		cfg = cfg.Clone()
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(conn, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS handshake with %s: %w", addr, err)
	}
	return secure, nil
}

// hint says what may be done about an error that kept a TLS connection from
// being made; "" when the error has nothing to do with TLS.
func (e endpoint) hint(err error) string {
	const (
		isIt     = "does the server speak TLS on this port? If not, leave out --tls (a URL then begins with redis://)"
		refusing = "the server refuses this client: does it want a certificate (--cert and --tls-key)?"
	)
	if e.tls == nil {
		return ""
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "--cacert FILE names the authority that signed the certificate of the server; --insecure takes any certificate"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "--sni NAME gives the name that the certificate is for"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return isIt
	}
	op, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && op.Op == "dial":
		return ""
	case ok && op.Op == "remote error":
		return refusing
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return isIt
	}
	if connect, ok := errors.AsType[*loader.ConnectError](err); ok && connect.Temporary && !connect.NotReady {
		return refusing // it hung up behind the handshake, before its reason could be read
	}
	return ""
}
