package manifests

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/test/apiserver"
)

var builds = []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64", "windows-arm64"}

// krewPlugin is krew's pkg/index.Plugin, v0.4.3. The module itself wants a client-go
// of another age.
type krewPlugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Homepage         string `json:"homepage"`
		Platforms        []struct {
			URI      string `json:"uri"`
			Sha256   string `json:"sha256"`
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			Bin string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// krew packs what stands for builds.
func krew(t *testing.T, version string, builds []string) (dir, said string, err error) {
	t.Helper()
	from, to := t.TempDir(), t.TempDir()
	for _, build := range builds {
		if err := os.WriteFile(filepath.Join(from, "kubectl-nodekeeper-"+build), []byte("program for "+build), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./krew", "-version", version, "-builds", from, "-o", to)
	cmd.Dir = "../../tools"
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return to, string(out), err
}

func TestKrewInstallsWhatIsBuilt(t *testing.T) {
	dir, said, err := krew(t, "v1.2.3", builds)
	if err != nil {
		t.Fatal(err, said)
	}
	data, err := os.ReadFile(filepath.Join(dir, "nodekeeper.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(data, &plugin); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || plugin.Kind != "Plugin" || plugin.Metadata.Name != "nodekeeper" || plugin.Spec.Version != "v1.2.3" {
		t.Errorf("%+v", plugin)
	}
	// As krew's index asks.
	if short := plugin.Spec.ShortDescription; len(short) > 50 || strings.HasSuffix(short, ".") {
		t.Errorf("short description %q", short)
	}
	if len(plugin.Spec.Platforms) != len(builds) {
		t.Errorf("%d platforms", len(plugin.Spec.Platforms))
	}
	for _, p := range plugin.Spec.Platforms {
		of := p.Selector.MatchLabels["os"] + "-" + p.Selector.MatchLabels["arch"]
		name := "kubectl-nodekeeper-" + of + ".tar.gz"
		if p.URI != "https://github.com/nodekeeper/nodekeeper/releases/download/v1.2.3/"+name {
			t.Errorf("%s: %s", of, p.URI)
		}
		packed, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != p.Sha256 {
			t.Errorf("%s: sha256 %s", of, p.Sha256)
		}
		if got := unpack(t, packed)[p.Bin]; got != "program for "+of {
			t.Errorf("%s: %s is %q", of, p.Bin, got)
		}
	}
}

func unpack(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(gz); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(data)
		if strings.HasPrefix(h.Name, "kubectl-") && h.Mode != 0o755 {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
	}
}

func TestKrewRefusesHalfARelease(t *testing.T) {
	if _, said, err := krew(t, "v1.2.3", builds[1:]); err == nil || !strings.Contains(said, "make build-plugin") {
		t.Errorf("%v: %s", err, said)
	}
	if _, said, err := krew(t, "5fbd245-dirty", builds); err == nil || !strings.Contains(said, "v1.2.3") {
		t.Errorf("%v: %s", err, said)
	}
}

// The console links to the archives that krew installs.
func TestTheConsoleOffersWhatIsReleased(t *testing.T) {
	for _, o := range apiserver.Build(t, root+"/overlays/openshift") {
		if o.GetKind() != "ConsoleCLIDownload" {
			continue
		}
		missing := map[string]bool{}
		for _, build := range builds {
			missing["https://github.com/nodekeeper/nodekeeper/releases/latest/download/kubectl-nodekeeper-"+build+".tar.gz"] = true
		}
		links := o.Object["spec"].(map[string]any)["links"].([]any)
		for _, link := range links {
			delete(missing, link.(map[string]any)["href"].(string))
		}
		if len(missing) > 0 || len(links) != len(builds) {
			t.Errorf("not offered: %v", missing)
		}
		return
	}
	t.Error("no ConsoleCLIDownload")
}
