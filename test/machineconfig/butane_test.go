package machineconfig

import (
	"reflect"
	"strings"
	"testing"

	butane "github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/pkg/machineconfig"
)

// Butane warns where it should refuse, of unknown fields for example: nothing at
// all may be reported, as with --strict.
func TestButaneTranslatesTheSourcesToTheSame(t *testing.T) {
	seen := 0
	for _, role := range []string{"master", "worker", "canary"} {
		for _, step := range machineconfig.Steps() {
			files := render(t, machineconfig.Options{Role: role, Image: image, Features: machineconfig.Features(), Step: step})
			for path, source := range files {
				name, ok := strings.CutPrefix(path, "butane/")
				if !ok {
					continue
				}
				seen++
				name = strings.TrimSuffix(name, ".bu")
				// Compressed, nobody could read what is on a node.
				text, report, err := butane.TranslateBytes(source, common.TranslateBytesOptions{
					TranslateOptions: common.TranslateOptions{NoResourceAutoCompression: true},
				})
				if err != nil || len(report.Entries) > 0 {
					t.Errorf("%s %s %s: %v: %s", role, step, path, err, report.String())
					continue
				}
				if want, got := parse(t, text), parse(t, files["machineconfigs/"+name+".yaml"]); !reflect.DeepEqual(want, got) {
					t.Errorf("%s %s %s: rendered\n%v\nButane\n%v", role, step, path, got, want)
				}
				for _, dir := range []string{"openshift/"} {
					if again, ok := files[dir+name+".yaml"]; ok && string(again) != string(files["machineconfigs/"+name+".yaml"]) {
						t.Errorf("%s%s.yaml is another one", dir, name)
					}
				}
				if hosted, ok := files["hypershift/"+name+".yaml"]; ok {
					var configMap struct{ Data map[string]string }
					if err := yaml.Unmarshal(hosted, &configMap); err != nil || configMap.Data["config"] != string(files["machineconfigs/"+name+".yaml"]) {
						t.Errorf("hypershift/%s.yaml holds another one: %v", name, err)
					}
				}
			}
		}
	}
	if seen < 3*(3+1+1) {
		t.Errorf("%d sources", seen)
	}
}

func parse(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
