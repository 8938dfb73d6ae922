package guard

import (
	"fmt"
	"testing"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// idle is the longest that a process waits for a processor on an idle machine.
const idle = 50 * time.Millisecond

// TestPodsThatArriveOneByOne has pods come at a rate that a scheduler reaches, in
// turns without and with the guard. On an idle machine no first read is then late.
// Where it is not idle, what the late ones waited for is printed.
func TestPodsThatArriveOneByOne(t *testing.T) {
	pods := 250
	if testing.Short() {
		pods = 10
	}
	const perSecond, syncs = 5, 10
	families := []string{"kube-root-ca.crt", "openshift-service-ca.crt"}
	c := startCluster(t)
	w := c.create(t, load{namespaces: 10, pods: pods, immutable: 7 * pods, mutable: pods, families: families})
	settings := config.Default().Proxy
	settings.Sentinels = families
	for _, gate := range []bool{true, false} {
		t.Run(fmt.Sprintf("%s=%t", watchList, gate), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, watchList, gate)
			var missed [2]int
			stalled := time.Duration(0)
			for guarded := range 2 {
				seen := newTrace()
				path := seen.client(kubeletConfig(c.config(t, "system:node:"+nodeName, "system:nodes", agent)))
				name := "direct"
				var p *proxy
				if guarded == 1 {
					name, p = "guarded", c.proxyOf(t, nodeName, settings, seen)
					path = p.config(path)
				}
				k := newKubelet(t, path, byWatch)
				k.trace = seen
				before := c.mark(t)
				stop := pulse()
				m := k.arrive(t, w.pods, syncs, time.Second/perSecond)
				stalled = max(stalled, stop())
				missed[guarded] = m.missed
				t.Logf("%-7s %v; %d of %d first reads missed 1 s, p99 %v, all read after %v; the machine stalled for %v at most", name, c.counted(t, before, w), m.missed, m.reads, round(m.p99), round(m.all), round(stalled))
				seen.explain(guarded == 1).print(t, name)
				k.stop(w)
				if p != nil {
					t.Logf("guarded %v", p.counted())
					p.end()
				}
				until(t, time.Minute, "the WATCHes to end", func() bool { return c.open(t) == 0 })
			}
			if missed[1] > 0 && missed[0] == 0 && stalled < idle {
				t.Errorf("%d first reads were late with the guard, none without", missed[1])
			}
		})
	}
}
