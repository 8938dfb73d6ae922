package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSystemdUnderstandsTheUnits(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not there: the units are not verified")
	}
	dir := t.TempDir()
	args := []string{"verify", "--man=no"}
	for name, text := range map[string]string{
		"nodekeeper.service": AgentUnit, "nodekeeper.socket": AgentSocket,
		"nodekeeper-proxy.service": ProxyUnit, "nodekeeper-proxy.socket": ProxySocket, "nodekeeper-proxy-revert.service": ProxyRevertUnit,
	} {
		// Programs that are not installed are no fault of the units.
		text = strings.ReplaceAll(text, "/usr/local/bin/nodekeeper", "/bin/true")
		text = strings.ReplaceAll(text, "/usr/bin/systemctl", "/bin/true")
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	out, err := exec.CommandContext(t.Context(), verify, args...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir) || strings.HasPrefix(line, "nodekeeper") {
			t.Error(line)
		}
	}
	if err != nil && t.Failed() {
		t.Error(err)
	}
}

func TestTheKubeletGoesThroughTheProxyOnlyWhereThatIsReady(t *testing.T) {
	for name, c := range map[string]struct {
		flags, missing, more string
		wants                bool
	}{
		"all is well":                       {flags: "--kubeconfig=OWN", wants: true},
		"two words":                         {flags: "--kubeconfig OWN --v=2", wants: true},
		"no flag":                           {flags: "--v=2"},
		"the kubelet has not joined":        {flags: "--kubeconfig=OWN", missing: "own"},
		"nothing is derived":                {flags: "--kubeconfig=OWN", missing: "derived"},
		"it is switched off":                {flags: "--kubeconfig=OWN", more: "off"},
		"only another's kubeconfig is told": {flags: "--bootstrap-kubeconfig=OWN"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWrapper(t)
			w.files("own", "derived", "ready")
			if c.missing != "" {
				w.remove(c.missing)
			}
			if c.more != "" {
				w.files(c.more)
			}
			flags := strings.ReplaceAll(c.flags, "OWN", w.path("own"))
			want := flags
			if c.wants {
				want += " --kubeconfig=" + w.path("derived")
			}
			if got := w.run(strings.Fields(flags)...); got != want {
				t.Errorf("%q instead of %q", got, want)
			}
		})
	}
}

func TestTheKubeletWaitsForTheProxyAWhile(t *testing.T) {
	w := newWrapper(t)
	w.files("own", "derived")
	flag := "--kubeconfig=" + w.path("own")
	begin := time.Now()
	if got := w.run(flag); got != flag {
		t.Errorf("%q", got)
	}
	if took := time.Since(begin); took < 4*time.Second || took > 20*time.Second {
		t.Errorf("it waited %v", took)
	}
	later := time.AfterFunc(time.Second, func() { w.files("ready") })
	defer later.Stop() // a wrapper that does not wait has failed by then
	if got := w.run(flag); got != flag+" --kubeconfig="+w.path("derived") {
		t.Errorf("%q", got)
	}
}

// wrapper is the script with all of its files in one directory.
type wrapper struct {
	*testing.T
	dir string
}

func newWrapper(t *testing.T) *wrapper {
	t.Helper()
	w := &wrapper{t, t.TempDir()}
	script := strings.NewReplacer("/run/nodekeeper/kubeconfig", w.path("derived"), "/run/nodekeeper/proxy/ready", w.path("ready"),
		"/etc/nodekeeper/proxy.off", w.path("off")).Replace(KubeletWrapper)
	kubelet := "#!/bin/sh\nprintf '%s' \"$*\"\n"
	for name, text := range map[string]string{"wrapper": script, "kubelet": kubelet} {
		if err := os.WriteFile(w.path(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *wrapper) path(name string) string { return filepath.Join(w.dir, name) }

func (w *wrapper) files(names ...string) {
	for _, name := range names {
		if err := os.WriteFile(w.path(name), []byte("x"), 0o600); err != nil {
			w.Error(err)
		}
	}
}

func (w *wrapper) remove(name string) {
	w.Helper()
	if err := os.Remove(w.path(name)); err != nil {
		w.Fatal(err)
	}
}

// run is the command line that the kubelet got.
func (w *wrapper) run(flags ...string) string {
	w.Helper()
	out, err := exec.CommandContext(w.Context(), "/bin/sh", append([]string{w.path("wrapper"), w.path("kubelet")}, flags...)...).Output()
	if err != nil {
		w.Fatal(err)
	}
	return string(out)
}
