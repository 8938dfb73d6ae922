package restartpolicy

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// containers judges each container of the manifest in the active sandbox.
func (p *podFacts) containers() []finding {
	spec := &p.manifest.Pod.Spec
	out := make([]finding, 0, len(spec.InitContainers)+len(spec.Containers))
	phase := p.initPhase()
	for i := range spec.InitContainers {
		out = append(out, p.initContainer(i, phase))
	}
	for i := range spec.Containers {
		out = append(out, p.container(&spec.Containers[i], false, phase))
	}
	return out
}

func (p *podFacts) find(c *corev1.Container, state State, detail string) finding {
	f := finding{
		key:   Key{PodName: p.manifest.Name, Container: c.Name},
		state: state, detail: detail, target: p.target(p.current), ladder: ladderFor(state),
	}
	if rec, ok := p.current.Newest(c.Name); ok {
		f.target.ContainerID, f.target.Attempt = rec.ID, rec.Attempt
	}
	return f
}

// container judges one container that should be running. A sidecar is
// restarted whatever its exit code.
func (p *podFacts) container(c *corev1.Container, always bool, phase initPhase) finding {
	rec, ok := p.current.Newest(c.Name)
	if rec.State != node.ContainerRunning && p.ended(c, always, phase) {
		return p.find(c, IntendedDown, "the pod has ended")
	}
	if !ok {
		return p.withoutRecord(c, phase)
	}
	if stale, ok := p.inverted(c.Name, rec); ok {
		return p.invertedFinding(c, rec, stale)
	}
	switch rec.State {
	case node.ContainerRunning:
		return p.running(c, rec)
	case node.ContainerExited:
		if rec.StatusUnknown && !always && p.codeMatters(c) {
			return p.find(c, Unknown, "exited, and the runtime does not tell with which code")
		}
		if !always && AfterExit(&p.manifest.Pod.Spec, c, rec.ExitCode, p.gates) == RestartNo {
			return p.find(c, IntendedDown, fmt.Sprintf("exit code %d: its restart policy wants it down", rec.ExitCode))
		}
		return p.exited(c, rec)
	}
	if call, ok := p.lateCall(p.manifest.Name, rec.ID); ok {
		return p.hung(c, call)
	}
	f := p.find(c, Husk, "created and not started")
	f.wait = p.policy.Deadlines.FirstCrash.Duration
	return f
}

// codeMatters tells that the exit code decides whether the container is
// started again.
func (p *podFacts) codeMatters(c *corev1.Container) bool {
	zero := AfterExit(&p.manifest.Pod.Spec, c, 0, p.gates)
	return len(c.RestartPolicyRules) > 0 || zero != AfterExit(&p.manifest.Pod.Spec, c, 1, p.gates)
}

// ended tells that the kubelet ends the pod, so that this container of it is
// not started again: an init container failed for good, or a sidecar outlived
// the regular containers.
func (p *podFacts) ended(c *corev1.Container, sidecar bool, phase initPhase) bool {
	if phase.failed {
		return p.manifest.Pod.Spec.InitContainers[phase.reached].Name != c.Name || sidecar || p.unknown(c)
	}
	return sidecar && p.finished()
}

// unknown tells that the runtime does not know what became of a container.
func (p *podFacts) unknown(c *corev1.Container) bool {
	rec, ok := p.current.Newest(c.Name)
	return ok && rec.State == node.ContainerUnknown
}

// finished tells that every regular container is down as its policy wants.
func (p *podFacts) finished() bool {
	spec := &p.manifest.Pod.Spec
	for i := range spec.Containers {
		rec, ok := p.current.Newest(spec.Containers[i].Name)
		if !ok || rec.State != node.ContainerExited || AfterExit(spec, &spec.Containers[i], rec.ExitCode, p.gates) != RestartNo {
			return false
		}
	}
	return true
}

func (p *podFacts) running(c *corev1.Container, rec node.Container) finding {
	switch {
	case rec.Process.Frozen:
		return p.find(c, Frozen, "its cgroup is frozen: thaw it, or stop the container, by hand")
	case rec.Process.Dead():
		f := p.find(c, StaleRunning, fmt.Sprintf("the runtime says running, process %d is gone", rec.Process.PID))
		f.wait = p.policy.Deadlines.StaleRunning.Duration
		return f
	case rec.Process.State == node.ProcessGone || rec.Process.State == node.ProcessZombie:
		return p.find(c, Unknown, fmt.Sprintf("process %d is gone, others of its cgroup live", rec.Process.PID))
	}
	return p.find(c, Healthy, "")
}

// withoutRecord judges a container that the runtime does not know (any more).
func (p *podFacts) withoutRecord(c *corev1.Container, phase initPhase) finding {
	if st, ok := p.status(c); ok && phase.done && (st.RestartCount > 0 || st.LastTerminationState.Terminated != nil || st.State.Terminated != nil) {
		f := p.find(c, InBackOff, "it ran before, and its record is gone")
		f.wait, f.ladder = p.downWait(p.backOff.Max), ladderFor(Forgotten)
		return f
	}
	f := p.find(c, Starting, "not created yet")
	if p.view != nil {
		f.detail += ": " + waitingReason(p.view)
	}
	return f
}

// exited judges a container that is down and should be started again. The
// answer is "in back-off" with a time by which a working kubelet has started
// it; Judge calls it forgotten once that has passed.
func (p *podFacts) exited(c *corev1.Container, rec node.Container) finding {
	f := p.find(c, InBackOff, fmt.Sprintf("exited with code %d", rec.ExitCode))
	if rec.ExitCode < 0 {
		f.detail = "exited, and its exit code is lost"
	}
	f.ladder = ladderFor(Forgotten)
	wait := p.backOff.Wait(rec.Attempt)
	st, viewed := p.status(c)
	switch {
	case !viewed:
		wait = p.backOff.Max
		f.detail += "; the kubelet's view is not to be had"
	case st.State.Waiting != nil:
		reason := st.State.Waiting.Reason
		f.detail += "; kubelet: " + reason
		switch {
		case reason == "CrashLoopBackOff":
			if b, ok := parseBackOff(st.State.Waiting.Message); ok {
				wait = b
			}
		case startFailure(reason):
			return p.startFailing(f, reason, st.State.Waiting.Message)
		}
	}
	if call, ok := p.lateCall(p.manifest.Name, ""); ok {
		return p.hung(c, call)
	}
	f.wait = p.downWait(wait)
	return f
}

// downWait turns a back-off into the time after which a container that is
// still down has been forgotten.
func (p *podFacts) downWait(backOff time.Duration) time.Duration {
	if p.view == nil {
		return backOff + resyncLimit + p.policy.Deadlines.Blind.Duration
	}
	if backOff == 0 {
		return p.policy.Deadlines.FirstCrash.Duration
	}
	return max(p.policy.Deadlines.FirstCrash.Duration, backOff+p.policy.Deadlines.BackOffSlack.Duration)
}

func (p *podFacts) status(c *corev1.Container) (corev1.ContainerStatus, bool) {
	if p.view == nil || p.view.UID != p.uid {
		return corev1.ContainerStatus{}, false
	}
	return p.view.Status(c.Name)
}

// startFailure tells a waiting reason that means: the kubelet tries, and
// fails. pkg/kubelet/kubelet_pods.go, v1.37.
func startFailure(reason string) bool {
	switch reason {
	case "RunContainerError", "CreateContainerError", "CreateContainerConfigError",
		"PreStartHookError", "PostStartHookError", "PreCreateHookError",
		"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
		"CreatePodSandboxError", "ConfigPodSandboxError":
		return true
	}
	return false
}

// startFailing reports a container that the kubelet tries to start in vain.
// Only a runtime that lost its way has a cure: creations that time out, or a
// name that stays reserved.
func (p *podFacts) startFailing(f finding, reason, message string) finding {
	f.state, f.ladder = StartFailing, nil
	f.detail += ": " + firstLine(message)
	if reason == "CreateContainerError" &&
		(strings.Contains(message, "context deadline exceeded") || strings.Contains(message, "is reserved")) {
		f.ladder = ladderFor(StartFailing)
		f.wait = p.policy.Deadlines.StartFailing.Duration
	}
	return f
}

// hung reports a container that waits for an OCI runtime call which takes too
// long. A restart of the kubelet would make it worse: a kubelet that starts
// while a call hangs looks after no pod at all.
func (p *podFacts) hung(c *corev1.Container, call node.RuntimeCall) finding {
	f := p.find(c, StartHung, fmt.Sprintf("runtime call %s (process %d) has been running for %s", call.Verb, call.PID, since(call.Age)))
	f.from = p.snap.Taken.Boot - call.Age
	f.wait = p.policy.Deadlines.HungStart.Duration
	return f
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s[:min(160, len(s))]
}
