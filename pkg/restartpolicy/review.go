package restartpolicy

import (
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Review says what became of acts that were carried out and whose effect was
// not known yet: healed once the verdict that led to them is gone and nothing
// else is wrong with their key, in vain once the step has had its time to
// settle, and the pod its grace: what it broke off may begin anew. It returns the changed acts, with their results; the ledger is not
// changed.
func Review(policy config.Restart, s *node.Snapshot, verdicts []Verdict, ledger Ledger) []Act {
	var changed []Act
	for _, a := range ledger.Acts {
		if a.Result != ResultDone {
			continue
		}
		switch {
		case a.BootID != s.Host.BootID:
			a.Result, a.Detail = ResultInVain, "the node was rebooted before its effect was seen"
		case cured(a, verdicts):
			a.Result, a.Finished = ResultHealed, s.Taken
		case a.age(s.Host.BootID, s.Taken) >= StepOf(policy.Steps, a.Kind).Settle.Duration+a.Timeout+a.Target.Grace:
			a.Result, a.Finished = ResultInVain, s.Taken
		default:
			continue
		}
		changed = append(changed, a)
	}
	return changed
}

// cured tells that nothing is wrong any more with what an act was about: the
// container, each container of the pod, or the service.
func cured(a Act, verdicts []Verdict) bool {
	seen := false
	for _, v := range verdicts {
		if v.PodName != a.Key.PodName || (a.Key.Name == "" || a.Key.Container != "") && v.Key != a.Key && v.Container != "" {
			continue
		}
		if a.State == Leftover && v.State == Leftover && v.Target.ContainerID != a.Target.ContainerID {
			seen = true // another one, which is next
			continue
		}
		switch v.State {
		case Healthy, IntendedDown:
			seen = seen || v.Key == a.Key || a.Key.Container == ""
		case Frozen, Excluded, NoManifest:
		default:
			return false
		}
	}
	return seen
}
