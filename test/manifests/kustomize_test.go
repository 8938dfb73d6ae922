package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/nodekeeper/nodekeeper/test/apiserver"
)

// kustomization is what is read of a kustomization or component here.
type kustomization struct {
	Patches []struct {
		Path  string `json:"path"`
		Patch string `json:"patch"`
	} `json:"patches"`
	// Deprecated, and of no use beside patches.
	PatchesStrategicMerge []string `json:"patchesStrategicMerge"`
}

// The kustomize of go.mod builds them too, but that of kubectl 1.32, v5.5.0, ends
// with a nil pointer where one patch deletes an object and goes on: what is deleted
// stays in the list, empty, until the whole patch is done, and the search for the
// next document's object reads its kind (PatchTransformerPlugin.transformStrategicMerge).
func TestAPatchIsOfOneDocument(t *testing.T) {
	patches := 0
	for _, file := range kustomizations(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var k kustomization
		if err := yaml.Unmarshal(text, &k); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(k.PatchesStrategicMerge) > 0 {
			t.Errorf("%s: patchesStrategicMerge, say patches", file)
		}
		for _, p := range k.Patches {
			patches++
			name, patch := file, []byte(p.Patch)
			if p.Path != "" {
				name = filepath.Join(filepath.Dir(file), p.Path)
				if patch, err = os.ReadFile(name); err != nil {
					t.Fatal(err)
				}
			}
			if n := documents(t, name, patch); n != 1 {
				t.Errorf("%s: a patch of %d documents; make it a patch each", name, n)
			}
		}
	}
	if patches < 5 {
		t.Errorf("%d patches were found", patches)
	}
}

// kustomizations are all below manifests/, components too.
func kustomizations(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, d.Name()) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// documents counts those that hold more than comments.
func documents(t *testing.T, name string, text []byte) int {
	t.Helper()
	n := 0
	for reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var content any
		if err := yaml.Unmarshal(document, &content); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if content != nil {
			n++
		}
	}
}

// The line that overlays/plain offers to older clusters takes away what they do not
// know, and nothing else.
func TestPlainForOlderClusters(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "manifests")
	if err := os.CopyFS(copied, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(copied, "overlays", "plain")
	file := filepath.Join(plain, "kustomization.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	const line = "components: [../../components/without-creation-policy]\n"
	if !strings.Contains(string(text), "#   "+line) || !strings.Contains(string(page), "\n"+line) {
		t.Errorf("it is not said in both places: %s", line)
	}
	names := func() map[string]bool {
		built := map[string]bool{}
		for _, o := range apiserver.Build(t, plain) {
			built[o.GetKind()+" "+o.GetName()] = true
		}
		return built
	}
	want := names()
	for _, kind := range []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"} {
		if !want[kind+" nodekeeper-immutable-at-creation"] {
			t.Errorf("there is no %s to leave out", kind)
		}
		delete(want, kind+" nodekeeper-immutable-at-creation")
	}
	if err := os.WriteFile(file, append(text, line...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := names(); !maps.Equal(got, want) {
		t.Errorf("it has %v\nwant %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// A command that is a name alone begins only where the image says so.
func TestCommandsAreAbsolute(t *testing.T) {
	found := 0
	for _, dir := range []string{"promote", "base", "overlays/openshift", "overlays/plain", "installer/install", "installer/remove"} {
		for _, o := range apiserver.Build(t, root+"/"+dir) {
			for _, kind := range []string{"initContainers", "containers"} {
				containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", kind)
				for _, c := range containers {
					command, ok, _ := unstructured.NestedStringSlice(c.(map[string]any), "command")
					if !ok {
						continue
					}
					if found++; !filepath.IsAbs(command[0]) {
						t.Errorf("%s: %s %s: command %q", dir, o.GetKind(), o.GetName(), command)
					}
				}
			}
		}
	}
	if found < 4 {
		t.Errorf("%d commands", found)
	}
}
