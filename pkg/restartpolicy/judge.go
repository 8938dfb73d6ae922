package restartpolicy

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Judge says what is wrong with every guarded pod of the snapshot, since when,
// and until when to wait. It returns the history for the next look; the
// arguments are not changed. The verdicts are in a stable order.
func Judge(policy config.Restart, s *node.Snapshot, h History) ([]Verdict, History) {
	return judge(policy, s, h, guards)
}

func judge(policy config.Restart, s *node.Snapshot, h History, guards []guard) ([]Verdict, History) {
	findings := diagnose(policy, s)
	h = h.next(s, findings)
	states := map[State]bool{}
	for _, f := range findings {
		states[f.state] = true
	}
	verdicts := make([]Verdict, 0, len(findings))
	for i := range findings {
		f := &findings[i]
		fault := h.Faults[faultID(f)]
		v := Verdict{
			Key: f.key, State: f.state, Detail: f.detail,
			Since: fault.Since, Looks: fault.Looks,
			Ladder: f.ladder, Target: f.target,
		}
		if f.state == Unknown {
			v.Since = s.Taken.Boot
		}
		if len(f.ladder) > 0 {
			v.Due = due(policy, f, fault)
			if v.State == InBackOff && s.Taken.Boot >= v.Due {
				v.State = Forgotten
			}
			v.Guards = blocking(guards, &scene{policy, s, h, f, fault, states})
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, h
}

// due is when a step may be taken about a finding.
func due(policy config.Restart, f *finding, fault Fault) time.Duration {
	from := fault.Since
	if f.from > 0 {
		from = f.from
	}
	at := from + f.wait
	if f.state == InBackOff && fault.LastHung > 0 {
		// A creation that outlived the kubelet's call is given the time that the
		// runtime needs to notice; a restart would only begin the round again.
		at = max(at, fault.LastHung+policy.Deadlines.HungStart.Duration)
	}
	return at
}
