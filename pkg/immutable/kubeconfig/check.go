package kubeconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// Check tells what is wrong with the derived kubeconfig at path, a line each.
// It is measured by what would be derived now.
func Check(path string, s *Source, listen string, localCA []byte, now time.Time) []string {
	var problems []string
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if err := clientCertificate(s, now); err != nil {
		add("%s: %v", s.Path, err)
	}
	want, err := Derive(s, listen, localCA)
	if err != nil {
		add("%v", err)
		return problems
	}
	is, err := regularfile.Read(path, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		add("%s is missing: the kubelet starts without the proxy", path)
		return problems
	case err != nil:
		add("%v", err)
		return problems
	case bytes.Equal(is.Data, want):
	default:
		for _, line := range differences(path, is.Data, s, listen, localCA) {
			add("%s", line)
		}
	}
	if info, err := os.Lstat(path); err == nil && info.Mode() != mode {
		add("%s has mode %v instead of %v", path, info.Mode(), fs.FileMode(mode))
	}
	return problems
}

// clientCertificate tells what is wrong with the kubelet's client certificate.
func clientCertificate(s *Source, now time.Time) error {
	pair, err := s.Pair()
	if err != nil {
		return err
	}
	if pair.Leaf.NotAfter.Before(now) {
		return fmt.Errorf("the client certificate expired at %s", pair.Leaf.NotAfter.UTC().Format(time.DateTime))
	}
	return nil
}

// Pair reads the client certificate with its key.
func (s *Source) Pair() (tls.Certificate, error) {
	certificate, key := s.CertificateData, s.KeyData
	for _, part := range []struct {
		file string
		data *[]byte
	}{{s.CertificateFile, &certificate}, {s.KeyFile, &key}} {
		if part.file == "" {
			continue
		}
		f, err := regularfile.Read(part.file, limit)
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("client certificate: %w", err)
		}
		*part.data = f.Data
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate: %w", err)
	}
	if pair.Leaf == nil {
		pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0])
	}
	return pair, err
}

// differences names what is not as it would be derived.
func differences(path string, data []byte, s *Source, listen string, localCA []byte) []string {
	d, err := parse(data, "/")
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", path, err)}
	}
	var out []string
	differs := func(is, want, what string) {
		if is != want {
			out = append(out, fmt.Sprintf("%s: %s is %q instead of %q", path, what, is, want))
		}
	}
	differs(d.Server.Host, listen, "the server")
	differs(d.ServerName, s.ServerName, "tls-server-name")
	differs(d.CertificateFile, s.CertificateFile, "client-certificate")
	differs(d.KeyFile, s.KeyFile, "client-key")
	for _, part := range []struct {
		ca   []byte
		what string
	}{{s.CA, "the cluster's"}, {localCA, "the node's own"}} {
		if !bytes.Contains(d.CA, bytes.TrimSpace(part.ca)) {
			out = append(out, fmt.Sprintf("%s: certificate-authority-data lacks %s", path, part.what))
		}
	}
	if len(out) == 0 {
		out = append(out, path+" is not what would be derived from "+s.Path+" now")
	}
	return out
}
