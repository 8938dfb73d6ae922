package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strings"
	"time"
)

// KubeletStore is where a kubelet that rotates its certificate keeps it.
const KubeletStore = "/var/lib/kubelet/pki"

// KubeletStoreCurrent is the link there that the kubelet's kubeconfig names
// after StoreCertificate.
const KubeletStoreCurrent = KubeletStore + "/kubelet-client-current.pem"

// StoreCertificate gives the kubelet a client certificate in its store that is
// due for renewal: a kubelet with rotateCertificates asks for the next one at
// its next start, and takes it once SignRequest has signed it.
func (b *Box) StoreCertificate() error {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	old := client("system:node:"+b.Name, "system:nodes")
	// A kubelet renews after 70 to 90 % of the lifetime.
	old.NotBefore, old.NotAfter = time.Now().Add(-23*time.Hour), time.Now().Add(time.Hour)
	made, err := b.secrets.issue(old, &own.PublicKey)
	if err != nil {
		return err
	}
	key, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		return err
	}
	made = append(made, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})...)
	// A later name than that of the certificate that the kubelet booted with.
	file := KubeletStore + "/kubelet-client-" + time.Now().Format("2006-01-02-15-04-05") + ".pem"
	if err := b.WriteFile(file, made, 0o600); err != nil {
		return err
	}
	link, err := b.Path(KubeletStoreCurrent)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(link), os.Symlink(file, link)); err != nil {
		return err
	}
	return b.WriteFile(b.options.Profile.files().kubeconfig, b.secrets.kubeconfig("system:node:"+b.Name, stored), 0o600)
}

// SignRequest signs a kubelet's request for a client certificate (PEM) as the
// cluster's signer does.
func (b *Box) SignRequest(request []byte) ([]byte, error) {
	block, _ := pem.Decode(request)
	if block == nil {
		return nil, errors.New("sign a certificate request: no PEM")
	}
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate request: %w", err)
	}
	return b.secrets.issue(client(asked.Subject.CommonName, strings.Join(asked.Subject.Organization, "")), asked.PublicKey)
}

// issue makes a certificate of the box's authority (PEM).
func (s *secrets) issue(cert *x509.Certificate, public any) ([]byte, error) {
	ca, err := tls.X509KeyPair(s.ca.certificate, s.ca.key)
	if err != nil {
		return nil, err
	}
	cert.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, cert, ca.Leaf, public, ca.PrivateKey)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// SetAPIAddress has the kubelet's kubeconfig name another host and port, for
// its next start.
func (b *Box) SetAPIAddress(address string) error {
	kubeconfig := b.options.Profile.files().kubeconfig
	text, err := b.ReadFile(kubeconfig)
	if err != nil {
		return err
	}
	changed := strings.ReplaceAll(string(text), APIURL, "https://"+address)
	return b.WriteFile(kubeconfig, []byte(changed), 0o600)
}
