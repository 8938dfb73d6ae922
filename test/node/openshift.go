package node

// openShiftHostname differs from the node's name, which comes from elsewhere
// (aws: local-hostname; OpenStack: the name of the instance).
const openShiftHostname = "ip-192-0-2-10"

const (
	// openShiftCA is the authority whose certificates the kubelet takes, and
	// nodeEnv the environment file with the node's name.
	openShiftCA = "/etc/kubernetes/kubelet-ca.crt"
	nodeEnv     = "/etc/kubernetes/node.env"
	proxyEnv    = "/etc/mco/proxy.env"
)

// openShiftCRIO is templates/master/01-master-container-runtime of the
// machine-config-operator, as far as it changes what a box has.
const openShiftCRIO = `[crio]
internal_wipe = true
internal_repair = true

[crio.api]
stream_address = "127.0.0.1"
stream_port = "0"

[crio.runtime]
default_env = ["NSS_SDB_USE_CACHE=no"]
absent_mount_sources_to_reject = ["/etc/hostname"]
drop_infra_ctr = true
# What the kubelet gives a pod. Debian 12's crun cannot lift the limit.
pids_limit = 4096

[crio.image]
short_name_mode = "disabled"

[crio.metrics]
enable_metrics = true
metrics_host = "127.0.0.1"
metrics_port = 9537
metrics_collectors = ["operations_total", "operations_latency_seconds_total", "operations_latency_seconds", "operations_errors_total",
  "image_pulls_bytes_total", "image_pulls_skipped_bytes_total", "image_pulls_success_total", "image_pulls_failure_total",
  "image_pulls_layer_size", "image_layer_reuse_total", "containers_oom_count_total", "processes_defunct"]
`

// Targets and units that the machine-config-operator has beside the kubelet:
// templates/common/_base/units.
const (
	dependenciesTarget = `[Unit]
Description=Dependencies necessary to run kubelet
Requires=basic.target network-online.target
Wants=crio-wipe.service
`
	// CRI-O in the box wipes what it must by itself when it starts.
	wipeUnit = `[Unit]
Description=CRI-O Auto Update Script
Before=crio.service

[Service]
Type=oneshot
ExecStart=/bin/true
`
	afterDependencies = `[Unit]
After=kubelet-dependencies.target
Requires=kubelet-dependencies.target
`
)

// addOpenShift adds them, and the mark of a node that is updated as a whole.
func addOpenShift(t *tree, options Options) {
	t.add("/etc/systemd/system/kubelet-dependencies.target", dependenciesTarget)
	t.add("/etc/systemd/system/crio-wipe.service", wipeUnit)
	for _, unit := range []string{CRIO, options.KubeletUnit} {
		t.add("/etc/systemd/system/"+unit+".d/10-dependencies.conf", afterDependencies)
	}
	t.add("/etc/tmpfiles.d/ostree-booted.conf", "f /run/ostree-booted\n")
}

// addOpenShiftProfile adds what the machine-config-operator lays around these
// units: templates/common/_base/files and templates/common/aws/units.
func addOpenShiftProfile(t *tree, options Options) {
	t.add("/etc/systemd/system.conf.d/10-default-timeout-stop.conf", "[Manager]\nDefaultTimeoutStopSec=200\n")
	t.add(nodeEnv, "KUBELET_NODE_NAME="+options.Name+"\n")
	// A proxy that nothing needs: all that a box pulls is in the box.
	t.add(proxyEnv, "HTTP_PROXY=http://192.0.2.1:3128\nHTTPS_PROXY=http://192.0.2.1:3128\nNO_PROXY=.cluster.local,.svc,127.0.0.1,localhost,"+nodeIP+"\n")
	for _, unit := range []string{CRIO, options.KubeletUnit} {
		dir := "/etc/systemd/system/" + unit + ".d/"
		t.add(dir+"10-mco-default-env.conf", "[Service]\nEnvironmentFile=-"+proxyEnv+"\n")
		t.add(dir+"10-mco-default-madv.conf", "[Service]\nEnvironment=\"GODEBUG=x509ignoreCN=0,madvdontneed=1\"\n")
	}
	dir := "/etc/systemd/system/" + options.KubeletUnit + ".d/"
	t.add(dir+"20-logging.conf", "[Service]\nEnvironment=\"KUBELET_LOG_LEVEL=2\"\n")
	t.add(dir+"20-node-env.conf", "[Service]\nEnvironmentFile="+nodeEnv+"\n")
}

// openShiftUnit is templates/master/01-master-kubelet/_base/units of the
// machine-config-operator.
func openShiftUnit(options Options) string {
	requires := CRIO
	if options.CRIProxy {
		requires += " " + CRIProxy
	}
	return `[Unit]
Description=Kubernetes Kubelet
Requires=` + requires + ` kubelet-dependencies.target
After=kubelet-dependencies.target ` + requires + `
After=ostree-finalize-staged.service

[Service]
Type=notify
ExecStartPre=/bin/mkdir --parents ` + ManifestDir + `
ExecStartPre=/bin/mkdir --parents ` + options.Profile.files().dropIns + `
Environment="KUBELET_NODE_IP=` + nodeIP + `"
EnvironmentFile=/etc/os-release
EnvironmentFile=-/etc/kubernetes/kubelet-workaround
EnvironmentFile=-/etc/kubernetes/kubelet-env
ExecStart=` + kubeletCommand(options) + `
Restart=always
RestartSec=10
`
}

// openShiftFlags are those of that unit, but for what a box has no use for:
// kubenswrapper, the cloud, the group of CRI-O, of which version 1 has no
// figures here, and labels that only OpenShift's own kubelet lets a node give
// itself.
func openShiftFlags(options Options) []string {
	var flags []string
	if options.Kubeconfig != Standalone {
		flags = append(flags, "--bootstrap-kubeconfig="+KubeletKubeconfig)
	}
	return append(flags,
		// A path without a scheme, and over the link /var/run.
		"--container-runtime-endpoint=/var"+criEndpoint(options),
		"--node-labels=node.openshift.io/os_id=${ID}",
		"--node-ip=${KUBELET_NODE_IP}",
		"--minimum-container-ttl-duration=6m0s",
		"--hostname-override=${KUBELET_NODE_NAME}",
		"--v=${KUBELET_LOG_LEVEL}",
	)
}

// addOpenShiftKubelet has the kubelet answer only to certificates: anonymous
// requests get 401, as they do on OpenShift. There requests are authorized by
// webhook too, so that while the API server is away nobody is. Here everybody
// with a certificate of openShiftCA is allowed: only the API server and the
// test have one, and the test must see what goes on when nobody else can.
func addOpenShiftKubelet(config map[string]any, options Options) {
	// The kubelet starts no webhook without a kubeconfig.
	webhook := options.Kubeconfig != Standalone
	config["authentication"] = map[string]any{
		"x509":      map[string]any{"clientCAFile": openShiftCA},
		"anonymous": map[string]any{"enabled": false},
		"webhook":   map[string]any{"enabled": webhook},
	}
	// On all addresses, where the API server finds it.
	delete(config, "address")
	config["containerLogMaxSize"] = "50Mi"
	config["maxPods"] = 250
	config["kubeAPIQPS"] = 50
	config["kubeAPIBurst"] = 100
	config["podPidsLimit"] = 4096
	config["rotateCertificates"] = webhook
	config["serializeImagePulls"] = false
	config["nodeStatusUpdateFrequency"] = "10s"
	config["nodeStatusReportFrequency"] = "5m"
}
