//go:build world

package world

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// forbidden says why a step that has been confirmed must not be taken, whatever
// the fault: it asks the node itself, and not what was seen of it.
func (a *agent) forbidden(step restartpolicy.Step) string {
	for _, why := range []string{a.host(), a.units(step), a.holdOffs(step), a.aboutPod(step), a.blocks(step), a.repeats(step)} {
		if why != "" {
			return fmt.Sprintf("%s (%s) %s", step.Kind, step.State, why)
		}
	}
	return ""
}

// host is what forbids every act.
func (a *agent) host() string {
	w := a.w
	switch {
	case w.paused != "":
		return "while an admin has paused the agent"
	case w.shutdown:
		return "while the node shuts down"
	case len(w.busy) > 0:
		return "while something else changes the node"
	case w.systemdSilent || w.hostUnknown:
		return "while systemd does not answer"
	}
	return ""
}

// units are services that somebody has stopped, or that systemd is at.
func (a *agent) units(step restartpolicy.Step) string {
	for _, u := range []*unit{a.w.kubelet.unit, a.w.crio.unit} {
		switch {
		case u.active == "inactive" && u.lastJob.Result != "dependency":
			return "while somebody has stopped " + u.name
		case u.job || u.active == "deactivating":
			return "while " + u.name + " is being stopped"
		}
	}
	w := a.w
	switch {
	case step.State == restartpolicy.RuntimeDown && w.crio.answers() && (w.denied || w.tooLarge || w.crio.slow > 0):
		return "while only we cannot use it"
	case step.Kind == restartpolicy.RestartRuntime && w.Monitors && w.KillMode != "process":
		return "which ends every container"
	case step.Kind != restartpolicy.RestartRuntime && step.Kind != restartpolicy.RestartKubelet && !w.crio.answers():
		return "while CRI-O does not answer"
	case step.Kind == restartpolicy.StopSandbox && !w.kubelet.entered:
		return "while no kubelet would make it anew"
	}
	return ""
}

// holdOffs are those of the configuration.
func (a *agent) holdOffs(step restartpolicy.Step) string {
	w, hold := a.w, a.policy.HoldOffs
	now := w.sim.now
	kubelet := step.Kind == restartpolicy.RestartKubelet && step.State != restartpolicy.KubeletDown
	switch {
	case now-w.booted < hold.Boot.Duration:
		return "just after the boot"
	case kubelet && w.kubelet.unit.pid > 0 && now-w.kubelet.unit.started < hold.KubeletStart.Duration:
		return "just after the kubelet's start"
	case step.Kind == restartpolicy.RestartRuntime && w.crio.unit.pid > 0 && now-w.crio.unit.started < hold.RuntimeStart.Duration:
		return "just after CRI-O's start"
	case w.stepped > 0 && now-w.stepped < hold.ClockStep.Duration:
		return "just after a step of the clock"
	}
	return ""
}

// aboutPod is what forbids acts about one pod.
func (a *agent) aboutPod(step restartpolicy.Step) string {
	w := a.w
	if step.Key.Name == "" {
		return ""
	}
	if w.disk.unreadable {
		return "while the manifests cannot be read"
	}
	for _, f := range w.disk.files {
		if f.pod.fullName(w.kubelet.nodeName) != step.Key.PodName {
			continue
		}
		switch {
		case f.pod.OptOut:
			return "about a pod that has opted out"
		case step.State != restartpolicy.TwoGenerations && f.changed > 0 && w.sim.now-f.changed < a.policy.HoldOffs.ManifestChange.Duration:
			return "just after its manifest changed"
		}
		return ""
	}
	if w.kubelet.nodeName == "" {
		return ""
	}
	return "about a pod without a manifest"
}

// blocks is what a restart of the kubelet would come to.
func (a *agent) blocks(step restartpolicy.Step) string {
	w := a.w
	if step.Kind != restartpolicy.RestartKubelet {
		return ""
	}
	for _, k := range w.crio.calls {
		if w.sim.now-k.since > a.policy.Deadlines.HungCall.Duration+5*time.Second && w.crio.answers() {
			return "while an OCI " + k.verb + " is in flight, which the new process would wait for"
		}
	}
	if step.State == restartpolicy.KubeletDown {
		return ""
	}
	for _, sb := range w.crio.sandboxes {
		for _, k := range sb.containers {
			if k.ends > w.sim.now+20*time.Second && sb.pod != nil && sb.pod.Static && w.kubelet.pod(sb.uid) == nil {
				return fmt.Sprintf("while %s of %s uses its grace", k.spec.Name, sb.name)
			}
		}
	}
	for _, p := range w.kubelet.pods {
		if p.pod.Selector && p.reason == "" && !w.api && p.name != step.Key.PodName && w.sandboxOf(p.pod) != nil {
			return "which has " + p.name.Name + " rejected while the API server is away"
		}
	}
	return ""
}

// repeats is the same step again before it can have shown a result, or more often
// than the configuration allows.
func (a *agent) repeats(step restartpolicy.Step) string {
	conf := restartpolicy.StepOf(a.policy.Steps, step.Kind)
	times := 0
	for _, act := range a.acts[:len(a.acts)-1] {
		if act.Step.Kind != step.Kind || act.Step.Key != step.Key || act.Result == restartpolicy.ResultRefused {
			continue
		}
		age := a.w.sim.now - act.At
		switch {
		case act.Step.State == step.State && act.Step.Target == step.Target && act.Result != restartpolicy.ResultHealed && age < conf.Settle.Duration:
			return "again before it can have shown a result"
		case age < conf.Gap.Duration:
			return "again within its gap"
		case age < a.policy.BreakerReset.Duration && act.Step.State == step.State && act.Step.Target == step.Target && step.State != restartpolicy.Rejected:
			times++
		}
	}
	if times > 3 {
		return "for the same fault again and again"
	}
	return ""
}
