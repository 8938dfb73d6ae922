package kubelet

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// defaultCgroupDriver mirrors kubelet pkg/kubelet/apis/config/v1beta1/defaults.go,
// v1.37. The kubelet prefers what the runtime says of itself (CRI
// RuntimeConfig) to this field and to its default.
const defaultCgroupDriver = "cgroupfs"

// settingsOf takes the values out of a merged document of checked fields, with
// the kubelet's defaults for what is not there. The map is never nil.
func settingsOf(doc map[string]any) node.Settings {
	s := node.Settings{
		CgroupDriver: defaultCgroupDriver,
		FeatureGates: map[string]bool{},
	}
	s.StaticPodPath, _ = doc[fieldStaticPodPath].(string)
	if driver, _ := doc[fieldCgroupDriver].(string); driver != "" {
		s.CgroupDriver = driver
	}
	gates, _ := doc[fieldFeatureGates].(map[string]any)
	for name, on := range gates {
		if on, ok := on.(bool); ok {
			s.FeatureGates[name] = on
		}
	}
	crashLoop, _ := doc[fieldCrashLoop].(map[string]any)
	period, _ := crashLoop[fieldMaxPeriod].(string)
	s.MaxContainerRestartPeriod, _ = time.ParseDuration(period)
	return s
}
