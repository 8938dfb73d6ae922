package restartpolicy

import (
	"fmt"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	hour = time.Hour
	day  = 24 * hour
)

// tries are the acts that were meant for a verdict's fault, oldest first: its
// own, and those for the whole node since it began. A refused one is a try as
// well: what is refused is not passed over for something harder. One that an
// inhibitor refused is none: what holds a step back passes, and it is taken then.
// Acts older than the breaker's reset do not count; refused ones, and the first
// call about one pod that failed, no longer than the longest gap.
func (a *asked) tries() []Act {
	if a.verdict.State == Rejected {
		return a.retries()
	}
	var out []Act
	forgiven := false
	for _, act := range a.ledger.Acts {
		age := act.age(a.snap.Host.BootID, a.snap.Taken)
		old := age > StepOf(a.policy.Steps, act.Kind).GapMax.Duration
		if age > a.policy.BreakerReset.Duration || act.Result == ResultRefused && old {
			continue
		}
		if act.BootID != a.snap.Host.BootID || act.inhibited() {
			continue
		}
		own := act.Key == a.verdict.Key && act.State == a.verdict.State && sameTarget(act.State, act.Target, a.verdict.Target)
		meant := own || a.verdict.State != Leftover && act.Began.Boot >= a.verdict.first && (act.Key == a.verdict.Key && act.State == a.verdict.State || act.Kind.NodeWide())
		switch {
		case !meant:
		case act.Result == ResultFailed && !act.Kind.NodeWide() && old && !forgiven:
			forgiven = true
		default:
			out = append(out, act)
		}
	}
	return out
}

// retries are the tries of a manifest that was rejected, in this boot and since
// one of them helped: each makes it another fault, and what is retried is the
// manifest.
func (a *asked) retries() []Act {
	var out []Act
	for _, act := range a.ledger.Acts {
		if act.BootID != a.snap.Host.BootID || act.Key != a.verdict.Key || act.State != Rejected || act.Target.Digest != a.verdict.Target.Digest {
			continue
		}
		if act.Result == ResultHealed {
			out = nil
			continue
		}
		out = append(out, act)
	}
	return out
}

// next is the step of the row that comes next, and whether there is one.
func (a *asked) next() (StepKind, bool) {
	if a.verdict.State == Rejected {
		return a.rejectedStep()
	}
	used := map[StepKind]int{}
	for _, act := range a.tries() {
		used[act.Kind]++
	}
	for _, kind := range a.verdict.Steps {
		if used[kind] == 0 {
			return kind, true
		}
		used[kind]--
	}
	return a.verdict.Steps[len(a.verdict.Steps)-1], false
}

// rejectedStep is always the first that is enabled: a restart of the kubelet
// admits all pods anew, and whoever enabled the manifest's way does not want that.
func (a *asked) rejectedStep() (StepKind, bool) {
	kind := a.verdict.Steps[len(a.verdict.Steps)-1]
	for _, k := range a.verdict.Steps {
		if StepOf(a.policy.Steps, k).Enabled {
			kind = k
			break
		}
	}
	return kind, len(a.tries()) < len(a.policy.RejectedGaps)
}

func (a *asked) exhausted() string {
	if _, ok := a.next(); ok {
		return ""
	}
	if a.verdict.State == Rejected {
		return fmt.Sprintf("%d tries of this manifest in this boot", len(a.tries()))
	}
	return fmt.Sprintf("%d tries, again after %s", len(a.tries()), span(a.policy.BreakerReset.Duration))
}

func (a *asked) settling() string {
	tries := a.tries()
	if len(tries) == 0 {
		return ""
	}
	last := tries[len(tries)-1]
	age := last.age(a.snap.Host.BootID, a.snap.Taken)
	wait := StepOf(a.policy.Steps, last.Kind).Settle.Duration
	if a.verdict.State == Rejected {
		wait = a.policy.RejectedGaps[min(len(tries), len(a.policy.RejectedGaps))-1].Duration
	}
	if age < wait {
		return string(last.Kind) + ", another " + span(wait-age)
	}
	return ""
}

// refusedGap is the least time after an act that an inhibitor refused at the last
// moment: each has saved its evidence.
const refusedGap = time.Minute

// gap is the least time between two such steps for one pod, doubled with each.
func (a *asked) gap() string {
	if a.verdict.State == Rejected {
		return ""
	}
	conf := a.conf()
	gap := conf.Gap.Duration
	var last *Act
	for i := len(a.ledger.Acts) - 1; i >= 0; i-- {
		act := &a.ledger.Acts[i]
		if act.Kind != a.kind || act.Key.PodName != a.verdict.PodName || act.Key.Name == "" && act.Key != a.verdict.Key {
			continue
		}
		if act.inhibited() {
			if left := refusedGap - act.age(a.snap.Host.BootID, a.snap.Taken); left > 0 {
				return "another " + span(left) + ": the last was refused (" + act.Detail + ")"
			}
			continue
		}
		if last == nil {
			last = act
			continue
		}
		if act.age(a.snap.Host.BootID, a.snap.Taken) > conf.GapMax.Duration+a.policy.BreakerReset.Duration {
			break
		}
		if act.State == Leftover && act.Result == ResultHealed {
			continue // there may be many, each removed once
		}
		gap = min(2*gap, conf.GapMax.Duration)
	}
	if last == nil {
		return ""
	}
	if age := last.age(a.snap.Host.BootID, a.snap.Taken); age < gap {
		return "another " + span(gap-age)
	}
	return ""
}

func (a *asked) overBudget() string {
	conf := a.conf()
	for _, bound := range []struct {
		limit int
		span  time.Duration
		words string
	}{{conf.PerHour, hour, "an hour"}, {conf.PerDay, day, "a day"}} {
		if bound.limit > 0 && spent(a.snap, a.ledger, a.kind, bound.span) >= bound.limit {
			return fmt.Sprintf("%d %s", bound.limit, bound.words)
		}
	}
	return ""
}

// spent counts the acts of a kind within a span, for whatever reason.
func spent(s *node.Snapshot, ledger Ledger, kind StepKind, span time.Duration) int {
	n := 0
	for _, act := range ledger.Acts {
		if act.Kind == kind && act.Result != ResultRefused && act.age(s.Host.BootID, s.Taken) < span {
			n++
		}
	}
	return n
}

// Budgets are how many steps of each kind the node's bounds still allow, of
// those that are enabled and bounded.
func Budgets(policy config.Restart, s *node.Snapshot, ledger Ledger) map[StepKind]int {
	left := map[StepKind]int{}
	for _, kind := range Steps {
		conf := StepOf(policy.Steps, kind)
		if !conf.Enabled || conf.PerHour == 0 && conf.PerDay == 0 {
			continue
		}
		var bounds []int
		if conf.PerHour > 0 {
			bounds = append(bounds, conf.PerHour-spent(s, ledger, kind, hour))
		}
		if conf.PerDay > 0 {
			bounds = append(bounds, conf.PerDay-spent(s, ledger, kind, day))
		}
		left[kind] = max(0, slices.Min(bounds))
	}
	return left
}
