package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// The files of testdata have been put before the reader of kubelet 1.37.2
// itself: it runs all of accepted and none of refused.

func TestAcceptedManifests(t *testing.T) {
	intent := readerFor("1.37.2").Read("testdata/accepted", "n")
	if intent.Err != nil || len(intent.Problems) != 0 {
		t.Fatalf("error %v, problems %+v", intent.Err, intent.Problems)
	}
	var got []string
	for _, m := range intent.Pods {
		if m.Doubt != "" {
			t.Errorf("%s: doubt %q", m.Path, m.Doubt)
		}
		got = append(got, fmt.Sprintln(m.Name, m.Pod.Spec.RestartPolicy, *m.Pod.Spec.TerminationGracePeriodSeconds))
	}
	want := []string{
		"default/backup-n Always 30\n",
		"kube-system/flow-n Never 5\n",
		"default/x-n Always 1\n",
		"default/plain-n Always 30\n",
		"default/repeated-field-n OnFailure 30\n",
		"default/first-n Always 30\n",
		"default/slash-version-n Always 30\n",
		"default/unknown-field-n Always 30\n",
		"openshift-etcd/whole-n Always 30\n",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestRefusedManifests(t *testing.T) {
	reasons := map[string]string{
		"array.yaml":                    "not an object",
		"bad-container-name.yaml":       `spec.containers[0].name: "a.b"`,
		"bad-container-policy.yaml":     "spec.containers[0].restartPolicy",
		"bad-name.yaml":                 `metadata.name: Invalid value: "Big_Name-n"`,
		"bad-namespace.yaml":            `metadata.namespace: Invalid value: "a.b"`,
		"bad-restart-policy.yaml":       "spec.restartPolicy",
		"claim.yaml":                    "resource claim",
		"comment.yaml":                  "holds nothing",
		"deployment.yaml":               `kind "Deployment"`,
		"empty-first-document.yaml":     "holds nothing",
		"empty.yaml":                    "holds nothing",
		"env-config.yaml":               "config map",
		"env-from-config.yaml":          "config map",
		"env-from-secret.yaml":          "secret",
		"env-secret.yaml":               "secret",
		"ephemeral.yaml":                "spec.ephemeralContainers",
		"flow-yaml.yaml":                "not an object",
		"gate.yaml":                     "spec.schedulingGates",
		"half-written.json":             "unexpected end",
		"half-written.yaml":             "not YAML",
		"list.yaml":                     `kind "List"`,
		"no-container-name.yaml":        "spec.containers[0].name: is needed",
		"no-containers.yaml":            "spec.containers",
		"no-image.yaml":                 "spec.containers[0].image",
		"no-kind.yaml":                  `kind ""`,
		"no-mount-path.yaml":            "mountPath",
		"no-name.yaml":                  "metadata.name: is needed",
		"no-version.yaml":               `apiVersion ""`,
		"no-volume-name.yaml":           "spec.volumes[0].name",
		"no-volume.yaml":                "no such volume",
		"odd-version.yaml":              "apiVersion",
		"old-service-account.yaml":      "service account",
		"pod-list.yaml":                 `kind "PodList"`,
		"pull-secret.yaml":              "spec.imagePullSecrets",
		"rules-without-policy.yaml":     "restartPolicyRules",
		"service-account.yaml":          "service account",
		"text.yaml":                     "not an object",
		"trailing.json":                 "after top-level value",
		"twice-container.yaml":          "used twice",
		"twice-init.yaml":               "spec.initContainers[0].name",
		"twice-mounted.yaml":            "used twice",
		"twice-volume.yaml":             "used twice",
		"volume-claim.yaml":             "persistent volume claim",
		"volume-config.yaml":            "config map",
		"volume-csi.yaml":               "CSI",
		"volume-ephemeral.yaml":         "persistent volume claim",
		"volume-iscsi-secret.yaml":      "secret",
		"volume-projected-config.yaml":  "config map",
		"volume-projected-secret.yaml":  "secret",
		"volume-projected-unknown.yaml": "unknown projected source",
		"volume-secret.yaml":            "secret",
		"wrong-quantity.yaml":           "not a v1 Pod",
		"wrong-type.yaml":               "not a v1 Pod",
		"zeros.yaml":                    "not YAML",
	}
	// Those that are no v1 Pod at all.
	noPods := []string{"array.yaml", "comment.yaml", "deployment.yaml", "empty-first-document.yaml", "empty.yaml", "flow-yaml.yaml", "half-written.json",
		"half-written.yaml", "list.yaml", "no-kind.yaml", "no-version.yaml", "odd-version.yaml", "pod-list.yaml", "text.yaml", "trailing.json",
		"wrong-quantity.yaml", "wrong-type.yaml", "zeros.yaml"}
	entries, err := os.ReadDir("testdata/refused")
	if err != nil || len(entries) != len(reasons) {
		t.Fatalf("%d files, %d reasons, error %v", len(entries), len(reasons), err)
	}
	for name, reason := range reasons {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata/refused", name)
			intent := readerFor("1.37.2").Read(path, "n")
			if len(intent.Pods) != 0 || len(intent.Problems) != 1 {
				t.Fatalf("%d pods, problems %+v", len(intent.Pods), intent.Problems)
			}
			p := intent.Problems[0]
			if unparsable := slices.Contains(noPods, name); unparsable != (p.Kind == node.ProblemUnparsable) || unparsable == (p.Kind == node.ProblemRefused) || p.Path != path {
				t.Errorf("problem %+v", p)
			}
			if !strings.HasPrefix(p.Message, path+": ") || !strings.Contains(p.Message, reason) || strings.ContainsAny(p.Message, "\n\x00") {
				t.Errorf("message %q does not say %q", p.Message, reason)
			}
		})
	}
}

func TestAProblemNamesThePodWhereItCan(t *testing.T) {
	for file, want := range map[string]string{"no-image.yaml": "default/x-n", "wrong-type.yaml": "default/x-n", "wrong-quantity.yaml": "default/x-n", "text.yaml": "/"} {
		intent := NewReader().Read("testdata/refused/"+file, "n")
		if got := intent.Problems[0].Pod.String(); got != want {
			t.Errorf("%s: pod %q", file, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/accepted/*", "testdata/refused/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatal(pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	dir := f.TempDir()
	r := NewReader()
	round := 0
	f.Fuzz(func(t *testing.T, data []byte) {
		round++
		r.For(fmt.Sprintf("1.%d.0", oldest-1+round%(newest-oldest+3))) // also versions that are not known
		if err := os.WriteFile(filepath.Join(dir, "m.yaml"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		intent := r.Read(dir, "n")
		if intent.Err != nil || len(intent.Pods)+len(intent.Problems) != 1 {
			t.Fatalf("neither a pod nor a problem: %+v", intent)
		}
		for _, m := range intent.Pods {
			if m.Name.Namespace == "" || m.Name.Name == "-n" || !strings.HasSuffix(m.Name.Name, "-n") ||
				len(m.Pod.Spec.Containers) == 0 || m.Pod.Spec.TerminationGracePeriodSeconds == nil || len(m.Content) != 64 {
				t.Fatalf("pod %+v", m)
			}
		}
		for _, p := range intent.Problems {
			if p.Message == "" || strings.ContainsAny(p.Message, "\n\r\x00\x1b") || len(p.Message) > 1000 {
				t.Fatalf("message %q", p.Message)
			}
		}
	})
}
