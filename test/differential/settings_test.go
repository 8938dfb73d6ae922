package differential

import (
	"fmt"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	_ "k8s.io/kubernetes/pkg/kubelet" // holds newCrashLoopBackOff
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// newCrashLoopBackOff is the kubelet's own. Nothing exported shows what it
// returns, and a copy of its constants would not notice a new rule.
//
//go:linkname newCrashLoopBackOff k8s.io/kubernetes/pkg/kubelet.newCrashLoopBackOff
func newCrashLoopBackOff(*kubeletconfig.KubeletConfiguration) (longest, initial time.Duration)

// backOffSetting is what a kubelet's configuration file says about the back-off.
type backOffSetting struct {
	gates map[string]bool
	// maxPeriod is crashLoopBackOff.maxContainerRestartPeriod, 0 if not set.
	maxPeriod time.Duration
}

func (s backOffSetting) String() string { return fmt.Sprint(s.gates, " maxPeriod=", s.maxPeriod) }

// forEachBackOffSetting goes through all sets of gates, with every period that
// the kubelet takes under them, and returns how many there are.
func forEachBackOffSetting(t *testing.T, run func(*testing.T, backOffSetting)) int {
	count := 0
	for _, period := range []bool{true, false} {
		for _, reduced := range []bool{false, true} {
			t.Run("period="+onOff(period)+",reduced="+onOff(reduced), func(t *testing.T) {
				gates := map[string]bool{"KubeletCrashLoopBackOffMax": period, "ReduceDefaultCrashLoopBackOffDecay": reduced}
				overrides := featuregatetesting.FeatureOverrides{}
				for name, on := range gates {
					overrides[featuregate.Feature(name)] = on
				}
				featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, overrides)
				for seconds := range 301 {
					if seconds == 0 || period {
						run(t, backOffSetting{gates, time.Duration(seconds) * time.Second})
						count++
					}
				}
			})
		}
	}
	return count
}

// kubelets is the back-off that a kubelet with this configuration file uses,
// after its own defaults and its own validation. The gates must be set.
func (s backOffSetting) kubelets(t *testing.T) restartpolicy.BackOff {
	t.Helper()
	// A host with cgroup v1 would make the validation fail.
	file := &kubeletv1beta1.KubeletConfiguration{FeatureGates: s.gates, FailCgroupV1: new(bool)}
	if s.maxPeriod > 0 {
		file.CrashLoopBackOff.MaxContainerRestartPeriod = &metav1.Duration{Duration: s.maxPeriod}
	}
	types, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		t.Fatal(err)
	}
	types.Default(file)
	config := &kubeletconfig.KubeletConfiguration{}
	if err := types.Convert(file, config, nil); err != nil {
		t.Fatal(err)
	}
	if err := validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate); err != nil {
		t.Fatalf("the kubelet does not take %s: %v", s, err)
	}
	longest, initial := newCrashLoopBackOff(config)
	return restartpolicy.BackOff{Initial: initial, Max: longest}
}

func (s backOffSetting) agents() restartpolicy.BackOff {
	return restartpolicy.BackOffOf(restartpolicy.GatesOf("1.37.2", s.gates), s.maxPeriod)
}

func TestBackOffOfIsTheKubelets(t *testing.T) {
	count := forEachBackOffSetting(t, func(t *testing.T, s backOffSetting) {
		want, got := s.kubelets(t), s.agents()
		if got != want {
			t.Errorf("%s: BackOffOf = %+v, the kubelet uses %+v", s, got, want)
		}
	})
	t.Logf("%d settings compared", count)
}
