package kubelet

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// canonical is a node name as the kubelet makes it of a host name or an
// override (component-helpers node/util/hostname.go GetHostname, v0.37).
func canonical(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// provedName returns the name that a kubelet runs under, and how that is known.
// atStart is the host's name when it started; empty if that is not proved.
//
// A kubelet of before 1.31 with a cloud provider of its own (--cloud-provider)
// has its name from there: only its certificate tells (kubelet
// cmd/kubelet/app/server.go getNodeName, v1.30). All others take the override,
// else the host's name. The certificate was made for the name that the kubelet
// had then.
func provedName(f flags, atStart string) (name, from string, err error) {
	cloud := f.cloud != "" && f.cloud != "external"
	if canonical(f.hostname) != "" && !cloud {
		return canonical(f.hostname), "--hostname-override", nil
	}
	certified, why := certifiedName(f.kubeconfigs)
	switch {
	case certified != "" && atStart != "" && atStart != certified && !cloud:
		return "", "", fmt.Errorf("the kubelet's client certificate is that of node %s, and the host was called %s when the kubelet started; set kubelet.nodeName", certified, atStart)
	case certified != "":
		return certified, "client certificate", nil
	case atStart != "" && !cloud:
		return atStart, "host name", nil
	}
	return "", "", fmt.Errorf("it has no --hostname-override that counts, no client certificate names it (%w), and nothing proves what the host was called when it started; set kubelet.nodeName", why)
}

// certifiedName returns the node of the certificate that the kubelet presents
// to the API server. The last kubeconfig that has one counts.
func certifiedName(kubeconfigs []string) (string, error) {
	why := errors.New("no --kubeconfig")
	for _, path := range slices.Backward(kubeconfigs) {
		var name string
		if name, why = nameIn(path); why == nil {
			return name, nil
		}
	}
	return "", why
}

// nameIn reads the certificate that a kubeconfig holds or names. The format is
// that of client-go tools/clientcmd/api/v1 types.go, v0.37.
func nameIn(path string) (string, error) {
	file, err := regularfile.Read(path, maxSettings)
	if err != nil {
		return "", fmt.Errorf("kubeconfig %s: %s", path, inWords(err))
	}
	var kubeconfig struct {
		Current  string `json:"current-context"`
		Contexts []struct {
			Name    string `json:"name"`
			Context struct {
				User string `json:"user"`
			} `json:"context"`
		} `json:"contexts"`
		Users []struct {
			Name string `json:"name"`
			User struct {
				File string `json:"client-certificate"`
				Data []byte `json:"client-certificate-data"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(file.Data, &kubeconfig); err != nil {
		return "", fmt.Errorf("kubeconfig %s: not YAML: %s", path, inWords(err))
	}
	for _, context := range kubeconfig.Contexts {
		for _, user := range kubeconfig.Users {
			if context.Name != kubeconfig.Current || user.Name != context.Context.User {
				continue
			}
			certificate, named := user.User.Data, user.User.File
			if len(certificate) == 0 && named != "" {
				if !filepath.IsAbs(named) {
					named = filepath.Join(filepath.Dir(path), named)
				}
				file, err := regularfile.Read(named, maxSettings)
				if err != nil {
					return "", fmt.Errorf("client certificate %s: %s", named, inWords(err))
				}
				certificate = file.Data
			}
			return commonName(certificate, path)
		}
	}
	return "", fmt.Errorf("kubeconfig %s: names no user", path)
}

// commonName is that of the first certificate, without what makes it a node's
// (kubelet pkg/kubelet/certificate/kubelet.go NewKubeletClientCertificateManager,
// v1.37). Expired or not, it says for whom it was made.
func commonName(text []byte, path string) (string, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return "", fmt.Errorf("kubeconfig %s: its client certificate: %s", path, inWords(err))
		}
		name, ok := strings.CutPrefix(certificate.Subject.CommonName, "system:node:")
		if !ok || name == "" {
			return "", fmt.Errorf("kubeconfig %s: its client certificate is that of %q, which is no node", path, certificate.Subject.CommonName)
		}
		return name, nil
	}
	return "", fmt.Errorf("kubeconfig %s: no client certificate", path)
}

// hostName is the host's name over time.
type hostName struct {
	read func() (string, error)
	// file holds the name that the host gets when it boots.
	file string
	// name is what the last look saw, and has been so at each look since then.
	name  string
	since time.Duration
}

// look reads the name. It is called at each look.
func (h *hostName) look(boot time.Duration) {
	name, err := h.read()
	if name = canonical(name); err != nil || name != h.name {
		h.name, h.since = name, boot
	}
}

// at returns the name that the host had when a process started, if that can be
// proved: it was seen before the process and at each look since, or the host
// has the name that it booted with, which is older than the process.
func (h *hostName) at(started time.Duration, began time.Time) string {
	if h.since <= started {
		return h.name
	}
	var stat unix.Stat_t
	if err := unix.Stat(h.file, &stat); err != nil || !time.Unix(stat.Ctim.Unix()).Before(began) {
		return ""
	}
	if text, err := os.ReadFile(h.file); err != nil || canonical(string(text)) != h.name {
		return ""
	}
	return h.name
}
