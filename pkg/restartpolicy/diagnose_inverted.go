package restartpolicy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// futureLimit is how far in the future a record must be dated before its date
// counts as wrong.
const futureLimit = 30 * time.Second

// inverted finds a dead record that a kubelet takes for the newest one because
// its creation date is later than that of a higher attempt: the clock ran
// backwards in between (kubernetes/kubernetes#83050). The kubelet orders
// records by date only.
func (p *podFacts) inverted(name string, newest node.Container) (node.Container, bool) {
	for _, c := range p.current.Containers {
		if c.Name == name && c.Attempt < newest.Attempt && c.State == node.ContainerExited &&
			c.CreatedAt.After(newest.CreatedAt) {
			return c, true
		}
	}
	if newest.State == node.ContainerExited && newest.FinishedAt.After(p.snap.Taken.Wall.Add(futureLimit)) {
		return newest, true
	}
	return node.Container{}, false
}

// invertedFinding acts on an inverted record only when the kubelet itself
// reports that it cannot start the container; a container that runs, also in
// the kubelet's eyes, is left alone. A kubelet that takes a running container
// for a dead one says in turn RunContainerError and CrashLoopBackOff, for it
// backs off from starts that cannot succeed (measured with 1.37.2). A date in the future on the newest record only means waiting, and
// ends like any other wait.
func (p *podFacts) invertedFinding(c *corev1.Container, newest, stale node.Container) finding {
	if stale.ID == newest.ID {
		f := p.exited(c, newest)
		f.detail += "; its end is dated in the future"
		return f
	}
	st, viewed := p.status(c)
	failing := viewed && st.State.Waiting != nil && (startFailure(st.State.Waiting.Reason) ||
		st.State.Waiting.Reason == "CrashLoopBackOff" && newest.State == node.ContainerRunning)
	if !failing {
		if newest.State == node.ContainerRunning {
			return p.running(c, newest)
		}
		return p.exited(c, newest)
	}
	f := p.find(c, Inverted, fmt.Sprintf("attempt %d is dated later than attempt %d: the clock ran backwards", stale.Attempt, newest.Attempt))
	f.target.ContainerID, f.target.Attempt = stale.ID, stale.Attempt
	f.wait = p.policy.Deadlines.Inverted.Duration
	return f
}
