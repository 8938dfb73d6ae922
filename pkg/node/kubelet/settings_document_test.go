package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

func FuzzDecodeSettings(f *testing.F) {
	for _, pattern := range []string{"testdata/settings/*", "testdata/settings/conf.d/*", "testdata/settings/conf.d/sub/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			if data, err := os.ReadFile(path); err == nil {
				f.Add(data, false)
				f.Add(data, true)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, dropIn bool) {
		layer, err := decodeSettings(data, dropIn)
		if err != nil && (err.Error() == "" || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("error %q is not one line", err)
		}
		s := settingsOf(inForceNow{layers: []map[string]any{layer}}, flags{}, config.Kubelet{})
		if s.CgroupDriver != "systemd" && s.CgroupDriver != "cgroupfs" {
			t.Fatalf("cgroup driver %q", s.CgroupDriver)
		}
		if p := s.MaxContainerRestartPeriod; p != 0 && (p < minRestartPeriod || p > maxRestartPeriod) {
			t.Fatalf("restart period %s", p)
		}
		for gate, on := range s.FeatureGates {
			if gates := layer[fieldFeatureGates].(map[string]any); gates[gate] != on {
				t.Fatalf("gate %q is not from the file", gate)
			}
		}
	})
}
