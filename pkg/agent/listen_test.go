package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// audience remembers what it has heard.
type audience struct {
	looks   uint64
	acting  int
	results []restartpolicy.Result
	last    *status.Status
}

func (a *audience) Published(s *status.Status) {
	a.looks, a.last = s.Agent.Looks, s
	if s.Agent.Acting != nil {
		a.acting++
	}
}

func (a *audience) Acted(act restartpolicy.Act) { a.results = append(a.results, act.Result) }

func TestListenersHearOfLooksAndActs(t *testing.T) {
	s := stage(t)
	heard := &audience{}
	s.Tell(heard)
	s.node = stale()
	s.watch(40 * time.Second)
	s.wantDone(restartpolicy.StopContainer)
	if v := heard.last.Verdicts; !slices.ContainsFunc(v, func(v status.Verdict) bool { return v.PodUID == "uid-1" }) {
		t.Errorf("no UID in %+v", v)
	}
	if left := heard.last.Agent.Budgets[restartpolicy.StopContainer]; left != s.cfg.Restart.Steps.StopContainer.PerHour-1 {
		t.Errorf("%d steps left", left)
	}
	s.node = healthy()
	s.watch(3 * time.Minute)
	if want := []restartpolicy.Result{restartpolicy.ResultDone, restartpolicy.ResultHealed}; !slices.Equal(heard.results, want) {
		t.Errorf("heard of %v, want %v", heard.results, want)
	}
	if heard.looks != s.looks || heard.acting != 1 {
		t.Errorf("heard of %d looks of %d, and %d times of an act in hand", heard.looks, s.looks, heard.acting)
	}
}

func TestBudgetsAreOfStepsThatMayBeTaken(t *testing.T) {
	s := stage(t, func(c *config.Configuration) {
		c.Restart.Steps.RestartKubelet.PerHour, c.Restart.Steps.RestartKubelet.PerDay = 0, 0 // no bound
		c.Restart.Steps.StopSandbox.Enabled = false
	})
	s.watch(10 * time.Second)
	budgets := s.published().Agent.Budgets
	for _, step := range []restartpolicy.StepKind{restartpolicy.RestartKubelet, restartpolicy.StopSandbox} {
		if _, there := budgets[step]; there {
			t.Errorf("%s is among %v", step, budgets)
		}
	}
	if budgets[restartpolicy.RestartRuntime] != 1 {
		t.Errorf("%v", budgets)
	}
}
