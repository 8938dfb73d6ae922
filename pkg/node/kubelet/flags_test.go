package kubelet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Command lines as they are on nodes, with the shells' part done.
func TestCommandLinesOfRealNodes(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want flags
	}{
		// machine-config-operator templates/worker/01-worker-kubelet, release-4.20.
		"OpenShift": {
			`--config=/etc/kubernetes/kubelet.conf --bootstrap-kubeconfig=/etc/kubernetes/kubeconfig --kubeconfig=/var/lib/kubelet/kubeconfig ` +
				`--container-runtime-endpoint=/var/run/crio/crio.sock --runtime-cgroups=/system.slice/crio.service ` +
				`--node-labels=node-role.kubernetes.io/control-plane,node-role.kubernetes.io/master,node.openshift.io/os_id=rhel, --node-ip=10.0.0.5 ` +
				`--address=10.0.0.5 --minimum-container-ttl-duration=6m0s --cloud-provider= --volume-plugin-dir=/etc/kubernetes/kubelet-plugins/volume/exec ` +
				`--hostname-override=Worker-0.example.com --provider-id= --register-with-taints=node-role.kubernetes.io/master=:NoSchedule ` +
				`--pod-infra-container-image=quay.io/x@sha256:8b --system-reserved=cpu=500m,memory=1Gi,ephemeral-storage=1Gi --v=2`,
			flags{config: "/etc/kubernetes/kubelet.conf", kubeconfigs: []string{"/var/lib/kubelet/kubeconfig"}, hostname: "Worker-0.example.com",
				labels: []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", "node.openshift.io/os_id"},
				fields: map[string]any{"containerRuntimeEndpoint": "/var/run/crio/crio.sock"}},
		},
		// The same, with a proxy's kubeconfig added by a wrapper.
		"OpenShift through a proxy": {
			`--config=/etc/kubernetes/kubelet.conf --kubeconfig=/var/lib/kubelet/kubeconfig --hostname-override=w --kubeconfig=/run/derived/kubeconfig`,
			flags{config: "/etc/kubernetes/kubelet.conf", kubeconfigs: []string{"/var/lib/kubelet/kubeconfig", "/run/derived/kubeconfig"}, hostname: "w"},
		},
		// kubeadm's 10-kubeadm.conf and kubeadm-flags.env.
		"kubeadm": {
			`--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml ` +
				`--container-runtime-endpoint=unix:///var/run/containerd/containerd.sock --pod-infra-container-image=registry.k8s.io/pause:3.10`,
			flags{config: "/var/lib/kubelet/config.yaml", kubeconfigs: []string{"/etc/kubernetes/kubelet.conf"},
				fields: map[string]any{"containerRuntimeEndpoint": "unix:///var/run/containerd/containerd.sock"}},
		},
		// kubespray roles/kubernetes/node/templates/kubelet.env.v1beta1.j2.
		"Kubespray": {
			`--v=2 --node-ip=10.0.0.6 --hostname-override=node1 --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf ` +
				`--config=/etc/kubernetes/kubelet-config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf ` +
				`--container-runtime-endpoint=unix:///var/run/crio/crio.sock --runtime-cgroups=/system.slice/crio.service --node-labels=`,
			flags{config: "/etc/kubernetes/kubelet-config.yaml", kubeconfigs: []string{"/etc/kubernetes/kubelet.conf"}, hostname: "node1",
				fields: map[string]any{"containerRuntimeEndpoint": "unix:///var/run/crio/crio.sock"}},
		},
		// rke2 pkg/podexecutor and k3s pkg/daemons/agent, v1.34.
		"RKE2": {
			`--volume-plugin-dir=/var/lib/kubelet/volumeplugins --file-check-frequency=5s --sync-frequency=30s --cloud-provider=external ` +
				`--config-dir=/var/lib/rancher/rke2/agent/etc/kubelet.conf.d --containerd=/run/k3s/containerd/containerd.sock --hostname-override=k8s-server ` +
				`--kubeconfig=/var/lib/rancher/rke2/agent/kubelet.kubeconfig --node-ip=10.0.0.7,2001:db8::2 --node-labels= --read-only-port=0`,
			flags{configDir: "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d", kubeconfigs: []string{"/var/lib/rancher/rke2/agent/kubelet.kubeconfig"},
				hostname: "k8s-server", cloud: "external", fields: map[string]any{"fileCheckFrequency": "5s"}},
		},
		// k0s pkg/component/worker/kubelet.go.
		"k0s": {
			`--root-dir=/var/lib/k0s/kubelet --config=/run/k0s/kubelet-config.yaml --bootstrap-kubeconfig=/run/k0s/b.conf --kubeconfig=/var/lib/k0s/kubelet.conf ` +
				`--v=1 --runtime-cgroups=/system.slice/containerd.service --cert-dir=/var/lib/k0s/kubelet/pki --hostname-override=n`,
			flags{config: "/run/k0s/kubelet-config.yaml", kubeconfigs: []string{"/var/lib/k0s/kubelet.conf"}, rootDir: "/var/lib/k0s/kubelet", hostname: "n"},
		},
		"flags instead of a file": {
			`--pod-manifest-path /etc/manifests --manifest-url=http://x/m --root_dir=/r -max-pods 250 --healthz-port=0 --healthz-bind-address 0.0.0.0 ` +
				`--cgroup-driver=systemd --feature-gates=A=true,B=false --node-labels a=1 --node-labels=b,a=2 --feature-gates B=1`,
			flags{rootDir: "/r", labels: []string{"a", "b"}, fields: map[string]any{
				"staticPodPath": "/etc/manifests", "staticPodURL": "http://x/m", "maxPods": 250.0, "healthzPort": 0.0, "healthzBindAddress": "0.0.0.0",
				"cgroupDriver": "systemd", "featureGates": map[string]any{"A": true, "B": true},
			}},
		},
		"the last one counts":         {"--config=/a --config /b --hostname-override=x --hostname-override=", flags{config: "/b"}},
		"relative to where it began":  {"--config=c.yaml --pod-manifest-path=../m", flags{config: "/work/c.yaml", fields: map[string]any{"staticPodPath": "/m"}}},
		"nothing after two dashes":    {"--config=/a -- --config=/b", flags{config: "/a"}},
		"no value at all":             {"--config=/a --kubeconfig", flags{config: "/a"}},
		"a value that looks like one": {"--hostname-override --config=/a", flags{hostname: "--config=/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseFlags(strings.Fields(c.line), "/work")
			if c.want.fields == nil {
				c.want.fields = map[string]any{}
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(flags{})); diff != "" || err != nil {
				t.Errorf("%s, error %v", diff, err)
			}
		})
	}
}

func TestAFlagThatIsNoneIsNamed(t *testing.T) {
	got, err := parseFlags(strings.Fields("--max-pods=many --feature-gates=A=yes,B=true --config=/c"), "/")
	want := flags{config: "/c", fields: map[string]any{"featureGates": map[string]any{"B": true}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(flags{})); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"--max-pods: must be", `--feature-gates: "A" must be`} {
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v does not say %s", err, part)
		}
	}
}

func FuzzParseFlags(f *testing.F) {
	f.Add("--config=/a --node-labels a=1,b --feature-gates=A=true --max-pods -1 --")
	f.Fuzz(func(t *testing.T, line string) {
		got, err := parseFlags(strings.Split(line, " "), "/")
		if err != nil && strings.Contains(line, "\n") == false && strings.Contains(err.Error(), "\n") {
			t.Fatalf("error %q is not one line", err)
		}
		settingsOf(inForceNow{}, got, configOf())
	})
}
