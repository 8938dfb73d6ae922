package promote

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

const flow = "nodekeeper-node-objects"

// The API server says in each answer which flow schema a request was put under.
func nodesReadInTheirOwnLevel(t *testing.T, c *cluster) {
	schema, err := c.Admin.FlowcontrolV1().FlowSchemas().Get(t.Context(), flow, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	level, err := c.Admin.FlowcontrolV1().PriorityLevelConfigurations().Get(t.Context(), flow, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	under := func(config *rest.Config, path string) bool {
		t.Helper()
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		ours := answer.Header.Get("X-Kubernetes-PF-FlowSchema-UID") == string(schema.UID)
		if ours != (answer.Header.Get("X-Kubernetes-PF-PriorityLevel-UID") == string(level.UID)) {
			t.Errorf("%s: flow schema and priority level disagree", path)
		}
		return ours
	}
	node, person := c.As(t, "system:node:n1", "system:nodes"), c.As(t, "someone", "people")
	const secrets = "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Dx"
	controlplane.Until(t, 20*time.Second, "the flow schema to be in force", func() bool { return under(node, secrets) })
	for path, want := range map[string]bool{
		"/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dx":                          true,
		"/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dx": true,
		"/api/v1/namespaces/default/secrets/x":                                                           false,
		"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1":                              false,
		"/api/v1/nodes/n1": false,
		"/api/v1/pods?fieldSelector=spec.nodeName%3Dn1": false,
	} {
		if got := under(node, path); got != want {
			t.Errorf("a node's %s: in the level of its own: %v", path, got)
		}
	}
	if under(person, secrets) {
		t.Error("somebody else's read is put under the nodes' level")
	}
}

func TestKubeletConfigsAreOfTheKubelet(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(manifests, "kubeletconfig", "*.yaml"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var of struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        metav1.ObjectMeta `json:"metadata"`
			Spec            struct {
				Pools  metav1.LabelSelector `json:"machineConfigPoolSelector"`
				Config json.RawMessage      `json:"kubeletConfig"`
			} `json:"spec"`
		}
		if err := yaml.UnmarshalStrict(text, &of); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var config v1beta1.KubeletConfiguration
		if err := yaml.UnmarshalStrict(of.Spec.Config, &config); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		want := map[string]v1beta1.ResourceChangeDetectionStrategy{
			"watch.yaml": v1beta1.WatchChangeDetectionStrategy, "cache.yaml": v1beta1.TTLCacheChangeDetectionStrategy, "get.yaml": v1beta1.GetChangeDetectionStrategy,
		}[filepath.Base(file)]
		if config.ConfigMapAndSecretChangeDetectionStrategy != want {
			t.Errorf("%s: strategy %q", file, config.ConfigMapAndSecretChangeDetectionStrategy)
		}
	}
}
