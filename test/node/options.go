package node

import (
	"fmt"
	"io"
	"regexp"
)

// Kubeconfig is how the kubelet is told of an API server.
type Kubeconfig int

const (
	// Standalone: no kubeconfig; the kubelet knows static pods alone.
	Standalone Kubeconfig = iota
	// APIClosed: a valid kubeconfig, but nothing listens on the port that it
	// names until OpenAPI.
	APIClosed
	// APIOpen: like APIClosed, and the API server runs when Start returns.
	APIOpen
)

// Options of a box. The zero value is good for a standalone kubelet.
type Options struct {
	// Name of host and node: lower case letters, digits and dashes.
	// Default "node1".
	Name string
	// Kubeconfig mode of the kubelet.
	Kubeconfig Kubeconfig
	// API builds and installs etcd and kube-apiserver, for OpenAPI in mode
	// APIClosed. Implied by APIOpen.
	API bool
	// Critest builds and installs critest: see CritestCommand.
	Critest bool
	// KubeletConfig changes the kubelet's configuration before it is written.
	KubeletConfig func(config map[string]any)
	// KubeletDropIns are fragments of KubeletConfiguration by file name
	// (NN-name.conf), put into the kubelet's --config-dir.
	KubeletDropIns map[string]string
	// UnitDropIns are systemd unit fragments by unit name ("kubelet.service").
	UnitDropIns map[string]string
	// Proxy starts the kubelet through nodekeeper's wrapper, which leads it
	// through the watch guard once InstallProxy has been called.
	Proxy bool
	// OpenShift orders the units as the machine-config-operator does: CRI-O and
	// the kubelet come after kubelet-dependencies.target. The node says that it
	// was booted from an ostree.
	OpenShift bool
	// CRIODropIn is a fragment of CRI-O's configuration (TOML).
	CRIODropIn string
	// CRIProxy puts the fault proxy between kubelet and CRI-O: see SetCRIFault.
	CRIProxy bool
	// PlainRuntime leaves the wrapper around runc away, without which
	// SetRuntimeFault does nothing.
	PlainRuntime bool
	// CollectDir, when set, gets all that Collect gathers at Stop, and
	// not-collected.txt for what could not be had.
	CollectDir string
	// Progress gets a line for each step that takes long. Default os.Stdout.
	Progress io.Writer
}

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

func (o *Options) complete() error {
	if o.Name == "" {
		o.Name = "node1"
	}
	if !validName.MatchString(o.Name) {
		return fmt.Errorf("box name %q: want at most 32 lower case letters, digits and dashes", o.Name)
	}
	o.API = o.API || o.Kubeconfig == APIOpen
	return nil
}
