package restartpolicy

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// hour is the window of the node-wide bounds.
const hour = time.Hour

// budget names what keeps a step back: the gap since the last such step for
// the same pod, or the node's bound for an hour.
func (p planner) budget(v Verdict, kind StepKind) string {
	conf := p.conf(kind)
	gap := conf.Gap.Duration
	var last *Act
	for i := len(p.ledger.Acts) - 1; i >= 0; i-- {
		a := p.ledger.Acts[i]
		if a.Kind != kind || !a.happened() || a.Key.PodName != v.PodName || a.Key.Name == "" && a.Key != v.Key {
			continue
		}
		if last == nil {
			last = &p.ledger.Acts[i]
			continue
		}
		if a.age(p.snap.Host.BootID, p.snap.Taken) > conf.GapMax.Duration+p.policy.BreakerReset.Duration {
			break
		}
		gap = min(2*gap, conf.GapMax.Duration)
	}
	if last != nil && last.age(p.snap.Host.BootID, p.snap.Taken) < gap {
		return "gap:" + string(kind)
	}
	return p.perHour(kind)
}

func (p planner) perHour(kind StepKind) string {
	if limit := p.conf(kind).PerHour; limit > 0 && p.left(kind, limit) == 0 {
		return "budget:" + string(kind)
	}
	return ""
}

// left is what is left of the bound for an hour.
func (p planner) left(kind StepKind, limit int) int {
	for _, a := range p.ledger.Acts {
		if a.Kind == kind && a.happened() && a.age(p.snap.Host.BootID, p.snap.Taken) < hour {
			limit--
		}
	}
	return max(0, limit)
}

// Budgets are how many steps of each kind the node's bounds for an hour still
// allow, of those that are enabled and bounded.
func Budgets(policy config.Restart, s *node.Snapshot, ledger Ledger) map[StepKind]int {
	p := planner{policy, s, ledger}
	left := map[StepKind]int{}
	for _, kind := range Steps {
		if conf := p.conf(kind); conf.Enabled && conf.PerHour > 0 {
			left[kind] = p.left(kind, conf.PerHour)
		}
	}
	return left
}
