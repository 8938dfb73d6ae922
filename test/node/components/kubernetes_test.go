package components

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sourceWith is a builder whose folder test/components has these go.mod.
func sourceWith(t *testing.T, mods map[string]string) *Builder {
	t.Helper()
	builder := newTestBuilder(t)
	builder.source = t.TempDir()
	for name, text := range mods {
		dir := filepath.Join(builder.source, "components", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return builder
}

func TestKubeletVersionIsThatOfItsModule(t *testing.T) {
	builder := sourceWith(t, map[string]string{
		"kubernetes":      "require (\n\tk8s.io/api v0.37.9 // indirect\n\tk8s.io/kubernetes v1.37.9 // indirect\n)\n",
		"kubernetes-1.30": "require k8s.io/kubernetes v1.30.1\n",
		"crio":            "require github.com/cri-o/cri-o v1.34.0\n",
	})
	for version, want := range map[string]struct{ module, stamp string }{
		"":       {"kubernetes", "gitVersion=v1.37.9"},
		"1.37.9": {"kubernetes", "gitVersion=v1.37.9"},
		"1.30":   {"kubernetes-1.30", "gitMinor=30"},
		"1.30.1": {"kubernetes-1.30", "gitVersion=v1.30.1"},
	} {
		m, err := builder.kubernetes(version)
		if err != nil || m.name != want.module || !strings.Contains(strings.Join(m.flags, " "), want.stamp) {
			t.Errorf("%q: %+v, %v", version, m, err)
		}
		// Only one module has the API server.
		if alone := len(m.binaries) == 1; alone != (want.module != kubernetesModule) {
			t.Errorf("%q: programs %v", version, m.binaries)
		}
	}
	if _, err := builder.kubernetes("1.3"); err == nil || !strings.Contains(err.Error(), "1.30.1, 1.37.9") {
		t.Errorf("a version that nobody has: %v", err)
	}
}

func TestModuleWithoutVersion(t *testing.T) {
	builder := sourceWith(t, map[string]string{"kubernetes": "module x\n\nreplace k8s.io/kubernetes => ../k\n"})
	if _, err := builder.Kubelets(); err == nil {
		t.Error("no error")
	}
}

// TestPinnedKubelets: each module's replacements are of its own version.
func TestPinnedKubelets(t *testing.T) {
	source, err := sourceDir()
	if err != nil {
		t.Fatal(err)
	}
	builder := &Builder{source: source}
	pinned, err := builder.Kubelets()
	if err != nil {
		t.Fatal(err)
	}
	for name, version := range pinned {
		text, err := os.ReadFile(filepath.Join(source, "components", name, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		staging := "v0." + strings.TrimPrefix(version, "1.")
		for line := range strings.SplitSeq(string(text), "\n") {
			fields := strings.Fields(line)
			if slices.Contains(fields, "=>") && fields[len(fields)-1] != staging {
				t.Errorf("%s: %s, want %s", name, strings.TrimSpace(line), staging)
			}
		}
		if name != kubernetesModule && !strings.HasPrefix(version, strings.TrimPrefix(name, kubernetesModule+"-")+".") {
			t.Errorf("%s has version %s", name, version)
		}
	}
}
