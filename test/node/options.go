package node

import (
	"cmp"
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

// Profile is a node as a family of users has it.
type Profile int

const (
	// Plain: host name and node name are one, everybody may read the kubelet's
	// list of pods, the units are no more than needed.
	Plain Profile = iota
	// OpenShift: what openshift.go lists. It is good in every Kubeconfig mode;
	// the node of a cluster whose API server is away is APIClosed.
	OpenShift
)

// OpenShiftKubelet is the kubelet of profile OpenShift.
const OpenShiftKubelet = "1.33"

// Options of a box. The zero value is good for a standalone kubelet.
type Options struct {
	// Name of the node, and of the host unless Hostname says otherwise: lower
	// case letters, digits and dashes. Default "node1".
	Name string
	// Profile of the node.
	Profile Profile
	// Kubelet is the version of the kubelet, one that a module below
	// test/components pins, or its beginning ("1.33"). Default: that of the
	// profile; Plain has that of test/components/kubernetes.
	Kubelet string
	// Hostname of the host. Default: Name, and openShiftHostname in profile
	// OpenShift.
	Hostname string
	// KubeletUnit is the unit that runs the kubelet; there is no other then.
	// Default Kubelet.
	KubeletUnit string
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
	// was booted from an ostree. Implied by profile OpenShift.
	OpenShift bool
	// CRIODropIn is a fragment of CRI-O's configuration (TOML).
	CRIODropIn string
	// CRIProxy puts the fault proxy between kubelet and CRI-O: see SetCRIFault.
	CRIProxy bool
	// PlainRuntime leaves the wrapper around the OCI runtime away, without
	// which SetRuntimeFault does nothing.
	PlainRuntime bool
	// CollectDir, when set, gets all that Collect gathers at Stop, and
	// not-collected.txt for what could not be had.
	CollectDir string
	// Progress gets a line for each step that takes long. Default os.Stdout.
	Progress io.Writer
}

var (
	validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)
	validUnit = regexp.MustCompile(`^[a-z0-9-]+\.service$`)
)

func (o *Options) complete() error {
	o.Name = cmp.Or(o.Name, "node1")
	o.KubeletUnit = cmp.Or(o.KubeletUnit, Kubelet)
	if o.Profile == OpenShift {
		o.OpenShift = true
		o.Kubelet = cmp.Or(o.Kubelet, OpenShiftKubelet)
		o.Hostname = cmp.Or(o.Hostname, openShiftHostname)
	}
	o.Hostname = cmp.Or(o.Hostname, o.Name)
	for _, name := range []string{o.Name, o.Hostname} {
		if !validName.MatchString(name) {
			return fmt.Errorf("box name %q: want at most 32 lower case letters, digits and dashes", name)
		}
	}
	if !validUnit.MatchString(o.KubeletUnit) {
		return fmt.Errorf("unit of the kubelet %q: want a name that ends in .service", o.KubeletUnit)
	}
	o.API = o.API || o.Kubeconfig == APIOpen
	return nil
}
