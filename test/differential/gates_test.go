package differential

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

var (
	seed  = flag.Uint64("seed", seedOfEnvironment(), "seed of the generated cases")
	pairs = flag.Int("pairs", 50_000, "generated cases for each set of gates")
)

func seedOfEnvironment() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("NODEKEEPER_SEED"), 10, 64); err == nil {
		return n
	}
	return 137
}

// newGenerator says how to get the same cases again. Each test has a stream of
// its own, so that a test run alone sees what it sees among the others.
func newGenerator(t *testing.T, stream uint64) generator {
	t.Helper()
	t.Logf("seed %d (repeat with -seed=%d)", *seed, *seed)
	return generator{rand.New(rand.NewPCG(*seed, stream))}
}

// ruleGates are all sets of the gates about restart rules that a kubelet starts
// with: RestartAllContainersOnContainerExits needs ContainerRestartRules.
// TestKubeletRefusesOtherGates proves that there are no more.
var ruleGates = []map[string]bool{
	{"ContainerRestartRules": true, "RestartAllContainersOnContainerExits": true},
	{"ContainerRestartRules": true, "RestartAllContainersOnContainerExits": false},
	{"ContainerRestartRules": false, "RestartAllContainersOnContainerExits": false},
}

// forEachRuleGates runs a sub-test with the kubelet's gates set.
func forEachRuleGates(t *testing.T, run func(t *testing.T, set map[string]bool)) {
	for _, set := range ruleGates {
		name := "rules=" + onOff(set["ContainerRestartRules"]) + ",all=" + onOff(set["RestartAllContainersOnContainerExits"])
		t.Run(name, func(t *testing.T) {
			featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
				features.ContainerRestartRules:                set["ContainerRestartRules"],
				features.RestartAllContainersOnContainerExits: set["RestartAllContainersOnContainerExits"],
			})
			run(t, set)
		})
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func TestKubeletRefusesOtherGates(t *testing.T) {
	gate := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	err := gate.SetFromMap(map[string]bool{"ContainerRestartRules": false, "RestartAllContainersOnContainerExits": true})
	if err == nil {
		t.Fatal("the kubelet takes a set of gates that ruleGates leaves out")
	}
}

func TestGateDefaultsAreTheKubelets(t *testing.T) {
	gate := utilfeature.DefaultFeatureGate
	want := restartpolicy.Gates{
		ContainerRestartRules:                gate.Enabled(features.ContainerRestartRules),
		RestartAllContainersOnContainerExits: gate.Enabled(features.RestartAllContainersOnContainerExits),
		KubeletCrashLoopBackOffMax:           gate.Enabled(features.KubeletCrashLoopBackOffMax),
		ReduceDefaultCrashLoopBackOffDecay:   gate.Enabled(features.ReduceDefaultCrashLoopBackOffDecay),
	}
	if got := restartpolicy.GatesOf("1.37.2", nil); got != want {
		t.Errorf("GatesOf(1.37.2, nil) = %+v, the kubelet's defaults are %+v", got, want)
	}
}
