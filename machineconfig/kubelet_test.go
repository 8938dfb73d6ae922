package machineconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// openshift is kubelet.service as the machine-config-operator writes it, shortened.
const openshift = `# /etc/systemd/system/kubelet.service
[Unit]
Description=Kubernetes Kubelet

[Service]
Type=notify
ExecStartPre=/bin/mkdir --parents /etc/kubernetes/manifests
EnvironmentFile=/etc/os-release
ExecStart=/usr/local/bin/kubenswrapper \
    /usr/bin/kubelet \
      --config=/etc/kubernetes/kubelet.conf \
      # not a flag
      --kubeconfig=/var/lib/kubelet/kubeconfig \
      --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID} \
      --register-with-taints="a=%H:NoSchedule" \
      --v=${KUBELET_LOG_LEVEL}

Restart=always

[Install]
WantedBy=multi-user.target

# /etc/systemd/system/kubelet.service.d/20-logging.conf
[Service]
Environment="KUBELET_LOG_LEVEL=2"
`

func TestTheKubeletStartsThroughTheWrapper(t *testing.T) {
	const direct = ""
	for name, c := range map[string]struct{ unit, want, says string }{
		"OpenShift": {unit: openshift, want: "/usr/local/bin/kubenswrapper /usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --kubeconfig=/var/lib/kubelet/kubeconfig " +
			`--node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID} --register-with-taints="a=%H:NoSchedule" --v=${KUBELET_LOG_LEVEL}`},
		"kubeadm resets it": {unit: "[Service]\nExecStart=/usr/bin/kubelet\n# /usr/lib/x.conf\n[Service]\nExecStart=\nExecStart=/usr/bin/kubelet $KUBELET_ARGS\n",
			want: "/usr/bin/kubelet $KUBELET_ARGS"},
		"in another section":  {unit: "[Unit]\nExecStart=/bin/no\n[Service]\n  ExecStart = /usr/bin/kubelet\n[Install]\nExecStart=/bin/no\n", want: "/usr/bin/kubelet"},
		"wrapped by an admin": {unit: "[Service]\nExecStart=/usr/local/bin/kubelet-wrapper /usr/bin/kubelet\n", want: direct, says: "has a wrapper already"},
		"two commands":        {unit: "[Service]\nExecStart=/usr/bin/kubelet\nExecStart=/usr/bin/other\n", want: direct, says: "not understood"},
		"with a prefix":       {unit: "[Service]\nExecStart=-/usr/bin/kubelet\n", want: direct, says: "not understood"},
		"none":                {unit: "[Service]\nType=notify\n", want: direct, says: "not understood"},
		"no unit":             {unit: "", want: direct, says: "there is no kubelet.service"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKubelet(t, c.unit)
			said := k.run()
			if !strings.Contains(said, c.says) || c.says == "" && said != "" {
				t.Errorf("it says %q", said)
			}
			want := ""
			if c.want != direct {
				want = "[Service]\nExecStart=\nExecStart=/bin/sh " + "/usr/local/libexec/nodekeeper/kubelet-wrapper " + c.want + "\n"
			}
			if got := words(k.dropin()); got != words(want) {
				t.Errorf("%s\ninstead of\n%s", got, want)
			}
		})
	}
}

func TestADropInThatSystemdRefusesIsTakenBack(t *testing.T) {
	k := newKubelet(t, openshift)
	k.command("systemctl", "#!/bin/sh\ncase $1 in cat) cat "+k.path("unit")+" ;; show) echo bad-setting ;; *) echo $1 >>"+k.path("calls")+" ;; esac\n")
	if said := k.run(); !strings.Contains(said, "cannot be extended") {
		t.Errorf("it says %q", said)
	}
	if got := k.dropin(); got != "" {
		t.Errorf("it is there: %s", got)
	}
	if calls, _ := os.ReadFile(k.path("calls")); string(calls) != "daemon-reload\ndaemon-reload\n" {
		t.Errorf("systemd was told: %s", calls)
	}
}

func TestTheDropInIsMadeAnewAndTakenAway(t *testing.T) {
	k := newKubelet(t, openshift)
	k.run()
	first := k.dropin()
	k.unit(strings.Replace(openshift, "--config=", "--new-flag --config=", 1))
	k.run()
	if second := k.dropin(); !strings.Contains(second, "--new-flag") || first == second {
		t.Errorf("%s", second)
	}
	k.run("off")
	if got := k.dropin(); got != "" {
		t.Errorf("it is there: %s", got)
	}
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// kubelet is a node with kubelet.service.
type kubelet struct {
	*testing.T
	dir string
}

func newKubelet(t *testing.T, unit string) *kubelet {
	t.Helper()
	k := &kubelet{t, t.TempDir()}
	if err := os.MkdirAll(k.path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if unit != "" {
		k.unit(unit)
	}
	k.command("systemctl", "#!/bin/sh\ncase $1 in cat) exec cat "+k.path("unit")+" ;; show) echo loaded ;; esac\n")
	return k
}

func (k *kubelet) path(name string) string { return filepath.Join(k.dir, name) }

func (k *kubelet) write(name, text string, mode os.FileMode) {
	k.Helper()
	if err := os.WriteFile(k.path(name), []byte(text), mode); err != nil {
		k.Fatal(err)
	}
}

func (k *kubelet) unit(text string)          { k.write("unit", text, 0o644) }
func (k *kubelet) command(name, text string) { k.write(name, text, 0o755) }

func (k *kubelet) dropin() string {
	text, err := os.ReadFile(k.path("run/systemd/system/kubelet.service.d/90-nodekeeper.conf"))
	if err != nil {
		return ""
	}
	return string(text)
}

// run runs the script, which must end with 0.
func (k *kubelet) run(args ...string) string {
	k.Helper()
	script, err := Sources.ReadFile("kubelet-drop-in.sh")
	if err != nil {
		k.Fatal(err)
	}
	k.write("script", strings.ReplaceAll(string(script), "=/run/", "="+k.path("run")+"/"), 0o644)
	cmd := exec.CommandContext(k.Context(), "/bin/sh", append([]string{k.path("script")}, args...)...)
	cmd.Env = []string{"PATH=" + k.dir + ":/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		k.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
