//go:build world

package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// unknownNeverAdds replays the snapshots of a timeline with a source made
// unknown: at each of them only such steps may be planned as are due without.
func unknownNeverAdds(d Decision, sc *Scenario) string {
	return replay(d, sc, func(s *node.Snapshot, h restartpolicy.History) (*node.Snapshot, restartpolicy.History) {
		c := *s
		maskAll(sc.Masks, &c)
		return &c, h
	})
}

// lostHistoryNeverAdds does the same with a history that is lost now and then.
func lostHistoryNeverAdds(d Decision, sc *Scenario) string {
	r := newStream(sc.Seed, "lost", 0)
	at := r.between(0, sc.Span)
	lost := false
	return replay(d, sc, func(s *node.Snapshot, h restartpolicy.History) (*node.Snapshot, restartpolicy.History) {
		if !lost && s.Taken.Boot >= at {
			lost, h = true, restartpolicy.History{}
		}
		return s, h
	})
}

// replay plays a timeline twice, with an agent that acts and with one that never
// does, and decides anew on altered snapshots.
func replay(d Decision, sc *Scenario, alter func(*node.Snapshot, restartpolicy.History) (*node.Snapshot, restartpolicy.History)) string {
	plain := *sc
	plain.Masks = nil
	plain.Events = slices.Clone(sc.Events)
	for i := range plain.Events {
		if plain.Events[i].Kind == "agent-restart" {
			plain.Events[i].N |= 1 // the history is kept, as it is in what is compared
		}
	}
	policy := Policy()
	for _, idle := range []bool{true, false} {
		r := plain.play(policy, d, options{record: true, idle: idle})
		if !idle && len(r.acts) == 0 {
			break
		}
		var h restartpolicy.History
		for i := range r.records {
			o := &r.records[i]
			s, before := alter(o.snap, h)
			var verdicts []restartpolicy.Verdict
			verdicts, h = d.Judge(policy, s, before)
			step, _ := d.Plan(policy, s, verdicts, o.ledger)
			if step == nil || soonDue(d, policy, r.records[i:], step) {
				continue
			}
			return fmt.Sprintf("%s (%s) for %s at %s, which is not due with all known", step.Kind, step.State, step.Key.Container, clock(s.Taken.Boot))
		}
	}
	return ""
}

// soonDue tells that a step is due on the snapshots as they were, now or within
// the time in which a kubelet comes to see what has changed on disk.
func soonDue(d Decision, policy config.Restart, records []observation, step *restartpolicy.Step) bool {
	for i := range records {
		if records[i].snap.Taken.Boot > records[0].snap.Taken.Boot+30*time.Second {
			return false
		}
		if due(d, policy, &records[i], step) {
			return true
		}
	}
	return false
}

// due tells that a step is due on the snapshot as it was.
func due(d Decision, policy config.Restart, o *observation, step *restartpolicy.Step) bool {
	for i := range o.verdicts {
		v := o.verdicts[i]
		if v.Key.PodName != step.Key.PodName {
			continue
		}
		if own, _ := d.Plan(policy, o.snap, []restartpolicy.Verdict{v}, o.ledger); own != nil && own.Kind == step.Kind {
			return true
		}
	}
	return false
}

// taken are the acts of a timeline as text, without the node's name.
func (r *result) taken() []string {
	var out []string
	for _, a := range proper(r.happened()) {
		name := strings.TrimSuffix(a.Step.Key.Name, "-"+r.scenario.NodeName)
		out = append(out, fmt.Sprintf("%s %s %s/%s %s", a.At, a.Step.Kind, name, a.Step.Key.Container, a.Step.State))
	}
	return out
}

func differ(a, b []string) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return "and then " + b[i]
		case i >= len(b):
			return "not any more " + a[i]
		case a[i] != b[i]:
			return a[i] + " became " + b[i]
		}
	}
	return ""
}

// unrelatedNeverChanges adds what is nobody's business.
func unrelatedNeverChanges(d Decision, sc *Scenario) string {
	if sc.MaxPods > 0 || sc.Fault == "shutdown-cancelled" {
		return "" // there no pod is unrelated
	}
	base := sc.play(Policy(), d, options{}).taken()
	for name, add := range unrelated {
		if name == "bad file" && !sc.viewed() {
			continue // for it the journal is read, which is news there
		}
		if why := differ(base, sc.play(Policy(), d, options{within: add}).taken()); why != "" {
			return "an unrelated " + name + ": " + strings.Join(strings.Fields(why)[1:], " ")
		}
	}
	return ""
}

var unrelated = map[string]func(*scene){
	"static pod": func(s *scene) {
		p := plainPod("zz-extra")
		s.images[p.Main[0].Image] = true
		s.disk.write(p, s.epoch)
	},
	"pod of the API": func(s *scene) {
		p := plainPod("zz-job")
		p.Namespace, p.Static, p.UID = "default", false, "zz-uid"
		s.images[p.Main[0].Image] = true
		s.others = append(s.others, p)
	},
	"foreign container": func(s *scene) {
		s.sim.after(4*time.Minute, func() { happenings["foreign-container"](s, Event{N: int(s.seed)}) })
	},
	"leftover of a pod of the API": func(s *scene) {
		s.sim.after(4*time.Minute, func() {
			p := plainPod("zz-left")
			p.Static = false
			sb := &sandbox{id: "zz-sandbox", pod: p, name: node.PodName{Namespace: "default", Name: "zz-left"}, uid: "zz-left", ready: true, created: s.wall(), ending: true}
			sb.containers = []*container{{id: "zz-left-1", sandbox: sb, spec: &p.Main[0], state: node.ContainerCreated, created: s.wall(), pods: p}}
			s.crio.sandboxes = append(s.crio.sandboxes, sb)
			s.crio.touch(nil)
		})
	},
	"bad file": func(s *scene) {
		p := plainPod("zz-bad")
		s.disk.write(p, s.epoch)
		s.disk.find("zz-bad").broken = "not a pod"
	},
}

// renamedChangesNothing plays the same on a node of another name.
func renamedChangesNothing(d Decision, sc *Scenario) string {
	other := *sc
	other.NodeName = "worker-7.example.com"
	why := differ(sc.play(Policy(), d, options{}).taken(), other.play(Policy(), d, options{}).taken())
	if why == "" {
		return ""
	}
	return "another name of the node: " + why
}

// suspendOnlyShifts lets the whole node stand still once.
func suspendOnlyShifts(d Decision, sc *Scenario) string {
	base := proper(sc.play(Policy(), d, options{}).happened())
	more := suspended(d, sc)
	at, by := more.Events[len(more.Events)-1].At, more.Events[len(more.Events)-1].For
	acts := proper(more.play(Policy(), d, options{}).happened())
	// Looks that are late by less than this count as lived.
	early := 2*sc.Interval + 45*time.Second
	for i, a := range acts {
		switch {
		case i >= len(base) || a.Step.Kind != base[i].Step.Kind || a.Step.State != base[i].Step.State:
			return fmt.Sprintf("a suspend of %s at %s: then %s (%s)", by, clock(at), a.Step.Kind, a.Step.State)
		case base[i].At > at && (a.At < base[i].At+by-early || a.At > base[i].At+by+early+10*time.Minute):
			return fmt.Sprintf("a suspend of %s at %s: %s came at %s instead of %s", by, clock(at), a.Step.Kind, clock(a.At), clock(base[i].At+by))
		}
	}
	if len(acts) < len(base) {
		return fmt.Sprintf("a suspend of %s at %s: no %s any more", by, clock(at), base[len(acts)].Step.Kind)
	}
	return ""
}

// proper are acts but those about leftovers: there is one or not, as the end of a
// process falls between two calls or not.
func proper(acts []Act) []Act {
	return slices.DeleteFunc(acts, func(a Act) bool { return a.Step.State == restartpolicy.Leftover })
}

// suspended is a scenario with one time in which the node stands still.
func suspended(d Decision, sc *Scenario) *Scenario {
	r := newStream(sc.Seed, "suspend", 0)
	by := r.between(30*time.Second, 10*time.Minute).Round(time.Second)
	at := (sc.FaultAt.At + r.between(-2*time.Minute, 10*time.Minute)).Round(time.Second)
	if sc.FaultAt.At <= at && at < sc.FaultAt.At+30*time.Second {
		at += 30 * time.Second // the fault has several parts, and would be another one
	}
	for _, a := range sc.play(Policy(), d, options{}).happened() {
		// While an act is carried out nobody looks, and its time-outs run.
		if a.At-time.Second < at && at < a.At+5*time.Minute {
			at = a.At - 2*time.Second
			break
		}
	}
	more := *sc
	more.Events = append(slices.Clone(sc.Events), Event{At: at, Kind: "suspend", For: by})
	more.Span += by
	return &more
}

// slowerIsLater lets all work take as long as it may.
func slowerIsLater(d Decision, sc *Scenario) string {
	fast, slow := *sc, *sc
	fast.Slow, slow.Slow = 0, 1
	a, b := proper(fast.play(Policy(), d, options{}).happened()), proper(slow.play(Policy(), d, options{}).happened())
	count := map[restartpolicy.StepKind]int{}
	for _, act := range a {
		count[act.Step.Kind]++
	}
	for _, act := range b {
		if count[act.Step.Kind]--; count[act.Step.Kind] < 0 {
			return fmt.Sprintf("a slower node: %s (%s) at %s, once more than a fast one", act.Step.Kind, act.Step.State, clock(act.At))
		}
	}
	return ""
}
