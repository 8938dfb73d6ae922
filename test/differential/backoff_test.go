package differential

import (
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const (
	// crashLoopExpiry is the kubelet's HasExpiredFunc, pkg/kubelet/kubelet.go
	// NewMainKubelet, v1.37.
	crashLoopExpiry = 600 * time.Second
	// resyncInterval caps the time to the next sync, which is stretched by up to
	// half of it. pkg/kubelet/pod_workers.go completeWork, v1.37.
	resyncInterval = 60 * time.Second
	// shortRun is a run after which the kubelet has not yet forgotten the series,
	// even if the longest back-off and the latest sync follow.
	shortRun = crashLoopExpiry - 300*time.Second - resyncInterval
)

// crashLoop is one container that the kubelet starts again and again, with the
// kubelet's own flowcontrol.Backoff in simulated time.
type crashLoop struct {
	generator
	settings restartpolicy.BackOff
	clock    *testingclock.FakeClock
	backOff  *flowcontrol.Backoff
}

func newCrashLoop(g generator, settings restartpolicy.BackOff) *crashLoop {
	c := &crashLoop{generator: g, settings: settings, clock: testingclock.NewFakeClock(now.Wall)}
	c.startKubelet()
	return c
}

// startKubelet forgets everything, as a new process does.
func (c *crashLoop) startKubelet() {
	c.backOff = flowcontrol.NewFakeBackOff(c.settings.Initial, c.settings.Max, c.clock)
	c.backOff.HasExpiredFunc = func(event, last time.Time, _ time.Duration) bool {
		return event.Sub(last) > crashLoopExpiry
	}
}

// doBackOff mirrors pkg/kubelet/kuberuntime doBackOff, v1.37: true means that
// the container is not started yet.
func (c *crashLoop) doBackOff(finishedAt time.Time) (time.Duration, bool) {
	if c.backOff.IsInBackOffSince("key", finishedAt) {
		return c.backOff.Get("key"), true
	}
	c.backOff.Next("key", finishedAt)
	return 0, false
}

// uniform is a duration from nothing to limit.
func (c *crashLoop) uniform(limit time.Duration) time.Duration {
	return time.Duration(c.Int64N(int64(limit) + 1))
}

// crash lets the container run, die, and be started again. It returns the
// longest back-off that the kubelet named meanwhile, and how long the container
// was down from its end, or from the first sync where that was later.
func (c *crashLoop) crash(run, firstSync time.Duration, restarts bool) (named, down time.Duration) {
	c.clock.Step(run)
	finishedAt := c.clock.Now()
	c.clock.Step(firstSync)
	for {
		// Housekeeping runs every 2 s; entries only expire, so once is enough.
		c.backOff.GC()
		if restarts && c.chance(30) {
			c.startKubelet()
		}
		wait, waits := c.doBackOff(finishedAt)
		if !waits {
			return named, c.clock.Since(finishedAt)
		}
		named = max(named, wait)
		left := min(finishedAt.Add(wait).Sub(c.clock.Now()), resyncInterval)
		c.clock.Step(left + c.uniform(left/2))
	}
}

// run prefers short runs, and goes up to half an hour.
func (c *crashLoop) run() time.Duration {
	return c.uniform(pick(c.generator, 0, time.Second, 30*time.Second, 5*time.Minute, 30*time.Minute))
}

// firstSync is when the kubelet first looks after a death: at once, or at its
// regular sync when the event was lost.
func (c *crashLoop) firstSync() time.Duration {
	return c.uniform(pick(c.generator, 2*time.Second, 2*time.Second, 90*time.Second))
}

// forEachHistory runs crash histories under every back-off setting. A history
// returns how many crashes it had.
func forEachHistory(t *testing.T, stream uint64, history func(t *testing.T, c *crashLoop, agent restartpolicy.BackOff) int) {
	g := newGenerator(t, stream)
	crashes := 0
	settings := forEachBackOffSetting(t, func(t *testing.T, s backOffSetting) {
		kubelets, agents := s.kubelets(t), s.agents()
		for range 50 {
			crashes += history(t, newCrashLoop(g, kubelets), agents)
		}
	})
	t.Logf("%d crashes compared under %d settings", crashes, settings)
}

// TestWaitIsNeverShorter: whatever a container and the kubelet do, the agent
// allows at least the time that the kubelet takes.
func TestWaitIsNeverShorter(t *testing.T) {
	forEachHistory(t, 3, func(t *testing.T, c *crashLoop, agent restartpolicy.BackOff) int {
		attempts := 1 + c.IntN(16)
		for attempt := range attempts {
			run, firstSync := c.run(), c.firstSync()
			named, down := c.crash(run, firstSync, c.chance(20))
			wait := agent.Wait(uint32(attempt))
			if named > wait {
				t.Fatalf("attempt %d ran %s: the kubelet backs off %s, Wait is %s", attempt, run, named, wait)
			}
			if limit := max(firstSync, wait+min(wait, resyncInterval)/2); down > limit {
				t.Fatalf("attempt %d ran %s: down for %s, and Wait %s allows %s", attempt, run, down, wait, limit)
			}
		}
		return attempts
	})
}

// TestWaitIsExactForAnUninterruptedSeries: where nothing makes the kubelet
// forget, the agent waits no longer than it must.
func TestWaitIsExactForAnUninterruptedSeries(t *testing.T) {
	forEachHistory(t, 4, func(t *testing.T, c *crashLoop, agent restartpolicy.BackOff) int {
		const attempts = 16
		for attempt := range attempts {
			run := c.uniform(shortRun)
			named, _ := c.crash(run, 0, false)
			if wait := agent.Wait(uint32(attempt)); named != wait {
				t.Fatalf("attempt %d ran %s: the kubelet backs off %s, Wait is %s", attempt, run, named, wait)
			}
		}
		return attempts
	})
}
