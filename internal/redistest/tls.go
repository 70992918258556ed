package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificates are the files, in PEM, of an authority and of the two
// certificates it has signed: one for a server that is redis.example and
// 127.0.0.1, one for a client.
type Certificates struct {
	CA                    string
	ServerCert, ServerKey string
	ClientCert, ClientKey string
}

// StartTLS is Start for a server that has a TLS port, too, which is returned.
// It wants a certificate of its clients unless args say otherwise.
func StartTLS(t testing.TB, args ...string) (s *Server, port string, files *Certificates) {
	t.Helper()
	files, port = NewCertificates(t), FreePort(t)
	s = Start(t, append([]string{"--tls-port", port, "--tls-ca-cert-file", files.CA,
		"--tls-cert-file", files.ServerCert, "--tls-key-file", files.ServerKey}, args...)...)
	return s, port, files
}

// NewCertificates makes an authority of its own, for one test.
func NewCertificates(t testing.TB) *Certificates {
	t.Helper()
	dir := t.TempDir()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"},
		DNSNames: []string{"redis.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	client := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "client"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	c := &Certificates{}
	var key *ecdsa.PrivateKey
	c.CA, _, key = sign(t, dir, "ca", ca, nil)
	c.ServerCert, c.ServerKey, _ = sign(t, dir, "server", server, &issuer{ca, key})
	c.ClientCert, c.ClientKey, _ = sign(t, dir, "client", client, &issuer{ca, key})
	return c
}

// issuer signs certificates.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign writes a certificate and its new key to files; without an issuer it
// signs itself.
func sign(t testing.TB, dir, name string, cert *x509.Certificate, by *issuer) (certFile, keyFile string, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by = &issuer{cert, key}
	}
	cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, cert, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	writePEM(t, certFile, "CERTIFICATE", der)
	writePEM(t, keyFile, "PRIVATE KEY", pkcs8)
	return certFile, keyFile, key
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
