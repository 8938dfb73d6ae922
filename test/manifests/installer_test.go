package manifests

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nodekeeper/nodekeeper/test/apiserver"
)

// trial are the two halves of the installer, with the node's directories that each
// may write to.
var trial = map[string][]string{
	"install": {"/etc/nodekeeper", "/etc/systemd/system", "/usr/local/bin"},
	"remove":  {"/etc/nodekeeper", "/etc/systemd/system", "/run/containers/oci/hooks.d", "/usr/local/bin", "/var/lib/nodekeeper"},
}

func TestTheAPIServerTakesTheInstaller(t *testing.T) {
	s := apiserver.Start(t)
	applier := s.Applier(t)
	for _, half := range []string{"install", "remove"} {
		for _, o := range apiserver.Build(t, root+"/installer/"+half) {
			if err := applier.Apply(t, o, false); err != nil {
				t.Errorf("%s: %s %s: %v", half, o.GetKind(), o.GetName(), err)
			}
		}
	}
}

func TestTheInstallerTakesNoMoreThanItNeeds(t *testing.T) {
	for half, writes := range trial {
		t.Run(half, func(t *testing.T) {
			spec := installerPod(t, half)
			for field, want := range map[string]any{"hostPID": nil, "hostNetwork": nil, "hostIPC": nil, "automountServiceAccountToken": false} {
				if spec[field] != want {
					t.Errorf("%s: %v", field, spec[field])
				}
			}
			if selector, _, _ := unstructured.NestedStringMap(spec, "nodeSelector"); selector["nodekeeper.io/trial"] != "true" {
				t.Errorf("it comes to nodes that nobody has chosen: %v", selector)
			}
			if profile, _, _ := unstructured.NestedString(spec, "securityContext", "seccompProfile", "type"); profile != "RuntimeDefault" {
				t.Errorf("seccomp profile %q", profile)
			}
			writer := spec["initContainers"].([]any)[0].(map[string]any)
			rest := spec["containers"].([]any)[0].(map[string]any)
			for _, c := range []map[string]any{writer, rest} {
				context, _, _ := unstructured.NestedMap(c, "securityContext")
				dropped, _, _ := unstructured.NestedStringSlice(context, "capabilities", "drop")
				if context["privileged"] != nil || context["allowPrivilegeEscalation"] != false || context["readOnlyRootFilesystem"] != true || !slices.Contains(dropped, "ALL") {
					t.Errorf("%s: %v", c["name"], context)
				}
				if memory, _, _ := unstructured.NestedString(c, "resources", "limits", "memory"); memory == "" {
					t.Errorf("%s: no limit of memory", c["name"])
				}
				if image := c["image"].(string); !strings.HasPrefix(image, "registry.example.org/") || !strings.Contains(image, "@sha256:") {
					t.Errorf("%s: image %s", c["name"], image)
				}
			}
			if rest["volumeMounts"] != nil {
				t.Error("what is left of the pod has files of the node")
			}
			if is, _, _ := unstructured.NestedBool(rest, "securityContext", "runAsNonRoot"); !is {
				t.Error("what is left of the pod may run as root")
			}
			if got := writable(t, spec, writer); !slices.Equal(got, writes) {
				t.Errorf("it writes to %q", got)
			}
			removes := slices.Contains(writer["args"].([]any), any("--remove"))
			if removes != (half == "remove") {
				t.Errorf("arguments %v", writer["args"])
			}
		})
	}
}

func installerPod(t *testing.T, half string) map[string]any {
	t.Helper()
	for _, o := range apiserver.Build(t, root+"/installer/"+half) {
		if spec, ok, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec"); ok {
			return spec
		}
	}
	t.Fatal("there is no pod")
	return nil
}

// writable are the node's directories that a container may write to. Each is
// below /host where it is on the node.
func writable(t *testing.T, spec, container map[string]any) []string {
	t.Helper()
	paths := map[string]string{}
	for _, v := range spec["volumes"].([]any) {
		path, _, _ := unstructured.NestedString(v.(map[string]any), "hostPath", "path")
		paths[v.(map[string]any)["name"].(string)] = path
	}
	var out []string
	for _, m := range container["volumeMounts"].([]any) {
		m := m.(map[string]any)
		path := paths[m["name"].(string)]
		if m["mountPath"] != "/host"+path {
			t.Errorf("%s is at %s", path, m["mountPath"])
		}
		if m["readOnly"] != true {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
