package remedy

import (
	"context"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// scene is all that a guard may look at.
type scene struct {
	ctx      context.Context
	policy   config.Restart
	snap     *node.Snapshot
	step     restartpolicy.Step
	judgment judgment
	// systemd and command tell how the kubelet could be restarted.
	systemd, command bool
}

// guard refuses a step.
type guard struct {
	name string
	// refuses says in one line why the step must not be done, or "".
	refuses func(scene) string
}

// guards are all reasons not to carry out a step that was due a moment ago.
// The first that refuses is the answer, so that the plain reasons come first;
// the verdict of the fresh look comes last and catches what has no guard of
// its own.
func guards() []guard {
	return append(append(append(nodeGuards(), podGuards()...), targetGuards()...),
		guard{"verdict", func(c scene) string { return c.judgment.contradicts(c.step) }})
}

// nodeGuards are those that hold for every step.
func nodeGuards() []guard {
	return []guard{
		{"agent-stopping", func(c scene) string {
			return when(c.ctx.Err() != nil, "the agent is stopping")
		}},
		{"disabled", func(c scene) string {
			return when(!restartpolicy.StepOf(c.policy.Steps, c.step.Kind).Enabled, "the step is not enabled in the configuration")
		}},
		{"paused", func(c scene) string {
			return when(c.snap.Host.Paused != "", "paused: "+c.snap.Host.Paused)
		}},
		{"shutting-down", func(c scene) string {
			return when(c.snap.Host.ShuttingDown, "the system is shutting down")
		}},
		{"host-busy", func(c scene) string {
			return when(len(c.snap.Host.Busy) > 0, "the host is busy: "+strings.Join(c.snap.Host.Busy, ", "))
		}},
		{"kubelet-stopped", func(c scene) string {
			return when(restartpolicy.StoppedOnPurpose(c.snap.Kubelet.Unit), "somebody stopped the kubelet")
		}},
		{"runtime-stopped", func(c scene) string {
			return when(restartpolicy.StoppedOnPurpose(c.snap.Runtime.Unit), "somebody stopped the runtime")
		}},
		{"runtime-silent", func(c scene) string {
			return when(c.snap.Runtime.Err != nil && c.step.Kind != restartpolicy.RestartRuntime, "the runtime does not answer")
		}},
		{"kubelet-gate", func(c scene) string {
			if c.step.Kind != restartpolicy.RestartKubelet {
				return ""
			}
			return restartpolicy.GateFor(c.policy, c.snap, c.step.State, c.step.Kind).Detail
		}},
		{"kubelet-reach", func(c scene) string {
			return when(c.step.Kind == restartpolicy.RestartKubelet && !c.command && (!c.systemd || c.snap.Kubelet.Unit.Err != nil),
				"the kubelet's unit cannot be seen, and no restart command is configured")
		}},
		{"runtime-gate", func(c scene) string {
			if c.step.Kind != restartpolicy.RestartRuntime {
				return ""
			}
			return restartpolicy.GateFor(c.policy, c.snap, c.step.State, c.step.Kind).Detail
		}},
		{"runtime-reach", func(c scene) string {
			return when(c.step.Kind == restartpolicy.RestartRuntime && (!c.systemd || c.snap.Runtime.Unit.Err != nil),
				"the runtime's unit cannot be seen")
		}},
	}
}

// refusal is why the step must not be done, by a fresh look, or "".
func (e *Executor) refusal(ctx context.Context, step restartpolicy.Step, s *node.Snapshot) string {
	return refuse(guards(), scene{
		ctx: ctx, policy: e.Policy, snap: s, step: step, judgment: judge(e.Policy, s),
		systemd: e.Units != nil, command: len(e.RestartCommand) > 0,
	})
}

func refuse(guards []guard, c scene) string {
	for _, g := range guards {
		if why := g.refuses(c); why != "" {
			return why
		}
	}
	return ""
}

func when(refused bool, why string) string {
	if refused {
		return why
	}
	return ""
}
