package kubeconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
	"github.com/nodekeeper/nodekeeper/internal/statefile"
)

// mode of the derived kubeconfig: the kubelet is root.
const mode = 0o600

// Derive makes the content of the kubeconfig that leads through a proxy on the
// loopback address listen, whose certificate is from localCA (PEM).
func Derive(s *Source, listen string, localCA []byte) ([]byte, error) {
	server := *s.Server
	server.Host = listen
	const name = "nodekeeper"
	// A proxy-url would send the kubelet's connection to 127.0.0.1 elsewhere.
	f := file{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters: []namedCluster{{Name: name, Cluster: cluster{
			Server: server.String(), ServerName: s.ServerName, CAData: Bundle(s.CA, localCA),
			DisableCompression: s.disableCompression,
		}}},
		Users: []namedUser{{Name: name, User: user{
			CertificateFile: s.CertificateFile, CertificateData: s.CertificateData,
			KeyFile: s.KeyFile, KeyData: s.KeyData,
		}}},
		Contexts: []namedContext{{Name: name, Context: configContext{Cluster: name, User: name, Namespace: s.namespace}}},
	}
	text, err := yaml.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("derive a kubeconfig from %s: %w", s.Path, err)
	}
	head := "# Made by nodekeeper from " + s.Path + ": edit that one.\n"
	return append([]byte(head), text...), nil
}

// Bundle is several bundles of certificates (PEM) in one.
func Bundle(bundles ...[]byte) []byte {
	var out bytes.Buffer
	for _, b := range bundles {
		out.Write(bytes.TrimSpace(b))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// Write puts a derived kubeconfig in its place in one step. It tells whether
// anything changed: the kubelet reads the file at its start only.
func Write(path string, content []byte) (changed bool, err error) {
	if now, err := regularfile.Read(path, limit); err == nil && bytes.Equal(now.Data, content) {
		info, err := os.Lstat(path)
		if err == nil && info.Mode() == mode {
			return false, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, fmt.Errorf("derive a kubeconfig: %w", err)
	}
	if err := statefile.Replace(path, content, mode, false); err != nil {
		return false, fmt.Errorf("derive a kubeconfig: %w", err)
	}
	return true, nil
}

// Revert removes a derived kubeconfig, so that the kubelet's next start is a
// direct one. It tells whether there was any.
func Revert(path string) (bool, error) {
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("remove the derived kubeconfig: %w", err)
	}
	return true, nil
}
