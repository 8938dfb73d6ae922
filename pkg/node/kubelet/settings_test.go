package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const settingsHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

// settingsFor are the settings where no kubelet runs: those of the files.
func settingsFor(t testing.TB, cfg config.Kubelet) node.Settings {
	t.Helper()
	_, s := newHost(t).identity(cfg).Identify(t.Context(), node.Unit{})
	if s.NodeName == "" && s.NodeNameErr == nil {
		t.Error("there is no node name, and no reason")
	}
	s.NodeNameErr = nil
	return s
}

// defaults are the settings of a kubelet that says nothing.
func defaults() node.Settings {
	return node.Settings{
		CgroupDriver: "cgroupfs", RootDir: "/var/lib/kubelet", HealthzURL: "http://127.0.0.1:10248/healthz",
		FeatureGates: map[string]bool{},
	}
}

func writeSettings(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSettingsOfTheFirstFileThatExists(t *testing.T) {
	got := settingsFor(t, config.Kubelet{Config: []string{"testdata/settings/none.yaml", "testdata/settings/kubelet.yaml", "testdata/settings/bad-fields.yaml"}})
	want := defaults()
	want.StaticPodPath = "/etc/kubernetes/manifests"
	want.MaxContainerRestartPeriod = time.Minute
	want.CgroupDriver = "systemd"
	want.FeatureGates = map[string]bool{"KubeletCrashLoopBackOffMax": true, "ContainerRestartRules": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsHaveTheKubeletsDefaults(t *testing.T) {
	path := writeSettings(t, filepath.Join(t.TempDir(), "k"), settingsHead)
	if diff := cmp.Diff(defaults(), settingsFor(t, config.Kubelet{Config: []string{path}})); diff != "" {
		t.Error(diff)
	}
}

func TestDropInsMergeInTheKubeletsOrder(t *testing.T) {
	got := settingsFor(t, config.Kubelet{Config: []string{"testdata/settings/kubelet.yaml"}, ConfigDir: "testdata/settings/conf.d"})
	want := defaults() // null in a drop-in brings the cgroup driver's back
	want.StaticPodPath = "/from/20"
	want.FeatureGates = map[string]bool{"KubeletCrashLoopBackOffMax": true, "A": false, "B": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARelativePathIsBelowItsFileButInADropInBelowTheRoot(t *testing.T) {
	here, err := filepath.Abs("testdata/settings")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Kubelet{Config: []string{filepath.Join(here, "kubelet.json")}}
	if got, want := settingsFor(t, cfg).StaticPodPath, filepath.Join(here, "manifests"); got != want {
		t.Errorf("main file: %s, want %s", got, want)
	}
	cfg.ConfigDir = t.TempDir()
	writeSettings(t, filepath.Join(cfg.ConfigDir, "a.conf"), settingsHead+"staticPodPath: below\n")
	if got := settingsFor(t, cfg).StaticPodPath; got != "/below" {
		t.Errorf("drop-in: %s", got)
	}
}

func TestOverridesWin(t *testing.T) {
	got := settingsFor(t, config.Kubelet{
		Config:                    []string{"testdata/settings/kubelet.yaml"},
		NodeName:                  " Other ",
		StaticPodPath:             "/override",
		MaxContainerRestartPeriod: config.Duration{Duration: 10 * time.Second},
		FeatureGates:              map[string]bool{"ContainerRestartRules": true, "New": true},
	})
	want := defaults()
	want.NodeName, want.NodeNameFrom = "other", "kubelet.nodeName"
	want.StaticPodPath = "/override"
	want.MaxContainerRestartPeriod = 10 * time.Second
	want.CgroupDriver = "systemd"
	want.FeatureGates = map[string]bool{"KubeletCrashLoopBackOffMax": true, "ContainerRestartRules": true, "New": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABadFieldIsNamedAndTheRestStays(t *testing.T) {
	got := settingsFor(t, config.Kubelet{Config: []string{"testdata/settings/bad-fields.yaml"}})
	if got.Err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"bad-fields.yaml", "cgroupDriver: must be", "crashLoopBackOff: maxContainerRestartPeriod must", `featureGates: "B, C" must be`} {
		if !strings.Contains(got.Err.Error(), part) {
			t.Errorf("error %q does not say %q", got.Err, part)
		}
	}
	got.Err = nil
	want := defaults()
	want.StaticPodPath, want.FeatureGates = "/etc/kubernetes/manifests", map[string]bool{"A": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABadFileIsNamed(t *testing.T) {
	for reason, content := range map[string]string{
		"empty":     "",
		"not YAML":  "a: [",
		"too large": settingsHead + strings.Repeat("#", maxSettings),
	} {
		path := writeSettings(t, filepath.Join(t.TempDir(), "kubelet.conf"), content)
		err := settingsFor(t, config.Kubelet{Config: []string{path}}).Err
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", reason, err)
		}
	}
}

func TestABadDropInLeavesTheOthers(t *testing.T) {
	dir := t.TempDir()
	writeSettings(t, filepath.Join(dir, "10.conf"), settingsHead+"staticPodPath: /good\n")
	writeSettings(t, filepath.Join(dir, "20.conf"), settingsHead+"staticPodPath: /a\nstaticPodPath: /b\n")
	if err := syscall.Mkfifo(filepath.Join(dir, "30.conf"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := settingsFor(t, config.Kubelet{Config: []string{"testdata/settings/kubelet.yaml"}, ConfigDir: dir})
	if got.StaticPodPath != "/good" || got.CgroupDriver != "systemd" {
		t.Errorf("settings %+v", got)
	}
	if got.Err == nil || !strings.Contains(got.Err.Error(), "20.conf") || !strings.Contains(got.Err.Error(), "30.conf: not a regular file") {
		t.Errorf("error %v", got.Err)
	}
}

func TestWhatIsMissingIsAnError(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for name, cfg := range map[string]config.Kubelet{
		"main file": {Config: []string{none}},
		"directory": {Config: []string{"testdata/settings/kubelet.yaml"}, ConfigDir: none},
	} {
		if err := settingsFor(t, cfg).Err; err == nil || !strings.Contains(err.Error(), none) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := settingsFor(t, config.Kubelet{ConfigDir: "testdata/settings/conf.d"}).Err; err != nil {
		t.Errorf("drop-ins alone: %v", err)
	}
}

// Kubespray and kubeadm have a kubeconfig where OpenShift has its settings.
func TestAKubeconfigIsNotTakenForSettings(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := writeSettings(t, filepath.Join(dir, "kubelet.conf"), "apiVersion: v1\nkind: Config\n")
	err := settingsFor(t, config.Kubelet{Config: []string{kubeconfig}}).Err
	if err == nil || !strings.Contains(err.Error(), kubeconfig+"; set kubelet.config") {
		t.Errorf("error %v", err)
	}
	settings := writeSettings(t, filepath.Join(dir, "kubelet-config.yaml"), settingsHead+"staticPodPath: /m\n")
	got := settingsFor(t, config.Kubelet{Config: []string{kubeconfig, settings}})
	if got.Err != nil || got.StaticPodPath != "/m" {
		t.Errorf("got %+v", got)
	}
}

func TestHealthzIsAskedWhereTheKubeletAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		cfg  config.Kubelet
		want string
	}{
		"by default":                {"", config.Kubelet{}, "http://127.0.0.1:10248/healthz"},
		"another port":              {"healthzPort: 10350\n", config.Kubelet{}, "http://127.0.0.1:10350/healthz"},
		"no port":                   {"healthzPort: 0\n", config.Kubelet{}, ""},
		"on all addresses":          {"healthzBindAddress: 0.0.0.0\n", config.Kubelet{}, "http://127.0.0.1:10248/healthz"},
		"on all addresses of both":  {"healthzBindAddress: '::'\n", config.Kubelet{}, "http://[::1]:10248/healthz"},
		"on one that others have":   {"healthzBindAddress: 10.0.0.7\n", config.Kubelet{}, ""},
		"our configuration says so": {"healthzPort: 0\n", config.Kubelet{HealthzURL: "http://127.0.0.1:1/healthz"}, "http://127.0.0.1:1/healthz"},
		"our default says nothing":  {"healthzPort: 0\n", config.Default().Kubelet, ""},
	} {
		c.cfg.Config = []string{writeSettings(t, filepath.Join(t.TempDir(), "k"), settingsHead+c.text)}
		if got := settingsFor(t, c.cfg); got.HealthzURL != c.want || got.Err != nil {
			t.Errorf("%s: %q, error %v", name, got.HealthzURL, got.Err)
		}
	}
}
