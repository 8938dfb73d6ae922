package kubelet

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

func TestUnchangedSettingsAreNotReadAgain(t *testing.T) {
	r := oldSettings(config.Kubelet{Config: []string{"testdata/settings/kubelet.yaml"}, ConfigDir: "testdata/settings/conf.d"})
	r.Settings()
	if r.files == nil {
		t.Fatal("old files are not trusted by their identity")
	}
	r.settings.StaticPodPath = "/remembered"
	if got := r.Settings().StaticPodPath; got != "/remembered" {
		t.Errorf("read again: %s", got)
	}
}

func TestChangedSettingsAreSeen(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	dropIns := filepath.Join(dir, "conf.d")
	r := oldSettings(config.Kubelet{Config: []string{first, second}, ConfigDir: dropIns})
	writeSettings(t, filepath.Join(dropIns, "README"), "not a drop-in")
	steps := []struct {
		what string
		do   func()
		want string
	}{
		{"second file", func() { writeSettings(t, second, settingsHead+"staticPodPath: /second\n") }, "/second"},
		{"first file appears", func() { writeSettings(t, first, settingsHead+"staticPodPath: /first\n") }, "/first"},
		{"drop-in appears", func() {
			writeSettings(t, filepath.Join(dropIns, "x", "a.conf"), settingsHead+"staticPodPath: /drop-in\n")
		}, "/drop-in"},
		{"drop-in changes", func() {
			writeSettings(t, filepath.Join(dropIns, "x", "a.conf"), settingsHead+"staticPodPath: /changed\n")
		}, "/changed"},
		{"drop-in goes", func() { remove(t, filepath.Join(dropIns, "x", "a.conf")) }, "/first"},
		{"first file goes", func() { remove(t, first) }, "/second"},
	}
	for _, step := range steps {
		step.do()
		for range 2 {
			if s := r.Settings(); s.StaticPodPath != step.want || s.Err != nil {
				t.Fatalf("%s: path %s, want %s, error %v", step.what, s.StaticPodPath, step.want, s.Err)
			}
		}
	}
}

func TestAChangeWithinOneTimeStampIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	r := NewSettingsReader(config.Kubelet{Config: []string{path}})
	for i := range 50 {
		want := "/" + string('a'+rune(i%26))
		writeSettings(t, path, settingsHead+"staticPodPath: "+want+"\n")
		if got := r.Settings().StaticPodPath; got != want {
			t.Fatalf("write %d: %s, want %s", i, got, want)
		}
	}
}

// oldSettings takes all files for old enough to be trusted by identity.
func oldSettings(cfg config.Kubelet) *SettingsReader {
	r := NewSettingsReader(cfg)
	r.now = func() time.Time { return time.Now().Add(time.Hour) }
	return r
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
