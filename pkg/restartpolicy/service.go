package restartpolicy

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// runtimeProbe is how long the runtime must be silent to a probe before its
// own process, which runs, counts as hung: the kubelet itself waits as long for
// a call.
const runtimeProbe = 2 * time.Minute

// runtime judges the container runtime itself.
func (x *index) runtime() finding {
	r := &x.snap.Runtime
	f := finding{key: Key{Container: cmp.Or(r.Unit.Name, "runtime")}, state: Healthy, target: Target{Process: r.Unit.ProcessStarted}}
	if call, late := x.lateCall(); late && r.Err == nil && (x.blocked() || stopped(x.snap.Kubelet.Unit.ProcessState)) {
		f.state, f.detail = StartHung, callText(call)+", and holds back a kubelet that starts"
		f.from, f.wait = x.now()-call.Age, x.policy.Deadlines.HungStart.Duration
		return f
	}
	switch {
	case StoppedOnPurpose(r.Unit):
		f.state, f.detail = IntendedDown, "somebody stopped it ("+unitText(r.Unit)+")"
	case r.Err != nil:
		f.state, f.detail = RuntimeDown, "CRI does not answer: "+firstLine(r.Err.Error())
		f.wait = x.policy.Deadlines.RuntimeDown.Duration
		if r.Unit.ActiveState == "active" && !bySignal(r.Unit.ProcessState) {
			f.wait = max(f.wait, runtimeProbe)
		}
	}
	return f
}

func (q question) runtimeFault() (node.Answer, string) {
	u := q.snap.Runtime.Unit
	switch {
	case u.Err != nil:
		return node.Unknown, "its unit cannot be seen"
	case u.JobPending || u.ActiveState == "deactivating" || u.ActiveState == "activating" || u.ActiveState == "reloading":
		return node.No, "systemd is at it: " + unitText(u)
	case u.ActiveState == "failed":
		return node.Yes, unitText(u)
	case u.ActiveState == "active" && bySignal(u.ProcessState):
		return node.Yes, "its process is in state " + u.ProcessState
	case q.snap.Runtime.Silent > 0:
		// As long as the fault lasts, less the time until a probe was begun.
		whole := min(runtimeProbe, q.now()-q.fault.Since) - 2*q.snap.Interval - blindSlack
		return node.AnswerOf(q.snap.Runtime.Silent >= whole), "silent to a probe for " + span(q.snap.Runtime.Silent)
	}
	return node.Unknown, "it does not answer us; whether it answers the kubelet is not known"
}

// kubelet judges the kubelet itself. Whoever lists pods, or even refuses to,
// lives: a health check may be switched off, or late on a busy node.
func (x *index) kubelet() finding {
	k := &x.snap.Kubelet
	u := k.Unit
	f := finding{key: Key{Container: cmp.Or(u.Name, "kubelet")}, state: Healthy, target: Target{Process: kubeletStarted(x.snap)}}
	down := func(detail string) finding {
		f.state, f.detail, f.wait = KubeletDown, detail, x.policy.Deadlines.KubeletDown.Duration
		return f
	}
	alive := k.View.Known() || k.View.Answered || k.View.SourcesNotReady
	switch {
	case x.blocked():
		f = down("it runs and lists none of the static pods that run: its start-up is blocked")
		f.wait += x.longestGrace()
		return f
	case alive && u.Err == nil && u.Restarts > 0 && x.now()-u.ProcessStarted < steadyAge:
		return down(fmt.Sprintf("systemd has restarted it %d times, last %s ago", u.Restarts, span(x.now()-u.ProcessStarted)))
	case alive:
	case u.Err != nil:
		f.state, f.detail = Unknown, "its unit cannot be seen: "+firstLine(u.Err.Error())
		if k.Healthy {
			f.state = Healthy
		}
	case StoppedOnPurpose(u):
		f.state, f.detail = IntendedDown, "somebody stopped it ("+unitText(u)+"): systemctl start "+f.key.Container+" brings it back"
		if u.LastJob.Err != nil {
			f.detail += "; what systemd did to it cannot be told: " + firstLine(u.LastJob.Err.Error())
		}
	case lostToDependency(u):
		return down("a unit that it requires did not start, and systemd does not try it again (" + unitText(u) + ")")
	case u.LoadState == "not-found":
		f.state, f.detail = Unknown, "there is no such unit: set kubelet.unit to the one that the kubelet runs in"
		if k.Process.Unit != "" {
			f.detail += ", " + k.Process.Unit
		}
	case u.ActiveState != "active":
		return down("its unit is " + unitText(u))
	case stopped(u.ProcessState):
		return down("its process is in state " + u.ProcessState)
	case !k.Healthy && x.snap.Settings.HealthzURL == "" && x.snap.Settings.Version != "":
		f.detail = "it runs; whether it works cannot be asked (healthzPort is 0, and no view of its pods)"
	case !k.Healthy:
		return down("it answers neither its health check nor a list of its pods")
	case u.Restarts > 0 && x.now()-u.ProcessStarted < steadyAge:
		return down(fmt.Sprintf("systemd has restarted it %d times, last %s ago", u.Restarts, span(x.now()-u.ProcessStarted)))
	}
	return f
}

// steadyAge is how old the kubelet's process must be before a unit that
// systemd restarts again and again counts as up.
const steadyAge = 20 * time.Second

func (q question) kubeletFault() (node.Answer, string) {
	k := q.snap.Kubelet
	u := k.Unit
	switch {
	case q.blocked():
		return node.Yes, "it lists none of the static pods that run"
	case u.Err != nil:
		return node.Unknown, "its unit cannot be seen"
	case u.JobPending || u.ActiveState == "activating" || u.ActiveState == "deactivating" || u.ActiveState == "reloading":
		return node.No, "systemd is at it: " + unitText(u)
	case u.ActiveState == "failed", lostToDependency(u):
		return node.Yes, "systemd will not start it (" + unitText(u) + ")"
	case stopped(u.ProcessState):
		return node.Yes, "its process is in state " + u.ProcessState
	case u.ActiveState != "active" || k.Healthy:
		return node.No, unitText(u)
	}
	told := k.Told
	switch {
	case !told.Known():
		return node.Unknown, "whether it writes to its journal is not known"
	case told.Last > q.fault.Since && told.Last > q.now()-q.policy.Deadlines.KubeletDown.Duration:
		return node.No, "it still writes to its journal"
	}
	return node.Yes, "silent, its journal too"
}

// blocked tells a kubelet whose start-up is blocked: it answers with a list of
// its pods, and that holds none, not even a static pod that runs and whose
// manifest is there. A kubelet reads its manifests at once.
func (x *index) blocked() bool {
	if !x.snap.Kubelet.View.Known() || len(x.snap.Kubelet.View.Pods) > 0 {
		return false
	}
	for i := range x.snap.Runtime.Sandboxes {
		sb := &x.snap.Runtime.Sandboxes[i]
		if sb.Ready && sb.Static() && x.manifests[sb.Pod] && !x.refused(sb.Pod) {
			return true
		}
	}
	return false
}

// refused tells that the kubelet refuses the manifest of a pod that runs.
func (x *index) refused(name node.PodName) bool {
	m, ok := x.snap.Intent.Find(name)
	if !ok {
		return false
	}
	_, refused := x.refusal(&m)
	return refused
}

// longestGrace is of all that runs on the node: a kubelet that starts waits for
// a stop that is in hand.
func (x *index) longestGrace() time.Duration {
	longest := time.Duration(0)
	for i := range x.snap.Runtime.Sandboxes {
		sb := &x.snap.Runtime.Sandboxes[i]
		longest = max(longest, graceOf(sb))
		for j := range sb.Containers {
			if sb.Containers[j].Grace < 0 {
				longest = max(longest, corev1.DefaultTerminationGracePeriodSeconds*time.Second)
			}
		}
	}
	return longest
}

// lateCall is a call on a container that has outlived its time.
func (x *index) lateCall() (node.RuntimeCall, bool) {
	for _, c := range x.calls {
		if (begins(c) || ends(c)) && c.Age > x.policy.Deadlines.HungCall.Duration {
			return c, true
		}
	}
	return node.RuntimeCall{}, false
}

// stopped tells process states in which nothing runs: stopped by a signal or a
// debugger, or in uninterruptible sleep.
func stopped(state string) bool { return bySignal(state) || state == "D" }

func bySignal(state string) bool { return state == "T" || state == "t" || state == "Z" }

// StoppedOnPurpose tells a unit that somebody stopped or masked. With
// Restart=always systemd leaves a crashed one activating or failed, and never
// inactive but for lostToDependency; one that had to be killed because its stop
// took too long is failed with the result timeout. In doubt it was on purpose:
// nothing is done.
func StoppedOnPurpose(u node.Unit) bool {
	if u.Err != nil || u.LoadState == "not-found" {
		return false
	}
	return u.LoadState == "masked" || (u.ActiveState == "inactive" && !lostToDependency(u)) || (u.ActiveState == "failed" && u.Result == "timeout")
}

// lostToDependency tells a unit that was to be up, and that systemd gave up for
// good because one that it requires did not start: Requires= stops the kubelet
// for a restart of CRI-O, and Restart= of CRI-O alone brings back CRI-O alone.
// Who stops a unit leaves a job of another type as the last one, and one that
// fell out of the journal still leaves the unit inactive since a later moment.
// systemd src/core/job.c job_finish_and_invalidate, v252.
func lostToDependency(u node.Unit) bool {
	j := u.LastJob
	return u.LoadState != "masked" && u.ActiveState == "inactive" &&
		j.Type == "start" && j.Result == "dependency" && j.Finished >= u.InactiveSince
}

func unitText(u node.Unit) string {
	text := u.ActiveState
	if u.SubState != "" && u.SubState != u.ActiveState {
		text += "/" + u.SubState
	}
	if u.Result != "" && u.Result != "success" {
		text += ", " + u.Result
	}
	if u.LoadState == "masked" {
		text += ", masked"
	}
	return cmp.Or(text, "unknown")
}
