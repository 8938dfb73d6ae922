package restartpolicy

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// oldGenerations finds old revisions that still run beside the new one: what
// a restart of the kubelet leaves behind when it cannot reach its API server
// (kubernetes/kubernetes#112814).
func (p *podFacts) oldGenerations() []finding {
	if p.current == nil || !p.current.Ready || len(p.current.Containers) == 0 {
		return nil
	}
	var out []finding
	if len(p.old) > 0 {
		// One at a time: the next look sees the rest.
		sb := p.old[0]
		t := p.target(sb)
		out = append(out, finding{
			key:    Key{PodName: p.manifest.Name},
			state:  TwoGenerations,
			detail: "sandbox " + short(sb.ID) + " of old UID " + short(sb.UID) + " runs beside the new revision",
			wait:   t.Grace + p.policy.Deadlines.TwoGenerations.Duration,
			ladder: ladderFor(TwoGenerations),
			target: t,
		})
	}
	return out
}

// notBegun finds a manifest whose current generation has no sandbox yet.
func (p *podFacts) notBegun() (finding, bool) {
	f := finding{key: Key{PodName: p.manifest.Name}, target: p.target(nil)}
	dl := p.policy.Deadlines
	switch {
	case p.view != nil && p.view.Phase == corev1.PodFailed && (len(p.view.Statuses) == 0 || p.failedInVain()):
		f.state, f.detail = Rejected, "the kubelet rejected it ("+p.view.Reason+") and does not retry"
		f.wait, f.ladder = dl.Rejected.Duration, ladderFor(Rejected)
	case p.current != nil:
		return f, false
	case len(p.olds()) > 0 && p.waits():
		old := p.olds()[0]
		f.state, f.ladder = WaitingForOld, ladderFor(WaitingForOld)
		f.target = p.target(old)
		f.target.UID = p.uid
		f.detail = "the new revision waits for old UID " + short(old.UID)
		f.wait = f.target.Grace + dl.NeverStarted.Duration
		if c, down := firstExited(old); down {
			f.detail += ", whose container " + c + " has exited"
			f.wait = f.target.Grace + dl.WaitingForOld.Duration
		}
		if call, hung := p.hungStop(old); hung {
			f.detail += "; runtime call " + call.Verb + " hangs"
			f.ladder = ladderForHungStop()
		}
	case len(p.olds()) > 0:
		return f, false
	default:
		f.state, f.detail = NeverStarted, "the kubelet has not begun to run it"
		f.wait, f.ladder = p.grace+dl.NeverStarted.Duration, ladderFor(NeverStarted)
		if p.view != nil && len(p.view.Statuses) > 0 {
			// The kubelet works on it: a sandbox that cannot be created, a
			// volume that cannot be mounted. A restart cures none of them.
			f.state, f.ladder = Starting, nil
			f.detail = "the kubelet is creating it: " + waitingReason(p.view)
		}
	}
	return f, true
}

// failedInVain tells a pod that is Failed for the kubelet although one of its
// containers should be started again: it was pre-empted, or a shutdown that was
// cancelled ended it. The kubelet does not come back to it.
func (p *podFacts) failedInVain() bool {
	if p.current == nil {
		return true
	}
	wanted := false
	spec := &p.manifest.Pod.Spec
	for i := range spec.Containers {
		rec, ok := p.current.Newest(spec.Containers[i].Name)
		if ok && rec.State == node.ContainerRunning {
			return false
		}
		wanted = wanted || !ok || AfterExit(spec, &spec.Containers[i], rec.ExitCode, p.gates) != RestartNo
	}
	return wanted
}

// olds are the sandboxes that block a new generation: those of another UID
// that are still ready, or any ready one while the current UID is unknown.
func (p *podFacts) olds() []*node.Sandbox {
	if p.uid != "" {
		return p.old
	}
	var out []*node.Sandbox
	for _, sb := range p.sandboxes {
		if sb.Ready && sb.Static() {
			out = append(out, sb)
		}
	}
	return out
}

// waits tells whether the new revision is known to be held back: the kubelet
// lists it without statuses; or, without a view, its sources are not ready and
// the manifest is younger than every sandbox.
func (p *podFacts) waits() bool {
	if p.view != nil {
		return len(p.view.Statuses) == 0
	}
	if !p.snap.Kubelet.View.SourcesNotReady {
		return false
	}
	for _, sb := range p.olds() {
		if !sb.CreatedAt.Before(p.manifest.Modified) {
			return false
		}
	}
	return true
}

func (p *podFacts) hungStop(old *node.Sandbox) (node.RuntimeCall, bool) {
	for _, call := range p.snap.Runtime.Calls {
		if call.Age <= p.policy.Deadlines.HungCall.Duration || (call.Verb != "kill" && call.Verb != "delete") {
			continue
		}
		if call.ContainerID == old.ID {
			return call, true
		}
		for _, c := range old.Containers {
			if c.ID == call.ContainerID {
				return call, true
			}
		}
	}
	return node.RuntimeCall{}, false
}

// firstExited names a container whose newest record has exited.
func firstExited(sb *node.Sandbox) (string, bool) {
	last := ""
	for _, c := range sb.Containers {
		if c.Name == last {
			continue
		}
		last = c.Name
		if c.State == node.ContainerExited {
			return c.Name, true
		}
	}
	return "", false
}

func waitingReason(v *node.PodView) string {
	for _, s := range v.Statuses {
		if w := s.State.Waiting; w != nil && w.Reason != "" {
			return w.Reason
		}
	}
	return "no reason given"
}

// short is the part of an ID that people recognise.
func short(id string) string { return id[:min(13, len(id))] }
