package restartpolicy

import (
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// scene is all that a guard may look at.
type scene struct {
	policy  config.Restart
	snap    *node.Snapshot
	history History
	finding *finding
	fault   Fault
	// states are those that occur anywhere on the node.
	states map[State]bool
}

// guard forbids a step for the time being.
type guard struct {
	name    string
	forbids func(*scene) bool
}

// guards are all reasons to do nothing although a verdict is due. Each is
// shown by name in the status. Budgets are not among them: see plan.go.
var guards = []guard{
	{"paused", func(c *scene) bool { return c.snap.Host.Paused != "" }},
	{"shutting-down", func(c *scene) bool { return c.snap.Host.ShuttingDown }},
	{"host-busy", func(c *scene) bool { return len(c.snap.Host.Busy) > 0 }},
	{"kubelet-stopped", func(c *scene) bool { return StoppedOnPurpose(c.snap.Kubelet.Unit) }},
	{"runtime-stopped", func(c *scene) bool { return StoppedOnPurpose(c.snap.Runtime.Unit) }},
	{"looks", func(c *scene) bool { return c.fault.Looks < c.policy.Looks }},
	{"boot-hold-off", func(c *scene) bool { return c.snap.Taken.Boot < c.policy.HoldOffs.Boot.Duration }},
	{"clock-step", func(c *scene) bool {
		return c.history.Stepped > 0 && c.snap.Taken.Boot-c.history.Stepped < c.policy.HoldOffs.ClockStep.Duration
	}},
	{"kubelet-first", func(c *scene) bool { return c.pod() && c.needsKubelet() && c.states[KubeletDown] }},
	{"kubelet-hold-off", func(c *scene) bool {
		u := c.snap.Kubelet.Unit
		return c.pod() && c.needsKubelet() && u.ProcessStarted > 0 &&
			c.snap.Taken.Boot-u.ProcessStarted < c.policy.HoldOffs.KubeletStart.Duration
	}},
	{"runtime-hold-off", func(c *scene) bool {
		u := c.snap.Runtime.Unit
		return c.finding.state != TwoGenerations && u.ProcessStarted > 0 &&
			c.snap.Taken.Boot-u.ProcessStarted < c.policy.HoldOffs.RuntimeStart.Duration
	}},
	{"manifest-hold-off", func(c *scene) bool {
		if !c.pod() {
			return false
		}
		seen := c.history.Manifests[c.finding.key.PodName.String()]
		return c.snap.Taken.Boot-seen.Since < c.finding.target.Grace+c.policy.HoldOffs.ManifestChange.Duration
	}},
}

// blocking names the guards that forbid a step.
func blocking(guards []guard, c *scene) []string {
	var names []string
	for _, g := range guards {
		if g.forbids(c) {
			names = append(names, g.name)
		}
	}
	return names
}

// pod tells that the finding is about a pod, not about a service.
func (c *scene) pod() bool { return c.finding.key.Name != "" }

// needsKubelet tells findings that a kubelet which has only just started would
// still mend by itself.
func (c *scene) needsKubelet() bool {
	switch c.finding.state {
	case StaleRunning, TwoGenerations, StartHung:
		return false
	}
	return true
}
