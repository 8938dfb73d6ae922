package restartpolicy

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Plan picks the one step that is due now, or nil. It returns the verdicts
// with what the budgets add to their guards, for the status; the arguments are
// not changed. At most one step is in hand at a time: the caller carries it
// out, enters it in the ledger, looks again and plans again.
func Plan(policy config.Restart, s *node.Snapshot, verdicts []Verdict, ledger Ledger) (*Step, []Verdict) {
	p := planner{policy, s, ledger}
	out := slices.Clone(verdicts)
	var best *Step
	for i := range out {
		v := &out[i]
		if len(v.Ladder) == 0 {
			continue
		}
		v.Due = p.due(*v)
		if s.Taken.Boot < v.Due {
			continue
		}
		kind, blocked := p.rung(*v)
		if blocked != "" {
			v.Guards = append(slices.Clone(v.Guards), blocked)
		}
		if len(v.Guards) > 0 {
			continue
		}
		step := p.step(*v, kind)
		if best == nil || cost(step) < cost(*best) {
			best = &step
		}
	}
	return best, out
}

type planner struct {
	policy config.Restart
	snap   *node.Snapshot
	ledger Ledger
}

// cost orders steps: a service that is down comes before pods, and then the
// less destructive step first.
func cost(s Step) int {
	c := slices.Index(Steps[:], s.Kind)
	if s.Key.Name != "" {
		c += 100
	}
	return c
}

func (p planner) step(v Verdict, kind StepKind) Step {
	timeout := p.conf(kind).Timeout.Duration
	if kind == StopOldSandbox || kind == StopSandbox {
		// CRI-O takes the deadline of the call as the grace.
		timeout += v.Target.Grace
	}
	return Step{Kind: kind, Key: v.Key, State: v.State, Reason: v.Detail, Target: v.Target, Timeout: timeout}
}

// due is the verdict's own time, brought forward for an old generation that
// our own restart of the kubelet left behind, and put off by a share of the
// jitter for steps that serve the whole node.
func (p planner) due(v Verdict) time.Duration {
	at := v.Due
	if v.State == TwoGenerations && p.leftBehind(v) {
		at = v.Since
	}
	if v.Ladder[0].NodeWide() {
		at += p.jitter(v.Key)
	}
	return at
}

// leftBehind tells that the kubelet was restarted for this very pod because
// its new revision was waiting, so that two generations are no surprise.
func (p planner) leftBehind(v Verdict) bool {
	for _, a := range p.ledger.Acts {
		if a.BootID == p.snap.Host.BootID && a.Key.PodName == v.PodName && a.Kind == RestartKubelet &&
			a.State == WaitingForOld && a.happened() && a.Target.SandboxID == v.Target.SandboxID {
			return true
		}
	}
	return false
}

// jitter is a share of the configured jitter that is the same for one fault of
// one boot of one node, and differs between nodes.
func (p planner) jitter(k Key) time.Duration {
	limit := p.policy.Jitter.Duration
	if limit <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(p.snap.Host.BootID + p.snap.Settings.NodeName + k.String()))
	return time.Duration(h.Sum64() % uint64(limit))
}

// rung is the step of the verdict's ladder that comes next, or what blocks it.
func (p planner) rung(v Verdict) (StepKind, string) {
	if v.State == Rejected {
		return p.rejectedRung(v)
	}
	tried := p.triesOf(v)
	if n := len(tried); n > 0 {
		last := tried[n-1]
		if settle := p.conf(last.Kind).Settle.Duration; last.age(p.snap.Host.BootID, p.snap.Taken) < settle {
			return "", "settling:" + string(last.Kind)
		}
	}
	used := map[StepKind]int{}
	for _, a := range tried {
		used[a.Kind]++
	}
	for _, kind := range v.Ladder {
		if used[kind] > 0 {
			used[kind]--
			continue
		}
		if !p.conf(kind).Enabled {
			continue
		}
		gate := GateFor(p.policy, p.snap, v.State, kind)
		if gate.PassOn {
			continue
		}
		if gate.Shut() {
			return "", gate.Name
		}
		if why := p.budget(v, kind); why != "" {
			return "", why
		}
		return kind, ""
	}
	if len(tried) == 0 {
		return "", "no-step-enabled"
	}
	return "", "breaker"
}

// triesOf are the acts that were meant for this fault, oldest first: its own,
// and those for the whole node since it began. Acts older than the breaker's
// reset do not count: the ladder begins anew.
func (p planner) triesOf(v Verdict) []Act {
	var out []Act
	for _, a := range p.ledger.Acts {
		if !a.happened() || a.BootID != p.snap.Host.BootID || a.Began.Boot < v.Since ||
			p.snap.Taken.Boot-a.Began.Boot > p.policy.BreakerReset.Duration {
			continue
		}
		if a.Key == v.Key || a.Kind.NodeWide() {
			out = append(out, a)
		}
	}
	return out
}

// rejectedRung retries a pod that was rejected at admission with growing gaps,
// for ever: the reason may be real, and may pass at any time. It is always the
// first enabled step: a restart of the kubelet admits all pods anew and may end
// another one instead, which who enabled the manifest's way does not want.
func (p planner) rejectedRung(v Verdict) (StepKind, string) {
	var enabled []StepKind
	for _, k := range v.Ladder {
		if p.conf(k).Enabled {
			enabled = append(enabled, k)
		}
	}
	if len(enabled) == 0 {
		return "", "no-step-enabled"
	}
	tries := 0
	var last Act
	for _, a := range p.ledger.Acts {
		if a.happened() && a.Key == v.Key && a.State == Rejected && a.Target.Digest == v.Target.Digest {
			tries, last = tries+1, a
		}
	}
	if tries > 0 {
		gaps := p.policy.RejectedGaps
		if last.age(p.snap.Host.BootID, p.snap.Taken) < gaps[min(tries, len(gaps))-1].Duration {
			return "", "retry-gap"
		}
	}
	kind := enabled[0]
	if gate := GateFor(p.policy, p.snap, v.State, kind); gate.Shut() {
		return "", gate.Name
	}
	return kind, p.perHour(kind)
}

func (p planner) conf(kind StepKind) config.Step { return StepOf(p.policy.Steps, kind) }
