package restartpolicy

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// kubeletStartUp is how long a kubelet is in its own start-up.
const kubeletStartUp = 60 * time.Second

// gate tells whether a step is safe just now. Not safe with a reason means:
// wait; without a reason: pass on to the next rung.
func (p planner) gate(v Verdict, kind StepKind) (bool, string) {
	switch kind {
	case RestartKubelet:
		return p.kubeletGate(v)
	case RestartRuntime:
		if p.snap.Runtime.MonitorsInUnit && p.snap.Runtime.Unit.KillMode != "process" && p.snap.Runtime.Unit.KillMode != "none" {
			return false, "monitors-in-runtime-unit"
		}
	case StopSandbox:
		// Without a working kubelet nobody would restart the siblings.
		if !p.snap.Kubelet.View.Known() {
			return false, ""
		}
	}
	return true, ""
}

// kubeletGate keeps the kubelet from being restarted while a start hangs: a
// kubelet that starts then looks after no pod of the node, and says that it is
// healthy.
func (p planner) kubeletGate(v Verdict) (bool, string) {
	if p.snap.Runtime.Err != nil {
		return false, "runtime-does-not-answer"
	}
	dl := p.policy.Deadlines
	for _, call := range startCalls(p.snap.Runtime.Calls) {
		if call.Age > dl.HungStart.Duration {
			return false, "" // the runtime is what hangs: the next rung
		}
		if call.Age > dl.HungCall.Duration {
			return false, "start-in-flight"
		}
	}
	for _, sb := range p.snap.Runtime.Sandboxes {
		for _, c := range sb.Containers {
			if c.State == node.ContainerCreated && v.State != Husk &&
				p.snap.Taken.Wall.Sub(c.CreatedAt) > dl.HungCall.Duration {
				return false, "container-created-not-started"
			}
		}
	}
	u := p.snap.Kubelet.Unit
	if v.State != KubeletDown && u.ProcessStarted > 0 && p.snap.Taken.Boot-u.ProcessStarted < kubeletStartUp {
		return false, "kubelet-starting"
	}
	return true, ""
}
