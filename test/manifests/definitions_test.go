package manifests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/test/apiserver"
	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

// source is a module that carries definitions of custom resources. It is no
// requirement of go.mod: nothing of it is compiled.
type source struct {
	module, sum string
	files       []string
}

var sources = []source{
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=", []string{
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	}},
	{"github.com/openshift/api@v0.0.0-20260813212709-d4bb0b443cb8", "h1:SLdLnLLwLeQI5iJNOsRNYfb9mTme1G2FmmM2T7Nly44=", []string{
		"console/v1/zz_generated.crd-manifests/00_consoleclidownloads.crd.yaml",
	}},
}

// dir is where Go keeps the module, which it fetches if need be. A module that is
// not the one meant fails the test.
func (s source) dir(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", s.module)
	// Outside of any module.
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var got struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &got); err != nil || jsonErr != nil {
		t.Fatalf("download %s: %v %v %s", s.module, err, jsonErr, got.Error)
	}
	if got.Sum != s.sum {
		t.Fatalf("%s has the sum %s", s.module, got.Sum)
	}
	return got.Dir
}

// define makes the kinds known to the server that are not Kubernetes's own.
func define(t *testing.T, s *apiserver.Server) {
	t.Helper()
	applier := s.Applier(t)
	var served []string
	for _, from := range sources {
		dir := from.dir(t)
		for _, file := range from.files {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			definition := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(data, &definition.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if err := applier.Apply(t, definition, false); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
			group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
			served = append(served, "/apis/"+group+"/v1/"+plural)
		}
	}
	for _, path := range served {
		controlplane.Until(t, 30*time.Second, path+" to be served", func() bool {
			return s.Admin.RESTClient().Get().AbsPath(path).Do(t.Context()).Error() == nil
		})
	}
}
