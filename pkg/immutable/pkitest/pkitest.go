// Package pkitest makes certificates for tests: a cluster's certificate
// authority, its servers and clients, and a kubelet's files.
package pkitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs.
type Authority struct {
	testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// PEM is its certificate.
	PEM []byte
}

// New makes a certificate authority.
func New(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{TB: tb}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "cluster"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	a.certificate, a.key = a.sign(template, nil)
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
	return a
}

// Pair is a certificate with its key, as a program and as files have it.
type Pair struct {
	tls.Certificate
	CertificatePEM, KeyPEM []byte
}

// Client makes a client certificate that is valid until the given time.
func (a *Authority) Client(name, group string, until time.Time) Pair {
	a.Helper()
	return a.pair(&x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{group}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, NotAfter: until})
}

// Kubelet makes a client certificate of a node that is valid for an hour.
func (a *Authority) Kubelet(node string) Pair {
	a.Helper()
	return a.Client("system:node:"+node, "system:nodes", time.Now().Add(time.Hour))
}

// Server makes a server certificate for a name and for 127.0.0.1.
func (a *Authority) Server(name string) Pair {
	a.Helper()
	return a.pair(&x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotAfter: time.Now().Add(time.Hour)})
}

func (a *Authority) pair(template *x509.Certificate) Pair {
	a.Helper()
	template.NotBefore = time.Now().Add(-time.Hour)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	certificate, key := a.sign(template, a)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	return Pair{
		Certificate:    tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate},
		CertificatePEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}),
		KeyPEM:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
}

func (a *Authority) sign(template *x509.Certificate, parent *Authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		a.Fatal(err)
	}
	signer, signerKey := template, key
	if parent != nil {
		signer, signerKey = parent.certificate, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, key.Public(), signerKey)
	if err != nil {
		a.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return certificate, key
}

// Pool has the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Node is a kubelet's files in a directory.
type Node struct {
	testing.TB
	// PKI is the kubelet's directory of certificates, Kubeconfig its own file.
	PKI, Kubeconfig string
	rotations       int
}

// NewNode lays out a node whose kubeconfig names the server and the
// certificates as a kubelet that rotates them does. There is no certificate
// before the first Rotate.
func (a *Authority) NewNode(server, serverName string) *Node {
	a.Helper()
	dir := a.TempDir()
	n := &Node{TB: a.TB, PKI: filepath.Join(dir, "pki"), Kubeconfig: filepath.Join(dir, "kubeconfig")}
	current := filepath.Join(n.PKI, "kubelet-client-current.pem")
	ca := filepath.Join(dir, "ca.crt")
	if err := os.Mkdir(n.PKI, 0o700); err != nil {
		a.Fatal(err)
	}
	n.Write(ca, a.PEM)
	n.Write(n.Kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- {name: c, cluster: {server: %q, tls-server-name: %q, certificate-authority: %s}}
users:
- {name: u, user: {client-certificate: %s, client-key: %s}}
contexts:
- {name: x, context: {cluster: c, user: u}}
current-context: x
`, server, serverName, ca, current, current))
	return n
}

// Rotate gives the node a certificate as the kubelet does: a new file, then the
// link in one step (client-go util/certificate/certificate_store.go).
func (n *Node) Rotate(p Pair) {
	n.Helper()
	n.rotations++
	file := filepath.Join(n.PKI, fmt.Sprintf("kubelet-client-2026-11-30-10-00-%02d.pem", n.rotations))
	n.Write(file, append(append([]byte{}, p.CertificatePEM...), p.KeyPEM...))
	current := filepath.Join(n.PKI, "kubelet-client-current.pem")
	if err := os.Symlink(file, current+".new"); err != nil {
		n.Fatal(err)
	}
	if err := os.Rename(current+".new", current); err != nil {
		n.Fatal(err)
	}
}

// Write writes a file of root's.
func (n *Node) Write(path string, content []byte) {
	n.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		n.Fatal(err)
	}
}
