package restartpolicy

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// steadyAge is how old the kubelet's process must be before a unit that
// systemd restarts again and again counts as up.
const steadyAge = 20 * time.Second

// stopTimeout is systemd's default TimeoutStopSec.
const stopTimeout = 90 * time.Second

// diagnoseServices judges the runtime and the kubelet themselves.
func diagnoseServices(policy config.Restart, s *node.Snapshot) []finding {
	return []finding{diagnoseRuntime(policy, s), diagnoseKubelet(policy, s)}
}

func diagnoseRuntime(policy config.Restart, s *node.Snapshot) finding {
	f := finding{key: Key{Container: orElse(s.Runtime.Unit.Name, "runtime")}, state: Healthy}
	switch {
	case StoppedOnPurpose(s.Runtime.Unit):
		f.state, f.detail = IntendedDown, "somebody stopped it ("+unitText(s.Runtime.Unit)+")"
	case s.Runtime.Err != nil:
		f.state, f.detail = RuntimeDown, "CRI does not answer: "+firstLine(s.Runtime.Err.Error())
		f.wait, f.ladder = policy.Deadlines.RuntimeDown.Duration, ladderFor(RuntimeDown)
	}
	return f
}

func diagnoseKubelet(policy config.Restart, s *node.Snapshot) finding {
	u := s.Kubelet.Unit
	f := finding{key: Key{Container: orElse(u.Name, "kubelet")}, state: Healthy}
	down := func(detail string) finding {
		f.state, f.detail = KubeletDown, detail
		f.wait, f.ladder = policy.Deadlines.KubeletDown.Duration, ladderFor(KubeletDown)
		return f
	}
	switch {
	case u.Err != nil:
		f.state, f.detail = Unknown, "its unit cannot be seen: "+firstLine(u.Err.Error())
		if !s.Kubelet.Healthy {
			return f
		}
		f.state = Healthy
	case StoppedOnPurpose(u):
		f.state, f.detail = IntendedDown, "somebody stopped it ("+unitText(u)+"): systemctl start "+f.key.Container+" brings it back"
		if u.LastJob.Err != nil {
			f.detail += "; what systemd did to it cannot be told: " + firstLine(u.LastJob.Err.Error())
		}
	case lostToDependency(u):
		return down("a unit that it requires did not start, and systemd does not try it again (" + unitText(u) + ")")
	case u.ActiveState == "active" && !u.Up():
		return down("its process is in state " + u.ProcessState)
	case u.ActiveState == "deactivating":
		// An admin's stop may take as long as systemd allows it.
		f = down("it has been stopping (" + unitText(u) + ")")
		f.wait += stopTimeout
		return f
	case u.ActiveState != "active":
		return down("its unit is " + unitText(u))
	case !s.Kubelet.Healthy:
		return down("it does not answer its health check")
	case u.Restarts > 0 && s.Taken.Boot-u.ProcessStarted < steadyAge:
		return down(fmt.Sprintf("systemd has restarted it %d times, last %s ago", u.Restarts, since(s.Taken.Boot-u.ProcessStarted)))
	case s.Kubelet.View.Known() && len(s.Kubelet.View.Pods) == 0 && len(s.Intent.Pods) > 0 && s.Intent.Err == nil:
		f = down("it runs and knows no pod, with manifests there: its start-up is blocked")
		f.ladder = ladderForBlockedStart()
		return f
	}
	return f
}

// StoppedOnPurpose tells a unit that somebody stopped or masked. With
// Restart=always systemd leaves a crashed one activating or failed, and never
// inactive but for lostToDependency; one that had to be killed because its stop
// took too long is failed with the result timeout. In doubt it was on purpose:
// nothing is done.
func StoppedOnPurpose(u node.Unit) bool {
	if u.Err != nil {
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
	return text
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
