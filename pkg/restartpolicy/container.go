package restartpolicy

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// slowStart is how long a container may stay without a record, with nothing
// that explains it, before the pod's worker counts as stuck.
const slowStart = 20 * time.Minute

// futureLimit is how far in the future a record must be dated before its date
// counts as wrong.
const futureLimit = 30 * time.Second

// containers appends a judgement of each container of the manifest in the active
// sandbox.
func (p *pod) containers(out []finding) []finding {
	spec := &p.manifest.Pod.Spec
	phase := p.initPhase()
	for i := range spec.InitContainers {
		out = append(out, p.initContainer(i, phase))
	}
	for i := range spec.Containers {
		out = append(out, p.container(&spec.Containers[i], false, phase))
	}
	if f, ok := p.leftover(); ok {
		out = append(out, f)
	}
	return out
}

func (p *pod) find(c *corev1.Container, state State, detail string) finding {
	rec, _ := p.current.Newest(c.Name)
	return p.findOn(c, rec, state, detail)
}

// findOn is a finding about one record of a container.
func (p *pod) findOn(c *corev1.Container, rec node.Container, state State, detail string) finding {
	f := finding{key: Key{PodName: p.manifest.Name, Container: c.Name}, state: state, detail: detail, target: p.target(p.current)}
	f.target.ContainerID, f.target.Attempt = rec.ID, rec.Attempt
	if state != Healthy {
		f.about = &subjectOf{pod: p, container: c, rec: rec, sandbox: p.current}
	}
	return f
}

// container judges one container that should be running. A sidecar is
// restarted whatever its exit code.
func (p *pod) container(c *corev1.Container, always bool, phase initPhase) finding {
	rec, ok := p.current.Newest(c.Name)
	if rec.State != node.ContainerRunning && p.ended(c, always, phase) {
		return p.find(c, IntendedDown, "the pod has ended")
	}
	if !ok {
		if last, seen := p.newest(c.Name); seen && last.State == node.ContainerExited && !always {
			if f, wanted := p.wantedDown(c, last); wanted {
				return f
			}
		}
		return p.withoutRecord(c, phase)
	}
	if rec.State == node.ContainerExited && !always {
		if f, wanted := p.wantedDown(c, rec); wanted {
			return f
		}
	}
	if stale, ok := p.outOfOrder(c.Name, rec); ok {
		return p.outOfOrderFinding(c, rec, stale)
	}
	switch rec.State {
	case node.ContainerRunning:
		return p.running(c, rec)
	case node.ContainerExited:
		return p.exited(c, rec)
	case node.ContainerCreated:
		return p.created(c, rec)
	}
	return p.find(c, Unknown, "the runtime does not know what became of it: it may run")
}

// wantedDown tells a container that has exited and that its restart policy wants
// down, or may want.
func (p *pod) wantedDown(c *corev1.Container, rec node.Container) (finding, bool) {
	if rec.StatusUnknown && p.codeMatters(c) {
		return p.find(c, Unknown, "exited, and the runtime does not tell with which code"), true
	}
	if AfterExit(&p.manifest.Pod.Spec, c, rec.ExitCode, p.gates) == RestartNo {
		return p.find(c, IntendedDown, fmt.Sprintf("exit code %d: its restart policy wants it down", rec.ExitCode)), true
	}
	return finding{}, false
}

// created judges a newest record that was created and not started.
func (p *pod) created(c *corev1.Container, rec node.Container) finding {
	if call, ok := p.call(p.manifest.Name, begins, p.policy.Deadlines.HungCall.Duration); ok {
		return p.hung(c, call)
	}
	if reason, message, ok := p.reason(c.Name); ok && !ordinary(reason) {
		// It is at work: the start may still be in the runtime's hands.
		return p.startFailing(c, rec, reason, message)
	}
	f := p.findOn(c, rec, CreatedNotStarted, "created and not started")
	f.wait = p.policy.Deadlines.FirstCrash.Duration
	return f
}

// codeMatters tells that the exit code decides whether the container is
// started again.
func (p *pod) codeMatters(c *corev1.Container) bool {
	zero := AfterExit(&p.manifest.Pod.Spec, c, 0, p.gates)
	return len(c.RestartPolicyRules) > 0 || zero != AfterExit(&p.manifest.Pod.Spec, c, 1, p.gates)
}

// ended tells that the kubelet ends the pod, so that this container of it is
// not started again: an init container failed for good, or a sidecar outlived
// the regular containers.
func (p *pod) ended(c *corev1.Container, sidecar bool, phase initPhase) bool {
	if phase.failed {
		return p.manifest.Pod.Spec.InitContainers[phase.reached].Name != c.Name || sidecar || p.unknown(c)
	}
	return sidecar && p.finished()
}

// unknown tells that the runtime does not know what became of a container.
func (p *pod) unknown(c *corev1.Container) bool {
	rec, ok := p.current.Newest(c.Name)
	return ok && rec.State == node.ContainerUnknown
}

// finished tells that every regular container is down as its policy wants.
func (p *pod) finished() bool {
	spec := &p.manifest.Pod.Spec
	for i := range spec.Containers {
		rec, ok := p.current.Newest(spec.Containers[i].Name)
		if !ok || rec.State != node.ContainerExited || AfterExit(spec, &spec.Containers[i], rec.ExitCode, p.gates) != RestartNo {
			return false
		}
	}
	return true
}

func (p *pod) running(c *corev1.Container, rec node.Container) finding {
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

// leftover is an older record that is not dead beside a newer attempt: one
// that was created and never started, because kubelet or runtime died in
// between, and one that runs, because the runtime finished a start that the
// kubelet had given up. One at a time, of those that never started the oldest: the
// next look sees the rest.
func (p *pod) leftover() (finding, bool) {
	spec := &p.manifest.Pod.Spec
	newest := ""
	var oldest *node.Container
	for i := range p.current.Containers {
		rec := &p.current.Containers[i]
		if rec.Name != newest {
			newest = rec.Name
			continue
		}
		var f finding
		switch top, _ := p.current.Newest(rec.Name); {
		case rec.State == node.ContainerCreated:
			oldest = rec
			continue
		case rec.State == node.ContainerRunning && top.State == node.ContainerRunning && !rec.Process.Dead():
			f = p.findOn(containerOf(spec, rec.Name), *rec, DuplicateRunning, fmt.Sprintf("attempt %d runs beside attempt %d", rec.Attempt, top.Attempt))
		case rec.State == node.ContainerRunning && rec.Process.Dead() && !top.Process.Dead():
			f = p.findOn(containerOf(spec, rec.Name), *rec, StaleRunning, fmt.Sprintf("the runtime says attempt %d is running, its process %d is gone", rec.Attempt, rec.Process.PID))
		default:
			continue
		}
		f.key.Container = rec.Name
		f.wait = p.policy.Deadlines.FirstCrash.Duration
		return f, true
	}
	if oldest == nil {
		return finding{}, false
	}
	f := p.findOn(containerOf(spec, oldest.Name), *oldest, Leftover, fmt.Sprintf("attempt %d was created and never started, and is left over", oldest.Attempt))
	f.key.Container = oldest.Name
	f.wait, f.after = p.policy.Deadlines.FirstCrash.Duration, p.now()-p.ago(oldest.CreatedAt)
	return f, true
}

// containerOf is a container of the manifest, or an empty one for a record of
// another revision.
func containerOf(spec *corev1.PodSpec, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	return &corev1.Container{Name: name}
}

// withoutRecord judges a container that the runtime does not know (any more):
// the kubelet has yet to create it.
func (p *pod) withoutRecord(c *corev1.Container, phase initPhase) finding {
	st, viewed := p.status(c.Name)
	if viewed && st.State.Waiting != nil && !ordinary(st.State.Waiting.Reason) {
		return p.startFailing(c, node.Container{}, st.State.Waiting.Reason, st.State.Waiting.Message)
	}
	f := p.find(c, Starting, "not created yet")
	if p.view != nil {
		f.detail += ": " + waitingReason(p.view)
	} else if reason, message, ok := p.told(c.Name, 0); ok && !ordinary(reason) {
		return p.startFailing(c, node.Container{}, reason, message)
	}
	if phase.done || p.inTurn(c) {
		f.wait, f.overdue, f.after = slowStart, Forgotten, p.lastStart(p.current)
	}
	return f
}

// inTurn tells an init container whose predecessors are done.
func (p *pod) inTurn(c *corev1.Container) bool {
	before := p.initPhase().reached
	init := p.manifest.Pod.Spec.InitContainers
	if before >= 0 && sidecar(&init[before]) && !p.started(&init[before]) {
		return false
	}
	return before+1 < len(init) && init[before+1].Name == c.Name
}

// exited judges a container that is down and should be started again. The
// answer is "in back-off" with a time by which a working kubelet has started
// it; it is forgotten once that has passed.
func (p *pod) exited(c *corev1.Container, rec node.Container) finding {
	if call, ok := p.call(p.manifest.Name, begins, p.policy.Deadlines.HungCall.Duration); ok {
		return p.hung(c, call)
	}
	f := p.findOn(c, rec, InBackOff, fmt.Sprintf("exited with code %d", rec.ExitCode))
	if rec.ExitCode < 0 {
		f.detail = "exited, and its exit code is lost"
	}
	f.overdue = Forgotten
	if said, ok := p.snap.Kubelet.Told.Containers[rec.ID]; ok && said.Reason != "NotFound" && p.now()-said.At < blindSilence {
		f.state, f.overdue, f.wait = UnreadableRecord, "", p.policy.Deadlines.FirstCrash.Duration
		f.detail += "; the runtime does not tell the kubelet its status: " + firstLine(said.Message)
		return f
	}
	wait := p.backOff.Wait(rec.Attempt)
	if st, viewed := p.status(c.Name); viewed {
		if w := st.State.Waiting; w != nil {
			f.detail += "; kubelet: " + w.Reason
			if !ordinary(w.Reason) {
				return p.startFailing(c, rec, w.Reason, w.Message)
			}
			if b, ok := parseBackOff(w.Message); ok && w.Reason == "CrashLoopBackOff" {
				wait = b
			}
		}
		f.wait = p.downWait(wait)
	} else {
		f.wait = p.blindWait()
		if reason, message, ok := p.told(c.Name, p.ago(rec.FinishedAt)); ok {
			f.detail += "; the kubelet wrote: " + reason
			if !ordinary(reason) {
				return p.startFailing(c, rec, reason, message)
			}
		} else if p.snap.Kubelet.Told.Known() {
			f.wait = p.policy.Deadlines.FirstCrash.Duration + p.policy.Deadlines.Blind.Duration
		} else {
			f.detail += "; the kubelet's view is not to be had"
		}
	}
	f.wait = max(f.wait, p.volumesWait()) + p.siblingsGrace(c)
	if p.changedLately() {
		f.after = max(p.history.Kubelet.Since, p.history.Runtime.Since) // what they were at begins anew
	}
	return f
}

// told is the reason that the kubelet has written in its journal for a
// container, no longer ago than the container is down; 0 for any time.
func (p *pod) told(container string, down time.Duration) (reason, message string, ok bool) {
	said, ok := p.snap.Kubelet.Told.Pods[p.manifest.Name]
	if !ok || said.Container != "" && said.Container != container || down > 0 && p.now()-said.At > down+resyncLimit ||
		p.now()-said.At > blindSilence {
		return "", "", false
	}
	return cmp.Or(said.Reason, "Error"), said.Message, true
}

// siblingsGrace is how long the pod's worker may be busy with the end of a
// sibling: a probe failed, or its specification changed. Its steps are serial: it
// ends one after the other where the manifest has changed (kubelet
// pkg/kubelet/kuberuntime SyncPod, v1.37).
func (p *pod) siblingsGrace(c *corev1.Container) time.Duration {
	longest, all := time.Duration(0), time.Duration(0)
	for i := range p.current.Containers {
		rec := &p.current.Containers[i]
		if rec.Name == c.Name || rec.State != node.ContainerRunning {
			continue
		}
		own := max(p.grace, rec.Grace)
		sibling := containerOf(&p.manifest.Pod.Spec, rec.Name)
		for _, probe := range []*corev1.Probe{sibling.LivenessProbe, sibling.StartupProbe} {
			if probe != nil && probe.TerminationGracePeriodSeconds != nil {
				own = max(own, time.Duration(*probe.TerminationGracePeriodSeconds)*time.Second)
			}
		}
		longest, all = max(longest, own), all+own
	}
	if p.changedLately() {
		return all
	}
	return longest
}

// changedLately tells that the kubelet may still be at what a change of the
// manifest led to.
func (p *pod) changedLately() bool { return p.seen.Changed && p.now()-p.seen.Since < hour }

// volumesWait is how long the kubelet may be silent while it waits for volumes
// of the pod that need the API server or a driver; 0 if it has none.
func (p *pod) volumesWait() time.Duration {
	for i := range p.manifest.Pod.Spec.Volumes {
		if v := &p.manifest.Pod.Spec.Volumes[i]; v.HostPath == nil && v.EmptyDir == nil && v.DownwardAPI == nil && v.Image == nil {
			return blindSilence
		}
	}
	return 0
}

// reason is what the kubelet says of a container, in its view or its journal.
func (p *pod) reason(container string) (reason, message string, ok bool) {
	if st, viewed := p.status(container); viewed {
		if w := st.State.Waiting; w != nil {
			return w.Reason, w.Message, true
		}
		return "", "", false
	}
	if said, heard := p.snap.Kubelet.Told.Pods[p.manifest.Name]; heard && p.now()-said.At < blindSilence && (said.Container == "" || said.Container == container) {
		return cmp.Or(said.Reason, "Error"), said.Message, true
	}
	return "", "", false
}

// downWait turns a back-off into the time after which a container that is
// still down has been forgotten.
func (p *pod) downWait(backOff time.Duration) time.Duration {
	if backOff == 0 {
		return p.policy.Deadlines.FirstCrash.Duration
	}
	return max(p.policy.Deadlines.FirstCrash.Duration, backOff+p.policy.Deadlines.BackOffSlack.Duration)
}

// blindWait is the same where nobody tells the back-off.
func (p *pod) blindWait() time.Duration {
	return p.backOff.Max + resyncLimit + p.policy.Deadlines.Blind.Duration
}

// startFailing reports a container that the kubelet tries to start in vain.
// Only a runtime that lost its way has a cure.
func (p *pod) startFailing(c *corev1.Container, rec node.Container, reason, message string) finding {
	f := p.findOn(c, rec, StartFailing, "kubelet: "+reason+": "+firstLine(message))
	f.wait = p.policy.Deadlines.StartFailing.Duration
	return f
}

// runtimesFault tells a reason that speaks against the runtime: creations or
// starts that time out, or a name that stays reserved.
func runtimesFault(detail string) bool {
	return (strings.Contains(detail, "CreateContainerError") || strings.Contains(detail, "RunContainerError")) &&
		(strings.Contains(detail, "context deadline exceeded") || strings.Contains(detail, "is reserved"))
}

// hung reports a container that waits for an OCI runtime call which takes too
// long.
func (p *pod) hung(c *corev1.Container, call node.RuntimeCall) finding {
	f := p.find(c, StartHung, callText(call))
	f.from = p.now() - call.Age
	f.wait = p.policy.Deadlines.HungStart.Duration
	return f
}

// outOfOrder finds a dead record that a kubelet takes for the newest one because
// its creation date is later than that of a higher attempt: the clock ran
// backwards in between (kubernetes/kubernetes#83050). The kubelet orders
// records by date only.
func (p *pod) outOfOrder(name string, newest node.Container) (node.Container, bool) {
	for i := range p.current.Containers {
		c := &p.current.Containers[i]
		if c.Name == name && c.Attempt < newest.Attempt && c.State == node.ContainerExited && c.CreatedAt.After(newest.CreatedAt) {
			return *c, true
		}
	}
	if newest.State == node.ContainerExited && newest.FinishedAt.After(p.snap.Taken.Wall.Add(futureLimit)) {
		return newest, true
	}
	return node.Container{}, false
}

// outOfOrderFinding acts on such a record only when the kubelet itself reports
// that it cannot start the container; a container that runs, also in the
// kubelet's eyes, is left alone. A kubelet that takes a running container for a
// dead one says in turn RunContainerError and CrashLoopBackOff, for it backs off
// from starts that cannot succeed (measured with 1.37.2). A date in the future on
// the newest record only means waiting, and ends like any other wait.
func (p *pod) outOfOrderFinding(c *corev1.Container, newest, stale node.Container) finding {
	if stale.ID == newest.ID {
		f := p.exited(c, newest)
		f.detail += "; its end is dated in the future"
		return f
	}
	reason := ""
	if st, viewed := p.status(c.Name); viewed && st.State.Waiting != nil {
		reason = st.State.Waiting.Reason
	} else if said, _, ok := p.told(c.Name, 0); ok && p.view == nil {
		reason = said
	}
	if ordinary(reason) && !(reason == "CrashLoopBackOff" && newest.State == node.ContainerRunning) {
		if newest.State == node.ContainerRunning {
			return p.running(c, newest)
		}
		return p.exited(c, newest)
	}
	f := p.findOn(c, stale, OutOfOrder, fmt.Sprintf("attempt %d is dated later than attempt %d: the clock ran backwards", stale.Attempt, newest.Attempt))
	f.wait, f.newest = p.policy.Deadlines.Inverted.Duration, &newest
	return f
}
