package kubelet

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nodekeeper/nodekeeper/internal/keypair"
)

// clientCertificate is a certificate and key on disk that somebody else
// rotates.
type clientCertificate struct {
	certFile, keyFile string
	log               *slog.Logger

	reading sync.Mutex // guards the fields below
	// stamps tell the files that were read last from those on disk now.
	stamps keypair.Stamps
	pair   *tls.Certificate
}

// newClientCertificate returns nil if neither file is named.
func newClientCertificate(certFile, keyFile string, log *slog.Logger) *clientCertificate {
	if certFile == "" && keyFile == "" {
		return nil
	}
	return &clientCertificate{certFile: certFile, keyFile: keyFile, log: log}
}

// load returns the pair as it is on disk. While the files cannot be read (they
// are written one after the other) the last good pair serves on; without one
// it is an error.
func (c *clientCertificate) load() (*tls.Certificate, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.pair != nil && c.stamps == keypair.OnDisk(c.certFile, c.keyFile) {
		return c.pair, nil
	}
	pair, stamps, err := keypair.Read(c.certFile, c.keyFile)
	if err == nil {
		c.pair, c.stamps = &pair, stamps
		return c.pair, nil
	}
	err = fmt.Errorf("read the client certificate %s and key %s: %w", c.certFile, c.keyFile, err)
	if c.pair == nil {
		return nil, err
	}
	c.log.Warn("the client certificate on disk is not usable; the last one is presented", "error", err)
	return c.pair, nil
}

// get is for [tls.Config.GetClientCertificate]. It presents the certificate
// whatever authorities the server names: the kubelet's list may lag behind.
func (c *clientCertificate) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return c.load()
}
