package guard

import (
	"fmt"
	"testing"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// watchList is the gate by which a kubelet of 1.35 and later begins with a
// watch-list; without it, it begins with a LIST as those before.
const watchList featuregate.Feature = "WatchListClient"

// settle is how long after a start the WATCHes of mutable objects have been
// opened: the grace, and the burst and rate of the default bucket for a few.
const settle = 15 * time.Second

func TestTwentyPods(t *testing.T) {
	c := startCluster(t)
	w := c.create(t, load{namespaces: 5, pods: 20, immutable: 200, mutable: 40})
	for _, gate := range []bool{true, false} {
		t.Run(fmt.Sprintf("%s=%t", watchList, gate), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, watchList, gate)
			direct := c.measureDirect(t, w, byWatch, settle)
			guarded := c.measureGuarded(t, w, config.Default().Proxy, settle)
			print(t, direct, guarded)
			if direct.start.watches < w.objects*9/10 {
				t.Errorf("without the guard %d WATCHes were counted of %d objects: nothing was measured", direct.start.watches, w.objects)
			}
			guarded.check(t, w, w.mutable)
		})
	}
}

func TestFullNode(t *testing.T) {
	if testing.Short() {
		t.Skip("2,200 objects take minutes: not with -short")
	}
	families := []string{"kube-root-ca.crt", "openshift-service-ca.crt"}
	c := startCluster(t)
	w := c.create(t, load{namespaces: 100, pods: 250, immutable: 1800, mutable: 200, families: families})
	settings := config.Default().Proxy
	settings.Sentinels = families
	settle := settings.Grace.Duration + time.Duration(w.mutable/settings.Watches.PerSecond)*time.Second*3/2
	for _, gate := range []bool{true, false} {
		t.Run(fmt.Sprintf("%s=%t", watchList, gate), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, watchList, gate)
			direct := c.measureDirect(t, w, byWatch, settle)
			guarded := c.measureGuarded(t, w, settings, settle)
			measured := []measured{direct, guarded}
			if gate {
				measured = append(measured, c.measureDirect(t, w, byCache, 0), c.measureDirect(t, w, byGet, 0))
			}
			print(t, measured...)
			guarded.check(t, w, 200+len(families))
			if total := guarded.start.watches; total > 250 {
				t.Errorf("%d WATCHes for a node's start, want at most 250", total)
			}
		})
	}
}

// measured is one run: a start, and a restart of the kubelet.
type measured struct {
	name           string
	mounts         mounted
	start, restart counts
	again          mounted
	open           int
	// why first reads were late, at the start and at the restart.
	why, whyAgain explanation
	stats         map[string]int64
	passed        int64
}

// print puts runs side by side.
func print(t testing.TB, runs ...measured) {
	t.Helper()
	for _, m := range runs {
		t.Logf("%-8s start   %v; %d WATCHes open; %d of %d first reads missed 1 s, p99 %v, all read after %v", m.name, m.start, m.open, m.mounts.missed, m.mounts.reads, round(m.mounts.p99), round(m.mounts.all))
		t.Logf("%-8s restart %v; %d of %d first reads missed 1 s, p99 %v, all read after %v", m.name, m.restart, m.again.missed, m.again.reads, round(m.again.p99), round(m.again.all))
		if err := m.mounts.err(); err != nil {
			t.Logf("%-8s missed: %v", m.name, err)
		}
		m.why.print(t, m.name+" start")
		m.whyAgain.print(t, m.name+" restart")
		if m.stats != nil {
			t.Logf("%-8s %v", m.name, m.stats)
		}
	}
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func (c *cluster) measureDirect(t testing.TB, w *workload, s strategy, settle time.Duration) measured {
	t.Helper()
	m := measured{name: string(s)}
	path := kubeletConfig(c.config(t, "system:node:"+nodeName, "system:nodes", agent))
	before := c.mark(t)
	seen := newTrace()
	k := newKubelet(t, seen.client(path), s)
	if s == byWatch {
		k.trace = seen
	}
	m.mounts = k.start(t, w)
	m.why = seen.explain(false)
	time.Sleep(settle)
	m.open = c.open(t)
	m.start = c.counted(t, before, w)
	k.stop(w)
	until(t, 30*time.Second, "the kubelet's WATCHes to end", func() bool { return c.open(t) == 0 })
	before = c.mark(t)
	k = newKubelet(t, seen.client(path), s)
	if s == byWatch {
		k.trace = seen
	}
	m.again = k.start(t, w)
	m.whyAgain = seen.explain(false)
	m.restart = c.counted(t, before, w)
	k.stop(w)
	until(t, 30*time.Second, "the kubelet's WATCHes to end", func() bool { return c.open(t) == 0 })
	return m
}

func (c *cluster) measureGuarded(t testing.TB, w *workload, settings config.Proxy, settle time.Duration) measured {
	t.Helper()
	m := measured{name: "guarded"}
	seen := newTrace()
	p := c.proxyOf(t, nodeName, settings, seen)
	path := p.config(kubeletConfig(c.config(t, "system:node:"+nodeName, "system:nodes", agent)))
	before := c.mark(t)
	k := newKubelet(t, seen.client(path), byWatch)
	k.trace = seen
	m.mounts = k.start(t, w)
	m.why = seen.explain(true)
	time.Sleep(settle)
	m.open = c.open(t)
	m.start = c.counted(t, before, w)
	k.stop(w)
	until(t, 10*time.Second, "the local streams to end", func() bool { return p.Stats().Streams == 0 })
	before = c.mark(t)
	k = newKubelet(t, seen.client(path), byWatch)
	k.trace = seen
	seen.explain(true) // what the LISTs of the guard's own left
	m.again = k.start(t, w)
	m.whyAgain = seen.explain(true)
	time.Sleep(settle)
	m.restart = c.counted(t, before, w)
	k.stop(w)
	m.stats, m.passed = p.counted(), p.passed()
	p.end()
	until(t, 30*time.Second, "the guard's WATCHes to end", func() bool { return c.open(t) == 0 })
	return m
}

func (c *cluster) counted(t testing.TB, from mark, w *workload) counts {
	t.Helper()
	return count(c.since(t, from), w.immutable, c.etcdReads(t)-from.etcdReads)
}

// check holds a guarded run against the guard's promises.
func (m measured) check(t testing.TB, w *workload, watched int) {
	t.Helper()
	settings := config.Default().Proxy
	if m.start.immutableWatches+m.restart.immutableWatches != 0 {
		t.Errorf("%d and %d WATCHes of immutable objects", m.start.immutableWatches, m.restart.immutableWatches)
	}
	if m.start.watches != watched || m.open != watched {
		t.Errorf("%d WATCHes received and %d open, want %d", m.start.watches, m.open, watched)
	}
	if m.restart.watches != 0 {
		t.Errorf("a restart of the kubelet opened %d WATCHes", m.restart.watches)
	}
	if m.passed != 0 {
		t.Errorf("%d requests were passed through", m.passed)
	}
	if most := settings.Watches.Burst + settings.Watches.PerSecond; m.start.peakWatches > most {
		t.Errorf("%d WATCHes within a second, the bucket allows %d", m.start.peakWatches, most)
	}
	lists := settings.Lists
	if most := lists.Burst + lists.Credit + lists.PerSecond; max(m.start.peakLists, m.restart.peakLists) > most {
		t.Errorf("%d and %d LISTs within a second, the bucket allows %d with all of its credit", m.start.peakLists, m.restart.peakLists, most)
	}
}
