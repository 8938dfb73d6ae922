package manifests

import (
	"maps"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/test/apiserver"
)

// What the alerts and dashboards call node, pod and container is what Prometheus
// calls so once the ServiceMonitor has been at it.
func TestSeriesAreOfTheNodeAndNotOfTheProxysPod(t *testing.T) {
	for _, overlay := range overlays {
		for _, o := range apiserver.Build(t, root+"/overlays/"+overlay) {
			if o.GetKind() != "ServiceMonitor" {
				continue
			}
			endpoints, _, _ := unstructured.NestedSlice(o.Object, "spec", "endpoints")
			// What the operator puts before our own rules.
			target := labels.FromStrings("__meta_kubernetes_pod_node_name", "n1", "namespace", "nodekeeper", "service", "nodekeeper-metrics",
				"pod", "nodekeeper-metrics-x7k2p", "container", "kube-rbac-proxy", "endpoint", "metrics", "job", "nodekeeper", "instance", "192.0.2.1:9740")
			builder := labels.NewBuilder(target)
			if !relabel.ProcessBuilder(builder, rules(t, endpoints[0].(map[string]any)["relabelings"].([]any))...) {
				t.Fatalf("%s: the target is dropped", overlay)
			}
			got := builder.Labels().Map()
			maps.DeleteFunc(got, func(name, _ string) bool { return len(name) > 2 && name[:2] == model.ReservedLabelPrefix })
			want := map[string]string{"node": "n1", "namespace": "nodekeeper", "job": "nodekeeper", "instance": "192.0.2.1:9740"}
			if !maps.Equal(got, want) {
				t.Errorf("%s: %v", overlay, got)
			}
		}
	}
}

// rules are the operator's rules as Prometheus's own.
func rules(t *testing.T, relabelings []any) []*relabel.Config {
	t.Helper()
	var configs []*relabel.Config
	for _, r := range relabelings {
		data, err := yaml.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var of struct {
			Action       string   `json:"action"`
			Regex        string   `json:"regex"`
			SourceLabels []string `json:"sourceLabels"`
			TargetLabel  string   `json:"targetLabel"`
		}
		if err := yaml.UnmarshalStrict(data, &of); err != nil {
			t.Fatal(err)
		}
		c := relabel.DefaultRelabelConfig
		c.NameValidationScheme = model.UTF8Validation
		c.TargetLabel = of.TargetLabel
		for _, name := range of.SourceLabels {
			c.SourceLabels = append(c.SourceLabels, model.LabelName(name))
		}
		if of.Action != "" {
			c.Action = relabel.Action(of.Action)
		}
		if of.Regex != "" {
			c.Regex = relabel.MustNewRegexp(of.Regex)
		}
		if err := c.Validate(model.UTF8Validation); err != nil {
			t.Fatal(err)
		}
		configs = append(configs, &c)
	}
	return configs
}
