package node

import "github.com/nodekeeper/nodekeeper/test/node/components"

const (
	crioSocket  = "/run/crio/crio.sock"
	proxySocket = "/run/box/cri-proxy.sock"
)

func addCRIO(t *tree, options Options) {
	runtime := "/opt/box/programs/runtime"
	if options.PlainRuntime {
		runtime = "/usr/sbin/runc"
	}
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
default_runtime = "runc"
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
pinns_path = "/opt/box/programs/pinns"
hooks_dir = ["/etc/containers/oci/hooks.d", "/run/containers/oci/hooks.d", "/usr/share/containers/oci/hooks.d"]
log_level = "info"

[crio.runtime.runtimes.runc]
runtime_path = "`+runtime+`"
runtime_type = "oci"
runtime_root = "/run/runc"
monitor_path = "/usr/bin/conmon"

[crio.image]
pause_image = "`+components.PauseImage+`"
pause_command = "/workload"
signature_policy = "/etc/containers/policy.json"

[crio.network]
network_dir = "/etc/cni/net.d"
plugin_dirs = ["/usr/lib/cni"]
`)
	if options.CRIODropIn != "" {
		t.add("/etc/crio/crio.conf.d/50-test.conf", options.CRIODropIn)
	}
	t.add("/etc/containers/policy.json", `{"default": [{"type": "insecureAcceptAnything"}]}`+"\n")
	t.add("/etc/containers/registries.conf", "unqualified-search-registries = []\n")
	t.add("/etc/containers/oci/hooks.d/.keep", "")
	// Enough for CRI-O to call the network ready; pods use the host's.
	t.add("/etc/cni/net.d/10-box.conflist", `{
  "cniVersion": "0.4.0",
  "name": "box",
  "plugins": [
    {"type": "bridge", "bridge": "box0", "isGateway": true, "ipMasq": false,
     "ipam": {"type": "host-local", "ranges": [[{"subnet": "198.51.100.0/24"}]]}}
  ]
}
`)
	t.add("/etc/crictl.yaml", "runtime-endpoint: unix://"+crioSocket+"\nimage-endpoint: unix://"+crioSocket+"\ntimeout: 30\n")
}
