package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// As is the configuration of a client with a certificate of its own.
func (s *Server) As(t *testing.T, user, group string) *rest.Config {
	t.Helper()
	certificate, key := s.ca.issue(t, user, group)
	return &rest.Config{Host: s.Host, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.pem, CertData: certificate, KeyData: key}}
}

// AsAccount is the configuration of a client with a service account's token.
// The account has to exist.
func (s *Server) AsAccount(t *testing.T, namespace, name string) *rest.Config {
	t.Helper()
	token, err := s.Admin.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{Host: s.Host, BearerToken: token.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.pem}}
}

// authority signs the certificates of a cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T) *authority {
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
	return &authority{template, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func template(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

func (a *authority) issue(t *testing.T, name, group string) (certificate, key []byte) {
	t.Helper()
	cert := template(pkix.Name{CommonName: name})
	if group != "" {
		cert.Subject.Organization = []string{group}
	}
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	cert.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.certificate, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: bare})
}
