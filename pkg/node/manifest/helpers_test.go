package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// manifestOf returns a manifest; the mark is a label that tells two apart.
func manifestOf(name, namespace, mark string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %q, namespace: %q, labels: {mark: %q}}
spec: {containers: [{name: main, image: "example.test/main:1"}]}
`, name, namespace, mark)
}

func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func onlyPod(t testing.TB, intent node.Intent) node.Manifest {
	t.Helper()
	if intent.Err != nil || len(intent.Pods) != 1 {
		t.Fatalf("error %v, pods %+v, problems %+v", intent.Err, intent.Pods, intent.Problems)
	}
	return intent.Pods[0]
}

func onlyPodOf(t testing.TB, intent node.Intent, name string) {
	t.Helper()
	if m := onlyPod(t, intent); m.Name.String() != name {
		t.Fatalf("pod %s, want %s", m.Name, name)
	}
}

func problemsOf(intent node.Intent, kind string) (found []node.ManifestProblem) {
	for _, p := range intent.Problems {
		if p.Kind == kind {
			found = append(found, p)
		}
	}
	return found
}

// read returns what a manifest's text is to a reader.
func read(t testing.TB, r *Reader, text string) (intent node.Intent) {
	t.Helper()
	r.nodeName = "n"
	settle(&intent, []known{r.parsed("m.yaml", regularfile.File{Data: []byte(text)}, known{})})
	if len(intent.Pods)+len(intent.Problems) != 1 {
		t.Fatalf("%d pods, problems %+v", len(intent.Pods), intent.Problems)
	}
	return intent
}

// readerFor knows the kubelet's version, and that no gates are set.
func readerFor(version string) *Reader {
	r := NewReader()
	r.For(version)
	r.Gates(nil, true)
	return r
}

// podOf returns a manifest of a pod with that spec, in YAML's flow style.
func podOf(spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {" + spec + "}\n"
}

// specOf returns one of a pod with that in its spec beside a container.
func specOf(spec string) string { return podOf("containers: [{name: main, image: i}], " + spec) }

// volumeOf returns one of a pod with that in its only container, and a volume v.
func volumeOf(container string) string {
	return podOf("volumes: [{name: v}], containers: [{name: main, image: i, " + container + "}]")
}

// mainOf returns one of a pod with that in its only container.
func mainOf(container string) string {
	return podOf("containers: [{name: main, image: i, " + container + "}]")
}
