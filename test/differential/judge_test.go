package differential

import (
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// TestJudgeIsTheKubelets asks Judge and the kubelet about every container of
// generated pods. What they may differ in is listed in meant_test.go; each
// entry must occur, and nothing else may.
func TestJudgeIsTheKubelets(t *testing.T) {
	seen := map[string]int{}
	forEachRuleGates(t, func(t *testing.T, set map[string]bool) {
		g := newGenerator(t, 2)
		policy, gates := config.Default().Restart, restartpolicy.GatesOf("1.37.2", set)
		compared, agreed := 0, map[choice]int{}
		for range *pairs {
			s := g.situation()
			verdicts, _ := restartpolicy.Judge(policy, s.snapshot(set), restartpolicy.History{})
			kubelet := newKubelet(s, gates)
			for _, name := range s.names() {
				compared++
				p := pair{situation: s, container: name, choice: kubelet.choices[name], ended: kubelet.ended, verdict: verdictOn(t, verdicts, name)}
				if p.agree() {
					agreed[p.choice]++
					continue
				}
				seen[p.nameOfDifference(t)]++
			}
		}
		t.Logf("%d pairs of container and verdict compared, agreed: %v", compared, agreed)
	})
	for _, d := range differences {
		t.Logf("meant %6d times %s: %s", seen[d.name], d.name, d.reason)
		if seen[d.name] == 0 {
			t.Errorf("%q never occurred: take it out of the table", d.name)
		}
	}
}

// pair is one container, what the kubelet does with it and what Judge says.
type pair struct {
	situation
	container string
	choice    choice
	// ended tells that the kubelet ends the whole pod.
	ended   bool
	verdict restartpolicy.Verdict
}

// verdictOn is the verdict on one container, or else the one on its whole pod.
func verdictOn(t *testing.T, verdicts []restartpolicy.Verdict, container string) restartpolicy.Verdict {
	t.Helper()
	var whole *restartpolicy.Verdict
	for i, v := range verdicts {
		if v.Name != "" && v.Container == container {
			return v
		}
		if v.Name != "" && v.Container == "" {
			whole = &verdicts[i]
		}
	}
	if whole == nil {
		t.Fatalf("no verdict on %s", container)
	}
	return *whole
}

// agree tells whether the verdict says what the kubelet does.
func (p pair) agree() bool {
	state := p.verdict.State
	switch p.choice {
	case keep:
		return state == restartpolicy.Healthy
	case kill: // it runs for a moment yet
		return state == restartpolicy.Healthy || state == restartpolicy.IntendedDown
	case start:
		return state == restartpolicy.InBackOff || state == restartpolicy.CreatedNotStarted || state == restartpolicy.Starting
	case later:
		return state == restartpolicy.Starting
	case never:
		return state == restartpolicy.IntendedDown
	case reset:
		return state != restartpolicy.IntendedDown
	}
	return false
}

// acts tells that the verdict would lead to a step, were the container to stay
// as it is.
func (p pair) acts() bool { return len(p.verdict.Steps) > 0 }

func (p pair) nameOfDifference(t *testing.T) string {
	t.Helper()
	name := ""
	for _, d := range differences {
		if !d.is(p) {
			continue
		}
		if name != "" {
			t.Fatalf("%q and %q both match: %s", name, d.name, p)
		}
		name = d.name
	}
	if name == "" {
		t.Fatalf("Judge and the kubelet differ: %s", p)
	}
	return name
}

// String is the whole case, for a failure.
func (p pair) String() string {
	return p.container + ": the kubelet chooses " + string(p.choice) + ", Judge says " + string(p.verdict.State) +
		" (" + p.verdict.Detail + ")\nviewed: " + asJSON(p.viewed) + ", lost: " + asJSON(p.lost) + "\nstatus: " + asJSON(p.podStatus().ContainerStatuses) +
		"\npod: " + asJSON(p.pod)
}
