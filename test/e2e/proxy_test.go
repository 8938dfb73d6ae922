package e2e

import (
	"fmt"
	"strings"
	"syscall"
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
			s.guarded(through, "")
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
				moreSecrets, moreConfigMaps, moreLists, leaseGap(all).Round(100*time.Millisecond))
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
			if gap := leaseGap(all); gap > 20*time.Second {
				t.Errorf("lease not renewed for %v", gap)
			}
		})
	}
}

// changed waits for a ConfigMap's new value in its mount.
func (s *scene) changed(limit time.Duration, namespace, object, value string) {
	s.Helper()
	s.eventually(limit, object+" arrives", func() bool {
		out, _, err := s.box.Exec(s.ctx, "sh", "-c", "cat /var/lib/kubelet/pods/*/volumes/kubernetes.io~configmap/"+object+"/value")
		return err == nil && strings.Contains(out, value)
	})
}

// A guard that dies, hangs or is switched off: the lease is renewed all the
// same, pods start, and changes arrive.
func TestProxyInTrouble(t *testing.T) {
	labelled(t, guard, disruptive)
	for name, trouble := range map[string]func(s *scene){
		"killed every 5 s for 2 min": func(s *scene) {
			for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Second) {
				_ = s.box.SignalUnit(s.ctx, node.Proxy, syscall.SIGKILL)
			}
		},
		"stopped by SIGSTOP, twice": func(s *scene) {
			for range 2 {
				_ = s.box.SignalUnit(s.ctx, node.Proxy, syscall.SIGSTOP)
				time.Sleep(30 * time.Second)
			}
		},
		"kill switch thrown and taken back": func(s *scene) {
			s.must(s.box.WriteFile("/etc/nodekeeper/proxy.off", nil, 0o644), "throw the switch")
			time.Sleep(20 * time.Second)
			s.must(s.box.RemoveFile("/etc/nodekeeper/proxy.off"), "take it back")
		},
		"program gone": func(s *scene) {
			_, _, err := s.box.Exec(s.ctx, "sh", "-c", "mv /usr/local/bin/nodekeeper /usr/local/bin/nodekeeper.away && cp /bin/false /usr/local/bin/nodekeeper")
			s.must(err, "break the program")
			_ = s.box.SignalUnit(s.ctx, node.Proxy, syscall.SIGKILL)
			time.Sleep(10 * time.Second)
			_, _, err = s.box.Exec(s.ctx, "mv", "/usr/local/bin/nodekeeper.away", "/usr/local/bin/nodekeeper")
			s.must(err, "mend the program")
		},
		"API server restarted": func(s *scene) {
			_, err := s.box.Systemctl(s.ctx, "restart", node.API)
			s.must(err, "restart the API server")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage(t, viaProxy())
			s.guarded(true, "")
			s.apply(workload{namespace: "before", pods: 5, immutableSecrets: 4, configMap: 2})
			began := len(s.audit())
			trouble(s)
			s.say("trouble over")
			s.apply(workload{namespace: "after", pods: 5, immutableSecrets: 4, configMap: 2})
			_, err := s.kubectl("-n", "before", "patch", "configmap", "cm-0-0", "-p", `{"data":{"value":"changed"}}`)
			s.must(err, "change a ConfigMap")
			s.changed(3*time.Minute, "before", "cm-0-0", "changed")
			s.throughout(15*time.Second, "a while more", func() error { return nil })
			gap := leaseGap(s.audit()[began:])
			s.say("longest gap between two renewals of the lease: %v", gap.Round(100*time.Millisecond))
			if gap > 35*time.Second {
				t.Errorf("lease not renewed for %v", gap)
			}
			peak := peak(s.audit()[began:])
			s.say("most requests for Secrets and ConfigMaps in one second: %s", peak)
			journal, err := s.box.Journal(s.ctx, node.Kubelet)
			s.must(err, "journal")
			if strings.Contains(journal, "node not ready") {
				t.Error("the kubelet was not ready")
			}
		})
	}
}

// peak is the busiest second.
func peak(requests []heard) string {
	count := map[int64]int{}
	most := 0
	for _, h := range requests {
		if h.ObjectRef.Resource == "secrets" || h.ObjectRef.Resource == "configmaps" {
			count[h.RequestReceivedTimestamp.Unix()]++
			most = max(most, count[h.RequestReceivedTimestamp.Unix()])
		}
	}
	return fmt.Sprint(most)
}
