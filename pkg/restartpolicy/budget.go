package restartpolicy

import "time"

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
	limit := p.conf(kind).PerHour
	if limit <= 0 {
		return ""
	}
	n := 0
	for _, a := range p.ledger.Acts {
		if a.Kind == kind && a.happened() && a.age(p.snap.Host.BootID, p.snap.Taken) < hour {
			n++
		}
	}
	if n >= limit {
		return "budget:" + string(kind)
	}
	return ""
}
