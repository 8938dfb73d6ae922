package remedy

import (
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// judgment is what the policy says about one fresh look, without its history:
// the state of things, not how long they have been so.
type judgment []restartpolicy.Verdict

func judge(policy config.Restart, s *node.Snapshot) judgment {
	verdicts, _ := restartpolicy.Judge(policy, s, restartpolicy.History{})
	return verdicts
}

// contradicts says what the fresh look sees instead of the fault that the step
// is meant to cure, or "" if that is still there, with the same target.
func (j judgment) contradicts(step restartpolicy.Step) string {
	now := "nothing is known of it"
	for _, v := range j {
		if v.Key != step.Key {
			continue
		}
		if sameState(v.State, step.State) && sameTarget(step.State, v.Target, step.Target) {
			return ""
		}
		now = "it is " + string(v.State)
		if v.State == step.State {
			now += ", of another generation, sandbox or attempt"
		} else if v.Detail != "" {
			now += ": " + oneLine(v.Detail)
		}
	}
	return "no longer " + string(step.State) + ": " + now
}

// sameState takes in-backoff for forgotten: only the time since the exit tells
// them apart, and that was reckoned when the step was planned.
func sameState(now, then restartpolicy.State) bool {
	return now == then || now == restartpolicy.InBackOff && then == restartpolicy.Forgotten
}

// sameTarget compares what the verdict pinned. Where several old sandboxes are
// about, any of them may be named first: which one is left to the guards that
// look at the sandbox itself.
func sameTarget(state restartpolicy.State, now, then restartpolicy.Target) bool {
	if state == restartpolicy.TwoGenerations || state == restartpolicy.WaitingForOld {
		return now.Manifest == then.Manifest && now.Digest == then.Digest
	}
	now.Grace = then.Grace
	return now == then
}

// uid is the generation that the pod's manifest stands for, or "" if it cannot
// be told. Verdicts about containers are about the current generation, and so
// are those about a pod that has not begun to run.
func (j judgment) uid(pod node.PodName) string {
	for _, v := range j {
		if v.PodName != pod {
			continue
		}
		switch v.State {
		case restartpolicy.WaitingForOld, restartpolicy.Rejected, restartpolicy.NeverStarted, restartpolicy.Starting:
			if v.Target.UID != "" {
				return v.Target.UID
			}
		}
		if v.Container != "" && v.Target.UID != "" {
			return v.Target.UID
		}
	}
	return ""
}
