package node

import (
	"fmt"

	"github.com/nodekeeper/nodekeeper/test/node/components"
)

const (
	crioSocket  = "/run/crio/crio.sock"
	proxySocket = "/run/box/cri-proxy.sock"
	// wrappers has programs that stand before those of the same names.
	wrappers = "/usr/libexec/box"
)

// crioSettings is where CRI-O differs between the profiles.
type crioSettings struct {
	runtime, path, root, monitor string
	table                        string // more of the runtime's settings
	cni                          string
	dropIn                       string
}

func crioOf(options Options) crioSettings {
	if options.Profile != OpenShift {
		s := crioSettings{"runc", "/opt/box/programs/runtime", "/run/runc", "/usr/bin/conmon", "", "/etc/cni/net.d", ""}
		if options.PlainRuntime {
			s.path = "/usr/sbin/runc"
		}
		return s
	}
	s := crioSettings{"crun", wrappers + "/crun", "/run/crun", wrappers + "/conmon", "container_min_memory = \"512KiB\"\n", "/etc/kubernetes/cni/net.d", openShiftCRIO}
	if options.PlainRuntime {
		// crun needs its wrapper where Debian has an old one.
		s.runtime, s.path, s.root, s.table = "runc", "/usr/sbin/runc", "/run/runc", ""
	}
	return s
}

func addCRIO(t *tree, options Options) {
	s := crioOf(options)
	t.add("/etc/crio/crio.conf", `[crio]
root = "/var/lib/containers/storage"
runroot = "/run/containers/storage"
storage_driver = "overlay"
version_file = "/run/crio/version"
version_file_persist = "/var/lib/crio/version"
clean_shutdown_file = "/var/lib/crio/clean.shutdown"

[crio.api]
listen = "`+crioSocket+`"

[crio.runtime]
default_runtime = "`+s.runtime+`"
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
pinns_path = "/opt/box/programs/pinns"
hooks_dir = ["/etc/containers/oci/hooks.d", "/run/containers/oci/hooks.d", "/usr/share/containers/oci/hooks.d"]
log_level = "info"

[crio.runtime.runtimes.`+s.runtime+`]
runtime_path = "`+s.path+`"
runtime_type = "oci"
runtime_root = "`+s.root+`"
monitor_path = "`+s.monitor+`"
`+s.table+`
[crio.image]
pause_image = "`+components.PauseImage+`"
pause_command = "/workload"
signature_policy = "/etc/containers/policy.json"

[crio.network]
network_dir = "`+s.cni+`"
plugin_dirs = ["/usr/lib/cni"]
`)
	if s.dropIn != "" {
		t.add("/etc/crio/crio.conf.d/00-default", s.dropIn)
	}
	if options.CRIODropIn != "" {
		t.add("/etc/crio/crio.conf.d/50-test.conf", options.CRIODropIn)
	}
	t.link(wrappers+"/crun", "/opt/box/programs/runtime")
	t.link(wrappers+"/conmon", "/opt/box/programs/conmon")
	t.add("/etc/containers/policy.json", `{"default": [{"type": "insecureAcceptAnything"}]}`+"\n")
	t.add("/etc/containers/registries.conf", "unqualified-search-registries = []\n[[registry]]\nlocation = \""+RegistryAddress+"\"\ninsecure = true\n")
	t.add("/etc/containers/oci/hooks.d/.keep", "")
	// Enough for CRI-O to call the network ready; pods use the host's.
	t.add(s.cni+"/10-box.conflist", `{
  "cniVersion": "0.4.0",
  "name": "box",
  "plugins": [
    {"type": "bridge", "bridge": "box0", "isGateway": true, "ipMasq": false,
     "ipam": {"type": "host-local", "ranges": [[{"subnet": "198.51.100.0/24"}]]}}
  ]
}
`)
	t.add("/etc/crictl.yaml", fmt.Sprintf("runtime-endpoint: unix://%s\nimage-endpoint: unix://%[1]s\ntimeout: 30\n", crioSocket))
}
