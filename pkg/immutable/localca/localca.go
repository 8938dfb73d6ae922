// Package localca makes the certificate that the proxy shows the kubelet: a
// certificate authority of this node alone, made anew after each boot, and one
// server certificate from it in the API server's name. Both stay in a directory
// under /run that only root reads.
package localca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
)

const (
	// The kubelet reads the authority at its start only, so that it has to be
	// good for as long as a node may stay up.
	authorityLife = 10 * 365 * 24 * time.Hour
	serverLife    = 30 * 24 * time.Hour
	// renewBefore is the rest of its life at which a server certificate is
	// renewed.
	renewBefore = serverLife / 3
	// A node's clock may be set back after these are made.
	backdate = 24 * time.Hour

	fileLimit = 1 << 20
)

// Authority is a node's certificate authority with its server certificate. It
// may be used from several goroutines.
type Authority struct {
	now func() time.Time

	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte

	mu     sync.Mutex // guards all below
	names  []string
	server *tls.Certificate
}

// Open reads the authority in dir, or makes one there. The server certificate
// is for the given DNS names and addresses.
func Open(dir string, names []string, now func() time.Time) (*Authority, error) {
	a := &Authority{names: slices.Clone(names), now: now}
	path := File(dir)
	err := a.read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUseless) {
		err = a.make(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the node's certificate authority: %w", err)
	}
	return a, nil
}

// File is where a directory has its authority.
func File(dir string) string { return filepath.Join(dir, "ca.pem") }

// errUseless is an authority that is broken, or at its end.
var errUseless = errors.New("not a certificate authority that can be used")

func (a *Authority) read(path string) error {
	data, err := statefile.Read(path, fileLimit)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", path, errUseless, err)
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return fmt.Errorf("%s: %w: %w", path, errUseless, err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	now := a.now()
	if !ok || !certificate.IsCA || now.Before(certificate.NotBefore) || now.After(certificate.NotAfter.Add(-serverLife)) {
		return fmt.Errorf("%s: %w", path, errUseless)
	}
	a.use(certificate, key)
	return nil
}

func (a *Authority) make(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := a.template(authorityLife)
	if err != nil {
		return err
	}
	template.Subject = pkix.Name{CommonName: "nodekeeper proxy of this node"}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	certificate, err := sign(template, template, key.Public(), key)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	a.use(certificate, key)
	// The authority outlives the process: a kubelet that runs trusts this one.
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return statefile.Replace(path, append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), a.pem...), 0o600, false)
}

func (a *Authority) use(certificate *x509.Certificate, key crypto.Signer) {
	a.certificate, a.key = certificate, key
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

// PEM is the authority's certificate.
func (a *Authority) PEM() []byte { return a.pem }

// Name adds a name that the server certificate is to be for. Those it was for
// stay: a kubelet that runs asks for the name that it was started with.
func (a *Authority) Name(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.names, name) {
		a.names, a.server = append(a.names, name), nil
	}
}

// GetCertificate is for tls.Config: the server certificate, renewed in time.
// It is in memory only.
func (a *Authority) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if a.server != nil && now.Before(a.server.Leaf.NotAfter.Add(-renewBefore)) && now.After(a.server.Leaf.NotBefore) {
		return a.server, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := a.template(serverLife)
	if err != nil {
		return nil, err
	}
	template.Subject = pkix.Name{CommonName: "nodekeeper proxy"}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range a.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	leaf, err := sign(template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	a.server = &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
	return a.server, nil
}

func (a *Authority) template(life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := a.now()
	return &x509.Certificate{SerialNumber: serial, NotBefore: now.Add(-backdate), NotAfter: now.Add(life)}, nil
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
