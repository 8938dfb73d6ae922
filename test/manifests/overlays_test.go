package manifests

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nodekeeper/nodekeeper/test/apiserver"
)

const (
	root = "../../manifests"
	// The namespaces that the platform brings along.
	consoleNamespace = "openshift-config-managed"
)

var overlays = []string{"openshift", "plain"}

func TestTheAPIServerTakesEachOverlay(t *testing.T) {
	s := apiserver.Start(t)
	define(t, s)
	applier := s.Applier(t)
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": consoleNamespace}}}
	if err := applier.Apply(t, namespace, false); err != nil {
		t.Fatal(err)
	}
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			objects := apiserver.Build(t, root+"/overlays/"+overlay)
			// Nothing can be tried in a namespace that is not there.
			for _, o := range objects {
				if o.GetKind() == "Namespace" {
					if err := applier.Apply(t, o, false); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, o := range objects {
				if err := applier.Apply(t, o, true); err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
		})
	}
	for _, o := range apiserver.Build(t, root+"/overlays/plain") {
		if err := applier.Apply(t, o, false); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	t.Run("a field that does not exist is refused", func(t *testing.T) {
		for _, o := range apiserver.Build(t, root+"/overlays/openshift") {
			if kind := o.GetKind(); kind != "ServiceMonitor" && kind != "PrometheusRule" && kind != "ConsoleCLIDownload" && kind != "DaemonSet" {
				continue
			}
			o.Object["spec"].(map[string]any)["misspelt"] = "x"
			if err := applier.Apply(t, o, true); err == nil {
				t.Errorf("%s: taken with spec.misspelt", o.GetKind())
			}
		}
	})
	t.Run("rights", func(t *testing.T) { rights(t, s) })
}

// Images are placeholders in the base, and nobody's registry is meant: each overlay
// has to say where each comes from, by digest: a tag may mean another image tomorrow.
func TestEachOverlaySaysWhereImagesComeFrom(t *testing.T) {
	for _, overlay := range overlays {
		for _, o := range apiserver.Build(t, root+"/overlays/"+overlay) {
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			for _, c := range containers {
				if image := c.(map[string]any)["image"].(string); !strings.HasPrefix(image, "registry.example.org/") || !strings.Contains(image, "@sha256:") {
					t.Errorf("%s, %s %s: image %s", overlay, o.GetKind(), o.GetName(), image)
				}
			}
		}
	}
}

// What runs in the cluster runs without privileges, besides the host's network that
// the metrics need.
func TestPodsAreRestricted(t *testing.T) {
	for _, overlay := range overlays {
		found := 0
		for _, o := range apiserver.Build(t, root+"/overlays/"+overlay) {
			spec, ok, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
			if !ok {
				continue
			}
			found++
			what := overlay + ": " + o.GetKind() + " " + o.GetName()
			for _, field := range []string{"hostPID", "hostIPC"} {
				if spec[field] != nil {
					t.Errorf("%s: %s", what, field)
				}
			}
			if host, _ := spec["hostNetwork"].(bool); host != (o.GetKind() == "DaemonSet") {
				t.Errorf("%s: hostNetwork %v", what, host)
			}
			if is, _, _ := unstructured.NestedBool(spec, "securityContext", "runAsNonRoot"); !is {
				t.Errorf("%s may run as root", what)
			}
			if profile, _, _ := unstructured.NestedString(spec, "securityContext", "seccompProfile", "type"); profile != "RuntimeDefault" {
				t.Errorf("%s: seccomp profile %q", what, profile)
			}
			volumes, _, _ := unstructured.NestedSlice(spec, "volumes")
			for _, v := range volumes {
				if v.(map[string]any)["hostPath"] != nil {
					t.Errorf("%s has files of the host", what)
				}
			}
			for _, c := range spec["containers"].([]any) {
				c := c.(map[string]any)
				context, _, _ := unstructured.NestedMap(c, "securityContext")
				dropped, _, _ := unstructured.NestedStringSlice(context, "capabilities", "drop")
				if context["allowPrivilegeEscalation"] != false || context["readOnlyRootFilesystem"] != true || !slices.Contains(dropped, "ALL") {
					t.Errorf("%s: %v", what, context)
				}
				if memory, _, _ := unstructured.NestedString(c, "resources", "limits", "memory"); memory == "" {
					t.Errorf("%s: no limit of memory", what)
				}
			}
		}
		if found != 2 {
			t.Errorf("%s: %d workloads", overlay, found)
		}
	}
}
