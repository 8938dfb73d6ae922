package machineconfig

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/machineconfig"
)

var update = flag.Bool("update", false, "write the golden files anew")

const image = "registry.example.com/nodekeeper/nodekeeper@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// render gives the files of one step, by path.
func render(t *testing.T, o machineconfig.Options) map[string][]byte {
	t.Helper()
	files, err := machineconfig.Render(o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		out[f.Path] = f.Content
	}
	return out
}

// each renders all that can be rendered and goes through the files below a
// directory.
func each(t *testing.T, dir string, see func(t *testing.T, path string, content []byte)) {
	t.Helper()
	seen := 0
	for _, role := range []string{"master", "worker", "canary"} {
		for _, step := range machineconfig.Steps() {
			for path, content := range render(t, machineconfig.Options{Role: role, Image: image, Features: machineconfig.Features(), Step: step}) {
				if strings.HasPrefix(path, dir) {
					seen++
					t.Run(role+" "+string(step)+" "+path, func(t *testing.T) { see(t, path, content) })
				}
			}
		}
	}
	if seen == 0 {
		t.Fatalf("nothing below %s", dir)
	}
}

// What changes here changes on every node: a reboot of the pool, if it is more
// than the image or the settings.
func TestGoldenFiles(t *testing.T) {
	top := "testdata"
	want := map[string]bool{}
	for name, o := range map[string]machineconfig.Options{
		"worker":           {Role: "worker", Image: image, Features: []machineconfig.Feature{machineconfig.Restart, machineconfig.Logs}},
		"canary-all":       {Role: "canary", Image: image, Features: machineconfig.Features(), Act: true},
		"worker-inert":     {Role: "worker", Step: machineconfig.Inert},
		"worker-upgrade":   {Role: "worker", Image: image, Step: machineconfig.Upgrade},
		"worker-uninstall": {Role: "worker", Step: machineconfig.Uninstall},
	} {
		for path, content := range render(t, o) {
			if !golden(path) {
				continue
			}
			file := filepath.Join(top, name, filepath.FromSlash(path))
			want[file] = true
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if old, err := os.ReadFile(file); err != nil || string(old) != string(content) {
				t.Errorf("%s is not what is rendered now (%v); go test -update writes it anew", file, err)
			}
		}
	}
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !want[path] {
			t.Errorf("%s is not rendered any more", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// golden leaves out what says the same again in a form that nobody reads.
func golden(path string) bool {
	return !strings.HasPrefix(path, "machineconfigs/") && !strings.HasPrefix(path, "openshift/") && !strings.HasPrefix(path, "hypershift/")
}
