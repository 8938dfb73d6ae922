package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority signs the certificates of a cluster.
type Authority struct {
	// PEM is its own certificate.
	PEM []byte

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Pair is a certificate and its key, in PEM.
type Pair struct{ Certificate, Key []byte }

// NewAuthority makes one that is good for a day.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	template := template(pkix.Name{CommonName: "test"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), template, key}
}

func template(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// Issue signs for a client of a name and, unless it is empty, a group, or for a
// server on loopback.
func (a *Authority) Issue(t testing.TB, name, group string) Pair {
	t.Helper()
	cert := template(pkix.Name{CommonName: name})
	if group != "" {
		cert.Subject.Organization = []string{group}
	}
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	cert.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: bare}),
	}
}

// Pool has the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM)
	return pool
}

// TLS is the pair for a client or server of package tls.
func (p Pair) TLS(t testing.TB) tls.Certificate {
	t.Helper()
	certificate, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
