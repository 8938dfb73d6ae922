package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const pkiDir = "/etc/kubernetes/pki"

// pair is a certificate and its key, in PEM.
type pair struct{ certificate, key []byte }

// secrets are all certificates of a box. They live a day.
type secrets struct {
	ca, apiServer, kubelet, admin, serviceAccount pair
}

func newSecrets(nodeName string) (*secrets, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(pkix.Name{CommonName: "box"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	ca, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	s := &secrets{ca: ca}
	server := certificate(pkix.Name{CommonName: "kube-apiserver"})
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses = []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(nodeIP)}
	server.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	for _, wanted := range []struct {
		target *pair
		cert   *x509.Certificate
	}{
		{&s.apiServer, server},
		{&s.kubelet, client("system:node:"+nodeName, "system:nodes")},
		{&s.admin, client("admin", "system:masters")},
		{&s.serviceAccount, client("service-accounts", "box")},
	} {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		if *wanted.target, err = sign(wanted.cert, template, own, key); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func client(name, group string) *x509.Certificate {
	cert := certificate(pkix.Name{CommonName: name, Organization: []string{group}})
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return cert
}

func certificate(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func sign(cert, parent *x509.Certificate, own, signer *ecdsa.PrivateKey) (pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &own.PublicKey, signer)
	if err != nil {
		return pair{}, err
	}
	key, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		return pair{}, err
	}
	return pair{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key}),
	}, nil
}

func (s *secrets) addTo(t *tree, nodeName string) {
	t.addSecret(pkiDir+"/ca.crt", s.ca.certificate)
	t.addSecret(pkiDir+"/apiserver.crt", s.apiServer.certificate)
	t.addSecret(pkiDir+"/apiserver.key", s.apiServer.key)
	t.addSecret(pkiDir+"/serviceaccount.key", s.serviceAccount.key)
	t.addSecret(kubeconfig, s.kubeconfig("system:node:"+nodeName, inline(s.kubelet)))
	t.addSecret(AdminKubeconfig, s.kubeconfig("admin", inline(s.admin)))
}

// inline has a certificate in the kubeconfig itself.
func inline(p pair) string {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("    client-certificate-data: %s\n    client-key-data: %s\n", encode(p.certificate), encode(p.key))
}

func (s *secrets) kubeconfig(user, credentials string) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: box
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %q
  user:
%scontexts:
- name: box
  context: {cluster: box, user: %q}
current-context: box
`, APIURL, encode(s.ca.certificate), user, credentials, user)
}

// adminTLS is for requests to the API server from the test.
func (s *secrets) adminTLS() (*tls.Config, error) {
	certificate, err := tls.X509KeyPair(s.admin.certificate, s.admin.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.ca.certificate)
	return &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}
