package kubelet

import (
	"errors"
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

// settingsFor reads once, on a host called "Host-1 ".
func settingsFor(cfg config.Kubelet) node.Settings {
	r := NewSettingsReader(cfg)
	r.hostname = func() (string, error) { return "Host-1 ", nil }
	return r.Settings()
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
	got := settingsFor(config.Kubelet{Config: []string{"testdata/settings/none.yaml", "testdata/settings/kubelet.yaml", "testdata/settings/bad-fields.yaml"}})
	want := node.Settings{
		NodeName:                  "host-1",
		StaticPodPath:             "/etc/kubernetes/manifests",
		MaxContainerRestartPeriod: time.Minute,
		CgroupDriver:              "systemd",
		FeatureGates:              map[string]bool{"KubeletCrashLoopBackOffMax": true, "ContainerRestartRules": false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsHaveTheKubeletsDefaults(t *testing.T) {
	path := writeSettings(t, filepath.Join(t.TempDir(), "k"), settingsHead)
	want := node.Settings{NodeName: "host-1", CgroupDriver: "cgroupfs", FeatureGates: map[string]bool{}}
	if diff := cmp.Diff(want, settingsFor(config.Kubelet{Config: []string{path}})); diff != "" {
		t.Error(diff)
	}
}

func TestDropInsMergeInTheKubeletsOrder(t *testing.T) {
	got := settingsFor(config.Kubelet{Config: []string{"testdata/settings/kubelet.yaml"}, ConfigDir: "testdata/settings/conf.d"})
	want := node.Settings{
		NodeName:      "host-1",
		StaticPodPath: "/from/20",
		CgroupDriver:  "cgroupfs", // null in a drop-in brings the default back
		FeatureGates:  map[string]bool{"KubeletCrashLoopBackOffMax": true, "A": false, "B": true},
	}
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
	if got, want := settingsFor(cfg).StaticPodPath, filepath.Join(here, "manifests"); got != want {
		t.Errorf("main file: %s, want %s", got, want)
	}
	cfg.ConfigDir = t.TempDir()
	writeSettings(t, filepath.Join(cfg.ConfigDir, "a.conf"), settingsHead+"staticPodPath: below\n")
	if got := settingsFor(cfg).StaticPodPath; got != "/below" {
		t.Errorf("drop-in: %s", got)
	}
}

func TestOverridesWin(t *testing.T) {
	got := settingsFor(config.Kubelet{
		Config:                    []string{"testdata/settings/kubelet.yaml"},
		NodeName:                  " Other ",
		StaticPodPath:             "/override",
		MaxContainerRestartPeriod: config.Duration{Duration: 10 * time.Second},
		FeatureGates:              map[string]bool{"ContainerRestartRules": true, "New": true},
	})
	want := node.Settings{
		NodeName:                  "other",
		StaticPodPath:             "/override",
		MaxContainerRestartPeriod: 10 * time.Second,
		CgroupDriver:              "systemd",
		FeatureGates:              map[string]bool{"KubeletCrashLoopBackOffMax": true, "ContainerRestartRules": true, "New": true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABadFieldIsNamedAndTheRestStays(t *testing.T) {
	got := settingsFor(config.Kubelet{Config: []string{"testdata/settings/bad-fields.yaml"}})
	if got.Err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"bad-fields.yaml", "cgroupDriver: must be", "crashLoopBackOff: maxContainerRestartPeriod must", `featureGates: "B, C" must be`} {
		if !strings.Contains(got.Err.Error(), part) {
			t.Errorf("error %q does not say %q", got.Err, part)
		}
	}
	got.Err = nil
	want := node.Settings{NodeName: "host-1", StaticPodPath: "/etc/kubernetes/manifests", CgroupDriver: "cgroupfs", FeatureGates: map[string]bool{"A": true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABadFileIsNamed(t *testing.T) {
	for reason, content := range map[string]string{
		"empty":                      "",
		"not YAML":                   "a: [",
		"not a KubeletConfiguration": "apiVersion: v1\nkind: Pod\n",
		"too large":                  settingsHead + strings.Repeat("#", maxSettings),
	} {
		path := writeSettings(t, filepath.Join(t.TempDir(), "kubelet.conf"), content)
		err := settingsFor(config.Kubelet{Config: []string{path}}).Err
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
	got := settingsFor(config.Kubelet{Config: []string{"testdata/settings/kubelet.yaml"}, ConfigDir: dir})
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
		if err := settingsFor(cfg).Err; err == nil || !strings.Contains(err.Error(), none) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := settingsFor(config.Kubelet{ConfigDir: "testdata/settings/conf.d"}).Err; err != nil {
		t.Errorf("drop-ins alone: %v", err)
	}
}

func TestAHostWithoutANameIsAnError(t *testing.T) {
	for _, hostname := range []func() (string, error){
		func() (string, error) { return " ", nil },
		func() (string, error) { return "", errors.New("no uname") },
	} {
		r := NewSettingsReader(config.Kubelet{Config: []string{"testdata/settings/kubelet.yaml"}})
		r.hostname = hostname
		if s := r.Settings(); s.Err == nil || s.NodeName != "" || s.StaticPodPath == "" {
			t.Errorf("settings %+v", s)
		}
	}
}
