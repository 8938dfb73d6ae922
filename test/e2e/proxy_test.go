package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

func viaProxy() node.Options { return node.Options{Kubeconfig: node.APIOpen, Proxy: true} }

// A real kubelet mounts 200 immutable Secrets and 40 ConfigMaps, directly and
// through the guard, and is restarted.
func TestWatchesOfARealKubelet(t *testing.T) {
	labelled(t, guard)
	for _, through := range []bool{false, true} {
		name := map[bool]string{false: "direct", true: "through the guard"}[through]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage(t, viaProxy())
			s.guarded(through)
			w := workload{namespace: "ci", pods: 20, immutableSecrets: 10, configMap: 2}
			s.apply(w)
			s.throughout(20*time.Second, "the guard's grace and more", func() error { return nil })
			start := s.audit()
			secrets, configMaps, lists := watches(start, "ci")
			s.say("start: WATCH of Secrets %d, of ConfigMaps %d, LIST %d", secrets, configMaps, lists)
			_, err := s.box.Systemctl(s.ctx, "restart", node.Kubelet)
			s.must(err, "restart the kubelet")
			s.throughout(45*time.Second, "the kubelet has started anew", func() error { return nil })
			all := s.audit()
			moreSecrets, moreConfigMaps, moreLists := watches(all[len(start):], "ci")
			s.say("restart of the kubelet: WATCH of Secrets %d, of ConfigMaps %d, LIST %d; longest gap between two renewals of the lease %v",
				moreSecrets, moreConfigMaps, moreLists, leaseGap(all, time.Time{}).Round(100*time.Millisecond))
			if !through {
				if secrets < 200 || configMaps < 40 {
					t.Errorf("the stock kubelet opened %d and %d: it is not what was measured", secrets, configMaps)
				}
				return
			}
			if secrets+moreSecrets != 0 {
				t.Errorf("%d WATCHes of immutable objects", secrets+moreSecrets)
			}
			if configMaps != 40 || moreConfigMaps != 0 {
				t.Errorf("%d WATCHes of ConfigMaps and %d at the restart, want 40 and 0", configMaps, moreConfigMaps)
			}
			if gap := leaseGap(all, time.Time{}); gap > 20*time.Second {
				t.Errorf("lease not renewed for %v", gap)
			}
		})
	}
}

// changed waits for a ConfigMap's new value in its mount.
func (s *scene) changed(limit time.Duration, object, value string) {
	s.Helper()
	s.eventually(limit, object+" arrives", func() bool {
		mounted, err := s.mounted()
		return err == nil && slices.Contains(mounted[object], value)
	})
}
