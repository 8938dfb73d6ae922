package restartpolicy

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// oldGeneration finds an old revision that still runs beside the new one: what
// a restart of the kubelet leaves behind when it cannot reach its API server
// (kubernetes/kubernetes#112814).
func (p *pod) oldGeneration() (finding, bool) {
	if p.current == nil || !p.current.Ready || len(p.current.Containers) == 0 || len(p.old) == 0 {
		return finding{}, false
	}
	// One at a time: the next look sees the rest.
	sb := p.old[0]
	f := p.whole(TwoGenerations, sb, "sandbox "+short(sb.ID)+" of old UID "+short(sb.UID)+" runs beside the new revision")
	f.wait = f.target.Grace + p.policy.Deadlines.TwoGenerations.Duration
	p.stopHangs(&f)
	return f, true
}

// notBegun finds a manifest whose current generation has no sandbox yet, or has
// failed as a whole.
func (p *pod) notBegun() (finding, bool) {
	dl := p.policy.Deadlines
	if p.foreign {
		return finding{key: Key{PodName: p.manifest.Name}, state: Unknown,
			detail: "a sandbox of that name runs that is not known to come from a manifest"}, true
	}
	if p.view != nil && p.view.Phase == corev1.PodFailed {
		if why := p.failedAsWanted(); why != "" {
			return p.whole(IntendedDown, p.current, why), true
		}
		if len(p.view.Statuses) == 0 || p.failedInVain() {
			f := p.whole(Rejected, p.current, "the kubelet rejected it ("+p.view.Reason+") and does not retry")
			f.wait = dl.Rejected.Duration
			return f, true
		}
	}
	switch {
	case p.current != nil && p.notRead():
		f := p.whole(ManifestNotRead, p.current, "the kubelet goes on with old UID "+short(p.current.UID))
		f.wait = f.target.Grace + dl.NeverStarted.Duration
		return f, true
	case p.current != nil:
		return finding{}, false
	case p.view != nil && p.view.UID != p.uid && len(p.old) > 0 && len(p.view.Statuses) > 0:
		f := p.whole(ManifestNotRead, p.old[0], "the kubelet goes on with UID "+short(p.view.UID)+", and the manifest names another")
		f.wait = f.target.Grace + dl.NeverStarted.Duration
		return f, true
	case p.view != nil && len(p.view.Statuses) > 0:
		// The kubelet works on it: a sandbox that cannot be created, a volume
		// that cannot be mounted. A restart cures none of them.
		return finding{key: Key{PodName: p.manifest.Name}, state: Starting, target: p.target(nil),
			detail: "the kubelet is creating it: " + waitingReason(p.view)}, true
	case len(p.old) > 0:
		return p.waits(), true
	}
	if reason := p.rejected(); reason != "" && p.view == nil {
		f := p.whole(Rejected, nil, "the kubelet wrote that it rejected it ("+reason+"), and does not retry")
		f.wait = dl.Rejected.Duration
		return f, true
	}
	if p.seen.Ran && p.mayEnd() {
		return finding{key: Key{PodName: p.manifest.Name}, state: Unknown,
			detail: "it ran, its sandbox is gone, and whether its restart policy wants it down is not known"}, true
	}
	f := p.whole(NeverStarted, nil, "the kubelet has not begun to run it")
	f.wait = p.grace + dl.NeverStarted.Duration
	if said, refused := p.refusal(p.manifest); refused {
		f.state, f.detail, f.wait = ManifestBad, "the kubelet refuses it: "+firstLine(said.Message), 0
	} else if said, ok := p.snap.Kubelet.Told.Pods[p.manifest.Name]; ok && p.view == nil {
		f.detail += "; it wrote: " + cmp.Or(said.Reason, firstLine(said.Message))
	}
	return f, true
}

// waits judges a pod of which only other generations are there.
func (p *pod) waits() finding {
	dl := p.policy.Deadlines
	old := p.old[0]
	f := p.whole(WaitingForOld, old, "the new revision waits for old UID "+short(old.UID))
	f.target.UID = p.uid
	for _, sb := range p.old {
		if newer, why := (&subjectOf{pod: p, sandbox: sb}).newer(); newer != node.Yes {
			return finding{key: f.key, state: Unknown, detail: "cannot tell which generation the manifest stands for: " + why}
		}
	}
	f.wait = f.target.Grace + dl.NeverStarted.Duration
	// A kubelet that starts, or whose calls the runtime's end has broken off,
	// begins the stop anew, with the whole grace.
	// And what its worker has just started it can only end now.
	f.after = max(p.history.Kubelet.Since, p.history.Runtime.Since, p.lastStart(old))
	if c, down := p.firstDown(old); down {
		f.down = true
		f.detail += ", whose container " + c + " has exited"
		f.wait = f.target.Grace + dl.WaitingForOld.Duration
	}
	p.stopHangs(&f)
	return f
}

// stopHangs makes the finding about an old generation one about its stop, where
// that hangs in the runtime.
func (p *pod) stopHangs(f *finding) {
	if call, hung := p.call(p.manifest.Name, ends, p.policy.Deadlines.HungCall.Duration); hung {
		f.state = StopHung
		f.detail += "; " + callText(call)
	}
}

// notRead tells that the kubelet itself lists, as what runs, a generation that
// the manifest does not describe any more.
func (p *pod) notRead() bool {
	return p.view != nil && p.manifest.Pod.UID == "" && (p.contradicts(p.current) != "" || slices.Contains(p.seen.Before, p.current.UID))
}

// mayEnd tells a pod whose restart policy, or that of a container, may want it
// down for good.
func (p *pod) mayEnd() bool {
	spec := &p.manifest.Pod.Spec
	if spec.RestartPolicy != "" && spec.RestartPolicy != corev1.RestartPolicyAlways {
		return true
	}
	return slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return c.RestartPolicy != nil })
}

// rejected is the reason for which the kubelet rejected the pod at admission, or
// "": as its view says, or its journal.
func (p *pod) rejected() string {
	if p.view != nil {
		return p.view.Reason
	}
	if said, ok := p.snap.Kubelet.Told.Pods[p.manifest.Name]; ok && admission(said.Reason) {
		return said.Reason
	}
	return p.seen.Rejected
}

// admission tells reasons that only a rejection has.
func admission(reason string) bool {
	if strings.HasPrefix(reason, "OutOf") || strings.HasPrefix(reason, "PodOS") || strings.HasPrefix(reason, "Pod") && strings.HasSuffix(reason, "NotSupported") {
		return true
	}
	return slices.Contains([]string{"UnexpectedAdmissionError", "NodeAffinity", "NodePorts", "NodeName", "TaintToleration", "InvalidNodeInfo",
		"TopologyAffinityError", "AppArmor", "SysctlForbidden", "NodeShutdown", "Evicted", "Preempting", "InitContainerRestartPolicyForbidden",
		"SupplementalGroupsPolicyNotSupported", "UserNamespacesNotSupported"}, reason)
}

// portTakenBy names another static pod that wants a host port of this one.
func (p *pod) portTakenBy() string {
	own := hostPorts(&p.manifest.Pod.Spec)
	for i := range p.snap.Intent.Pods {
		m := &p.snap.Intent.Pods[i]
		if m.Name == p.manifest.Name {
			continue
		}
		if _, taken := conflict(own, hostPorts(&m.Pod.Spec)); taken {
			return m.Name.String()
		}
	}
	return ""
}

// failedAsWanted says why a failed pod has ended as its manifest wants, or "".
func (p *pod) failedAsWanted() string {
	if p.view.Reason == "DeadlineExceeded" && p.manifest.Pod.Spec.ActiveDeadlineSeconds != nil {
		return "its activeDeadlineSeconds are over"
	}
	const initFailed = "an init container failed, and its restart policy wants the pod down"
	if p.current != nil && p.initPhase().failed {
		return initFailed
	}
	// Its records may be gone: the kubelet still says how it ended.
	for i := range p.manifest.Pod.Spec.InitContainers {
		c := &p.manifest.Pod.Spec.InitContainers[i]
		st, ok := p.status(c.Name)
		if ok && !sidecar(c) && st.State.Terminated != nil && st.State.Terminated.ExitCode != 0 &&
			!p.initRestarts(c, node.Container{ExitCode: st.State.Terminated.ExitCode}) {
			return initFailed
		}
	}
	return ""
}

// failedInVain tells a pod that is Failed for the kubelet although one of its
// containers should be started again: it was pre-empted, or a shutdown that was
// cancelled ended it. The kubelet does not come back to it.
func (p *pod) failedInVain() bool {
	wanted := false
	spec := &p.manifest.Pod.Spec
	if p.current != nil && slices.ContainsFunc(p.current.Containers, func(c node.Container) bool {
		return c.State == node.ContainerRunning || c.State == node.ContainerUnknown
	}) {
		return false
	}
	for i := range spec.Containers {
		rec, ok := p.newest(spec.Containers[i].Name)
		wanted = wanted || !ok || AfterExit(spec, &spec.Containers[i], rec.ExitCode, p.gates) != RestartNo
	}
	return wanted
}

// newest is the newest record of a container of this generation, also in an older
// sandbox of it, or what the kubelet says of its end where the record is gone. The
// kubelet starts none that has done its part (kubelet pkg/kubelet/kuberuntime
// computePodActions, v1.37).
func (p *pod) newest(name string) (node.Container, bool) {
	if p.current != nil {
		if rec, ok := p.current.Newest(name); ok {
			return rec, true
		}
	}
	var newest node.Container
	attempt := int64(-1)
	for _, sb := range p.sandboxes {
		if rec, ok := sb.Newest(name); ok && p.uid != "" && sb.UID == p.uid && int64(sb.Attempt) > attempt {
			newest, attempt = rec, int64(sb.Attempt)
		}
	}
	if attempt >= 0 {
		return newest, true
	}
	if st, ok := p.status(name); ok && st.State.Terminated != nil {
		return node.Container{Name: name, State: node.ContainerExited, ExitCode: st.State.Terminated.ExitCode}, true
	}
	return node.Container{}, false
}

// firstDown names a container of another generation that is down; an init
// container that has done its part is not.
func (p *pod) firstDown(sb *node.Sandbox) (string, bool) {
	last := ""
	for i := range sb.Containers {
		c := &sb.Containers[i]
		if c.Name == last {
			continue
		}
		last = c.Name
		if c.State == node.ContainerExited && !p.plainInit(c.Name) {
			return c.Name, true
		}
	}
	return "", false
}

func (p *pod) plainInit(name string) bool {
	for i := range p.manifest.Pod.Spec.InitContainers {
		if c := &p.manifest.Pod.Spec.InitContainers[i]; c.Name == name {
			return !sidecar(c)
		}
	}
	return false
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
