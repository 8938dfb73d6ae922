package node

import (
	"bytes"
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

// KubeletClientCertificate and KubeletClientKey are the files in the box by
// which the API server shows itself to the kubelet. Whoever has them may read
// the kubelet's pods in profile OpenShift.
const (
	KubeletClientCertificate = pkiDir + "/apiserver-kubelet-client.crt"
	KubeletClientKey         = pkiDir + "/apiserver-kubelet-client.key"
)

// pair is a certificate and its key, in PEM.
type pair struct{ certificate, key []byte }

// secrets are all certificates of a box. They live a day.
type secrets struct {
	ca, apiServer, kubelet, admin, serviceAccount pair
	// kubeletCA signs kubeletClient alone: what the API server and the test
	// show to a kubelet that asks for a certificate. The kubelet's own is not
	// good for that, as it is not on OpenShift, where a node is authenticated
	// and refused.
	kubeletCA, kubeletClient pair
}

func newSecrets(nodeName string) (*secrets, error) {
	s := &secrets{}
	var box, toKubelet authority
	var err error
	if s.ca, box, err = newAuthority("box"); err != nil {
		return nil, err
	}
	if s.kubeletCA, toKubelet, err = newAuthority("kube-apiserver-to-kubelet-signer"); err != nil {
		return nil, err
	}
	server := certificate(pkix.Name{CommonName: "kube-apiserver"})
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses = []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(nodeIP)}
	server.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	for _, wanted := range []struct {
		target *pair
		cert   *x509.Certificate
		by     authority
	}{
		{&s.apiServer, server, box},
		{&s.kubelet, client("system:node:"+nodeName, "system:nodes"), box},
		{&s.admin, client("admin", "system:masters"), box},
		{&s.serviceAccount, client("service-accounts", "box"), box},
		{&s.kubeletClient, client("system:kube-apiserver", "kube-master"), toKubelet},
	} {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		if *wanted.target, err = sign(wanted.cert, wanted.by.certificate, own, wanted.by.key); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(name string) (pair, authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, authority{}, err
	}
	template := certificate(pkix.Name{CommonName: name})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	own, err := sign(template, template, key, key)
	return own, authority{template, key}, err
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

func (s *secrets) addTo(t *tree, options Options) {
	t.addSecret(KubeletClientCertificate, s.kubeletClient.certificate)
	t.addSecret(KubeletClientKey, s.kubeletClient.key)
	if options.Profile == OpenShift {
		t.add(openShiftCA, string(s.kubeletCA.certificate))
	}
	if options.Kubeconfig == Standalone {
		return
	}
	t.addSecret(pkiDir+"/ca.crt", s.ca.certificate)
	t.addSecret(pkiDir+"/apiserver.crt", s.apiServer.certificate)
	t.addSecret(pkiDir+"/apiserver.key", s.apiServer.key)
	t.addSecret(pkiDir+"/serviceaccount.key", s.serviceAccount.key)
	user := "system:node:" + options.Name
	t.addSecret(KubeletKubeconfig, s.kubeconfig(user, inline(s.kubelet)))
	if options.Profile == OpenShift {
		// As a kubelet that rotates its certificates has them: one that it
		// finds nowhere else is renewed at its start.
		own := KubeletStore + "/kubelet-client-2026-01-01-00-00-00.pem"
		t.addSecret(own, append(bytes.Clone(s.kubelet.certificate), s.kubelet.key...))
		t.link(KubeletStoreCurrent, own)
		t.addSecret(options.Profile.files().kubeconfig, s.kubeconfig(user, stored))
	}
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

// stored has a certificate in the kubelet's store.
const stored = "    client-certificate: " + KubeletStoreCurrent + "\n    client-key: " + KubeletStoreCurrent + "\n"

// kubeletTLS is for requests to the kubelet, whose own certificate nobody
// signed.
func (s *secrets) kubeletTLS() (*tls.Config, error) {
	certificate, err := tls.X509KeyPair(s.kubeletClient.certificate, s.kubeletClient.key)
	return &tls.Config{Certificates: []tls.Certificate{certificate}, InsecureSkipVerify: true}, err
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
