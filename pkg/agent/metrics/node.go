package metrics

import (
	"cmp"
	"maps"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// results are those that an act can end with. They are shown as 0 before the
// first, so that its rate can be seen.
var results = []restartpolicy.Result{restartpolicy.ResultDone, restartpolicy.ResultHealed, restartpolicy.ResultInVain,
	restartpolicy.ResultFailed, restartpolicy.ResultRefused, restartpolicy.ResultDryRun}

func (m *Metrics) addNode(p *page, last *seen) {
	s := last.status
	states, inhibitors, overdue := map[restartpolicy.State]int{}, map[string]int{}, 0
	for _, state := range restartpolicy.States() {
		states[state] = 0
	}
	for _, v := range s.Verdicts {
		states[v.State]++
		if v.Overdue {
			overdue++
		}
		for _, name := range v.BlockedBy {
			inhibitors[name]++
		}
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		p.add("nodekeeper_containers", float64(states[state]), string(state))
	}
	p.add("nodekeeper_containers_overdue", float64(overdue))
	for _, key := range slices.SortedFunc(maps.Keys(last.down), byName) {
		p.add("nodekeeper_container_down_seconds", last.down[key].Seconds(), key.Namespace, key.Name, key.Container)
	}
	m.addActs(p)
	p.add("nodekeeper_acts_withheld", truth(s.Agent.Withheld != ""))
	for _, g := range slices.Sorted(maps.Keys(inhibitors)) {
		p.add("nodekeeper_inhibitors", float64(inhibitors[g]), g)
	}
	if budgets := s.Agent.Budgets; len(budgets) > 0 {
		p.add("nodekeeper_acts_budget_remaining", float64(slices.Min(slices.Collect(maps.Values(budgets)))))
		for _, step := range slices.Sorted(maps.Keys(budgets)) {
			p.add("nodekeeper_step_budget_remaining", float64(budgets[step]), string(step))
		}
	}
	p.add("nodekeeper_breaker_open", truth(inhibitors["breaker"] > 0))
	p.add("nodekeeper_paused", truth(s.Node.Paused != ""))
	p.add("nodekeeper_dry_run", truth(s.Agent.DryRun))
	p.add("nodekeeper_last_look_timestamp_seconds", float64(s.Agent.Taken.Wall.UnixMilli())/1000)
	p.add("nodekeeper_looks_total", float64(s.Agent.Looks))
	addSources(p, s.Node)
}

func byName(a, b restartpolicy.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Container, b.Container))
}

func (m *Metrics) addActs(p *page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, step := range restartpolicy.Steps {
		for _, result := range results {
			p.add("nodekeeper_acts_total", float64(m.acts[kind{step, result}]), string(step), string(result))
		}
	}
}

func addSources(p *page, n status.Node) {
	p.add("nodekeeper_source_up", truth(n.Runtime.Error == ""), "runtime")
	// A kubelet that shows its pods to nobody, as OpenShift's before 1.37, is heard
	// all the same.
	p.add("nodekeeper_source_up", truth(n.Kubelet.View != node.ViewNone && n.Kubelet.View != "" || n.Kubelet.Healthy), "kubelet")
	p.add("nodekeeper_source_up", truth(n.Manifests.Error == ""), "manifests")
	p.add("nodekeeper_source_up", truth(n.Kubelet.Unit.Error == "" && n.Runtime.Unit.Error == ""), "systemd")
	problems := map[string]int{node.ProblemUnreadable: 0, node.ProblemUnparsable: 0, node.ProblemDuplicate: 0,
		node.ProblemRefused: 0, node.ProblemHidden: 0}
	for _, problem := range n.Manifests.Problems {
		problems[problem.Kind]++
	}
	for _, kind := range slices.Sorted(maps.Keys(problems)) {
		p.add("nodekeeper_manifest_problems", float64(problems[kind]), kind)
	}
}
