package restartpolicy

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Plan picks the one step that is due now, or nil. It returns the verdicts with
// their inhibitors, for the status; the arguments are not changed. At most one
// step is in hand at a time: the caller has it confirmed, carries it out, enters
// it in the ledger, looks again and plans again.
func Plan(policy config.Restart, s *node.Snapshot, verdicts []Verdict, ledger Ledger) (*Step, []Verdict) {
	out := slices.Clone(verdicts)
	var best *Step
	var wide *nodeWide
	for i := range out {
		v := &out[i]
		if len(v.Steps) == 0 {
			continue
		}
		if wide == nil {
			wide = newNodeWide(s, v.history)
		}
		a := &asked{policy: policy, snap: s, history: v.history, ledger: ledger, verdict: v, node: wide}
		a.kind, _ = a.next()
		v.Due = a.due()
		v.Inhibitors = inhibitors(a)
		if s.Taken.Boot < v.Due || v.State == InBackOff || v.State == Starting || len(v.Inhibitors) > 0 || len(v.Missing()) > 0 {
			continue
		}
		step := a.step()
		if best == nil || rank(step) < rank(*best) {
			best = &step
		}
	}
	return best, out
}

// rank orders steps: a service that is down comes before pods, and then the
// less destructive step first.
func rank(s Step) int {
	c := slices.Index(Steps[:], s.Kind)
	if s.Key.Name != "" {
		c += 100
	}
	return c
}

func (a *asked) step() Step {
	v := a.verdict
	timeout := a.conf().Timeout.Duration
	if a.kind == StopOldSandbox || a.kind == StopSandbox || a.kind == StopContainer && v.State == DuplicateRunning {
		// CRI-O takes the deadline of the call as the grace of a sandbox.
		timeout += v.Target.Grace
	}
	step := Step{Kind: a.kind, Key: v.Key, State: v.State, Reason: v.Detail, Target: v.Target, Timeout: timeout}
	for _, c := range v.Proof {
		step.Proof = append(step.Proof, c.String())
	}
	if a.kind == RestartKubelet {
		step.Cost = a.cost()
	}
	return step
}

// due is the verdict's own time, brought forward for an old generation that
// our own restart of the kubelet left behind, and put off by a share of the
// jitter for steps that serve the whole node.
func (a *asked) due() time.Duration {
	at := a.verdict.Due
	if a.verdict.State == TwoGenerations && a.leftBehind() {
		at = a.verdict.Since
	}
	if a.kind.NodeWide() {
		at += a.jitter()
	}
	return at
}

// leftBehind tells that the kubelet was restarted for this very pod because
// its new revision was waiting, so that two generations are no surprise.
func (a *asked) leftBehind() bool {
	for _, act := range a.ledger.Acts {
		if act.BootID == a.snap.Host.BootID && act.Key.PodName == a.verdict.PodName && act.Kind == RestartKubelet &&
			act.State == WaitingForOld && act.Result != ResultRefused && act.Target.SandboxID == a.verdict.Target.SandboxID {
			return true
		}
	}
	return false
}

// jitter is a share of the configured jitter that is the same for one fault of
// one boot of one node, and differs between nodes.
func (a *asked) jitter() time.Duration {
	limit := a.policy.Jitter.Duration
	if limit <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(a.snap.Host.BootID + a.verdict.Key.String()))
	return time.Duration(h.Sum64() % uint64(limit))
}
