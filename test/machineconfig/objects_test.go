package machineconfig

import (
	"strings"
	"testing"

	mcfg "github.com/openshift/api/machineconfiguration/v1"
	operator "github.com/openshift/api/operator/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/pkg/machineconfig"
)

// A field that OpenShift does not have would be dropped by it without a word.
func TestOpenShiftKnowsEveryField(t *testing.T) {
	kinds := map[string]func() any{
		"machineconfiguration.openshift.io/v1 MachineConfig":     func() any { return new(mcfg.MachineConfig) },
		"machineconfiguration.openshift.io/v1 MachineConfigPool": func() any { return new(mcfg.MachineConfigPool) },
		"machineconfiguration.openshift.io/v1 KubeletConfig":     func() any { return new(mcfg.KubeletConfig) },
		"machineconfiguration.openshift.io/v1 PinnedImageSet":    func() any { return new(mcfg.PinnedImageSet) },
		"operator.openshift.io/v1 MachineConfiguration":          func() any { return new(operator.MachineConfiguration) },
		"v1 ConfigMap": func() any { return new(core.ConfigMap) },
	}
	seen := map[string]bool{}
	each(t, "", func(t *testing.T, path string, content []byte) {
		if !strings.HasSuffix(path, ".yaml") {
			return
		}
		var as meta.TypeMeta
		if err := yaml.Unmarshal(content, &as); err != nil {
			t.Fatal(err)
		}
		kind := as.APIVersion + " " + as.Kind
		seen[kind] = true
		object, ok := kinds[kind]
		if !ok {
			t.Fatalf("%s is not a kind that it should have", kind)
		}
		if err := yaml.UnmarshalStrict(content, object()); err != nil {
			t.Error(err)
		}
	})
	for kind := range kinds {
		if !seen[kind] {
			t.Errorf("no %s", kind)
		}
	}
}

func TestACanaryPoolTakesItsOwnAndWorkersMachineConfigs(t *testing.T) {
	var pool mcfg.MachineConfigPool
	files := render(t, machineconfig.Options{Role: "canary", Image: image})
	if err := yaml.UnmarshalStrict(files["machineconfigpool.yaml"], &pool); err != nil {
		t.Fatal(err)
	}
	selector, err := meta.LabelSelectorAsSelector(pool.Spec.MachineConfigSelector)
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]bool{"canary": true, "worker": true, "master": false} {
		var mc mcfg.MachineConfig
		text := render(t, machineconfig.Options{Role: role, Image: image})["machineconfigs/99-"+role+"-nodekeeper.yaml"]
		if err := yaml.Unmarshal(text, &mc); err != nil {
			t.Fatal(err)
		}
		if got := selector.Matches(labels.Set(mc.Labels)); got != want {
			t.Errorf("%s: %t", role, got)
		}
	}
	// The examples for the pool find it.
	var kubelet mcfg.KubeletConfig
	if err := yaml.UnmarshalStrict(files["examples/kubeletconfig.yaml"], &kubelet); err != nil {
		t.Fatal(err)
	}
	if selector, err = meta.LabelSelectorAsSelector(kubelet.Spec.MachineConfigPoolSelector); err != nil || !selector.Matches(labels.Set(pool.Labels)) {
		t.Errorf("the KubeletConfig is not for the pool: %v", err)
	}
}

// What a policy names must be there, or the node degrades.
func TestThePolicyNamesFilesAndUnitsThatExist(t *testing.T) {
	for step, from := range map[machineconfig.Step]machineconfig.Step{
		machineconfig.Install: machineconfig.Install, machineconfig.Uninstall: machineconfig.Inert,
	} {
		var policy operator.MachineConfiguration
		if err := yaml.UnmarshalStrict(render(t, machineconfig.Options{Role: "worker", Image: image, Step: step})["node-disruption-policy.yaml"], &policy); err != nil {
			t.Fatal(err)
		}
		there := ""
		for path, content := range render(t, machineconfig.Options{Role: "worker", Image: image, Step: from}) {
			if strings.HasPrefix(path, "butane/") {
				there += string(content)
			}
		}
		spec := policy.Spec.NodeDisruptionPolicy
		if policy.Name != "cluster" || len(spec.Files)+len(spec.Units) != 2 {
			t.Errorf("%s: %s has %d files, %d units", step, policy.Name, len(spec.Files), len(spec.Units))
		}
		for _, file := range spec.Files {
			if !strings.Contains(there, "path: "+file.Path+"\n") {
				t.Errorf("%s: %s is not there", step, file.Path)
			}
			for _, a := range file.Actions {
				if a.Type != operator.RestartSpecAction || !strings.Contains(there, "name: "+string(a.Restart.ServiceName)+"\n") {
					t.Errorf("%s: %s: %v", step, file.Path, a)
				}
			}
		}
		for _, unit := range spec.Units {
			if !strings.Contains(there, "name: "+string(unit.Name)+"\n") {
				t.Errorf("%s: %s is not there", step, unit.Name)
			}
			for _, a := range unit.Actions {
				if a.Type != operator.DaemonReloadSpecAction {
					t.Errorf("%s: %s: %v", step, unit.Name, a)
				}
			}
		}
	}
}
