package kubeconfig

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// limit is more than any kubeconfig or bundle of certificates has.
const limit = 4 << 20

// Source is the kubelet's own kubeconfig: its current context with all names of
// files made absolute.
type Source struct {
	// Path is where it was read.
	Path string
	// Server is the API server.
	Server *url.URL
	// ServerName is what its certificate has to be for: tls-server-name, or the
	// host of Server.
	ServerName string
	// Proxy is the proxy-url to the API server; nil leaves it to the environment.
	Proxy *url.URL
	// CA is the bundle of the cluster's certificate authorities (PEM).
	CA []byte
	// CAFile is where CA was read; empty if it was inline.
	CAFile string
	// CertificateFile and KeyFile hold the client certificate, or
	// CertificateData and KeyData (PEM) do. Data wins, as in client-go.
	CertificateFile, KeyFile string
	CertificateData, KeyData []byte

	namespace          string
	disableCompression bool
}

// Read reads a kubeconfig. Its error says in one line what the proxy cannot
// work with; errors.Is fs.ErrNotExist tells a node that has not joined yet.
func Read(path string) (*Source, error) {
	f, err := regularfile.Read(path, limit)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's kubeconfig: %w", err)
	}
	s, err := parse(f.Data, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.Path = path
	if s.CAFile != "" {
		ca, err := regularfile.Read(s.CAFile, limit)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate-authority: %w", path, err)
		}
		s.CA = ca.Data
	}
	if err := authorities(s.CA); err != nil {
		return nil, fmt.Errorf("%s: certificate-authority: %w", path, err)
	}
	return s, nil
}

// parse reads the content of a kubeconfig whose relative names start at dir.
func parse(data []byte, dir string) (*Source, error) {
	var f file
	if err := yaml.Unmarshal(data, &f); err != nil {
		// The parser's error can quote a line, and a line can be a key.
		return nil, errors.New("not a kubeconfig: no valid YAML of the expected form")
	}
	switch {
	case f.APIVersion != "" && f.APIVersion != "v1":
		return nil, fmt.Errorf("not a kubeconfig: apiVersion %q", f.APIVersion)
	case f.Kind != "" && f.Kind != "Config":
		return nil, fmt.Errorf("not a kubeconfig: kind %q", f.Kind)
	case f.CurrentContext == "":
		return nil, errors.New("no current-context")
	}
	// Of two of one name the first counts (client-go tools/clientcmd/api/v1
	// conversion.go).
	context, ok := find(f.Contexts, func(c namedContext) bool { return c.Name == f.CurrentContext })
	if !ok {
		return nil, fmt.Errorf("no context %q, which current-context names", f.CurrentContext)
	}
	c, ok := find(f.Clusters, func(c namedCluster) bool { return c.Name == context.Context.Cluster })
	if !ok {
		return nil, fmt.Errorf("no cluster %q, which context %q names", context.Context.Cluster, context.Name)
	}
	u, ok := find(f.Users, func(u namedUser) bool { return u.Name == context.Context.User })
	if !ok {
		return nil, fmt.Errorf("no user %q, which context %q names", context.Context.User, context.Name)
	}
	s := &Source{namespace: context.Context.Namespace, disableCompression: c.Cluster.DisableCompression}
	if err := s.cluster(c, dir); err != nil {
		return nil, err
	}
	if err := s.user(u, dir); err != nil {
		return nil, err
	}
	return s, nil
}

func find[T any](items []T, is func(T) bool) (found T, ok bool) {
	for _, item := range items {
		if is(item) {
			return item, true
		}
	}
	return found, false
}

func (s *Source) cluster(n namedCluster, dir string) error {
	c := n.Cluster
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("cluster %q: %s", n.Name, fmt.Sprintf(format, args...))
	}
	server, err := url.Parse(c.Server)
	switch {
	case c.Server == "":
		return refuse("no server")
	case err != nil || server.Hostname() == "":
		return refuse("server %q is not a URL with a host", c.Server)
	case server.Scheme != "https":
		return refuse("server %q is not https: who the kubelet is could not be told", c.Server)
	case server.User != nil || server.RawQuery != "" || server.Fragment != "":
		return refuse("server has more than a host, a port and a path")
	case c.Insecure:
		return refuse("insecure-skip-tls-verify: the API server would not be verified")
	case len(c.CAData) == 0 && c.CAFile == "":
		return refuse("no certificate-authority: the system's certificate authorities are not used")
	}
	s.Server, s.ServerName = server, c.ServerName
	if s.ServerName == "" {
		s.ServerName = server.Hostname()
	}
	if c.ProxyURL != "" {
		if s.Proxy, err = url.Parse(c.ProxyURL); err != nil || s.Proxy.Host == "" {
			return refuse("proxy-url is not a URL with a host")
		}
	}
	if s.CA = c.CAData; len(s.CA) == 0 {
		s.CAFile = absolute(dir, c.CAFile)
	}
	return nil
}

func (s *Source) user(n namedUser, dir string) error {
	u := n.User
	var also string
	switch {
	case u.Exec != nil:
		also = "an exec plugin"
	case u.AuthProvider != nil:
		also = "an auth-provider"
	case u.Token != "", u.TokenFile != "":
		also = "a bearer token"
	case u.Username != "", u.Password != "":
		also = "a password"
	case u.Impersonate != "", u.ImpersonateUID != "", len(u.ImpersonateIn) > 0, len(u.ImpersonateMore) > 0:
		also = "impersonation"
	}
	switch {
	case also != "":
		return fmt.Errorf("user %q: has %s: only a kubelet with a client certificate alone can go through the proxy", n.Name, also)
	case len(u.CertificateData) == 0 && u.CertificateFile == "":
		return fmt.Errorf("user %q: no client-certificate", n.Name)
	case len(u.KeyData) == 0 && u.KeyFile == "":
		return fmt.Errorf("user %q: no client-key", n.Name)
	}
	if s.CertificateData = u.CertificateData; len(s.CertificateData) == 0 {
		s.CertificateFile = absolute(dir, u.CertificateFile)
	}
	if s.KeyData = u.KeyData; len(s.KeyData) == 0 {
		s.KeyFile = absolute(dir, u.KeyFile)
	}
	return nil
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Files are all files that a Source was made of, for those who wait for a
// change of one.
func (s *Source) Files() []string {
	files := []string{s.Path}
	for _, f := range []string{s.CAFile, s.CertificateFile, s.KeyFile} {
		if f != "" {
			files = append(files, f)
		}
	}
	return files
}

// Address is the host and port of the API server.
func (s *Source) Address() string {
	if s.Server.Port() != "" {
		return s.Server.Host
	}
	return s.Server.Host + ":443"
}

// Roots are the cluster's certificate authorities.
func (s *Source) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.CA)
	return pool
}

// authorities tells what is wrong with a bundle of certificates. Go skips what
// it cannot read in one, so that only an empty result is an error.
func authorities(bundle []byte) error {
	for rest := bytes.TrimSpace(bundle); len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err == nil {
			return nil
		}
	}
	return errors.New("no certificate in it")
}
