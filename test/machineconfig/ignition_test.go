package machineconfig

import (
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_2"
	newest "github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/validate"
	"sigs.k8s.io/yaml"
)

// config is the Ignition part of a MachineConfig, as JSON.
func config(t *testing.T, machineConfig []byte) []byte {
	t.Helper()
	var mc struct {
		Spec struct {
			Config any `json:"config"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(machineConfig, &mc); err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.Marshal(mc.Spec.Config)
	if err != nil {
		t.Fatal(err)
	}
	json, err := yaml.YAMLToJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	return json
}

func TestIgnitionTakesTheConfigurations(t *testing.T) {
	each(t, "machineconfigs/", func(t *testing.T, _ string, content []byte) {
		raw := config(t, content)
		parsed, report, err := ignition.Parse(raw)
		if err != nil || len(report.Entries) > 0 {
			t.Errorf("3.2: %v: %s", err, report.String())
		}
		if report := validate.ValidateWithContext(parsed, raw); len(report.Entries) > 0 {
			t.Errorf("3.2: %s", report.String())
		}
		// The machine-config-operator reads all versions as its own.
		own, report, err := newest.ParseCompatibleVersion(raw)
		if err != nil || len(report.Entries) > 0 {
			t.Errorf("3.5: %v: %s", err, report.String())
		}
		if report := validate.ValidateWithContext(own, raw); len(report.Entries) > 0 {
			t.Errorf("3.5: %s", report.String())
		}
	})
}
