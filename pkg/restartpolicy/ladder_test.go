package restartpolicy

import (
	"slices"
	"testing"
	"time"
)

// A fault that nothing cures: each rung is tried once, each after the one
// before has had its time to settle; then the breaker is open, the status says
// so, and the ladder begins anew only after its reset.
func TestLadderIsClimbedOnceThenTheBreakerOpens(t *testing.T) {
	w := newWorld(2)
	w.forget()
	var last []Verdict
	reset := w.policy.BreakerReset.Duration
	end := w.now + reset
	for w.now < end {
		last = w.tick(interval)
	}
	var kinds []StepKind
	for _, s := range w.steps {
		kinds = append(kinds, s.Kind)
	}
	want := []StepKind{RestartKubelet, RemoveContainer, StopSandbox, RestartRuntime}
	if !slices.Equal(kinds, want) {
		t.Fatalf("steps %v, want %v", kinds, want)
	}
	for i := 1; i < len(w.steps); i++ {
		settle := StepOf(w.policy.Steps, w.steps[i-1].Kind).Settle.Duration
		if gap := w.stepTimes[i] - w.stepTimes[i-1]; gap < settle {
			t.Errorf("%s came %v after %s, before it had settled (%v)", w.steps[i].Kind, gap, w.steps[i-1].Kind, settle)
		}
	}
	open := false
	for _, v := range last {
		open = open || v.Container == "c0" && slices.Contains(v.Guards, "breaker")
	}
	if !open {
		t.Errorf("the breaker does not show: %+v", last)
	}
	for w.now < end+reset {
		w.tick(interval)
	}
	if len(w.steps) < 5 || w.steps[4].Kind != RestartKubelet {
		t.Errorf("after the reset the ladder does not begin anew: %d steps", len(w.steps))
	}
}

// A step that is switched off is passed over.
func TestDisabledStepIsPassedOver(t *testing.T) {
	w := newWorld(1)
	w.policy.Steps.RestartKubelet.Enabled = false
	w.forget()
	for w.now < bootTime+time.Hour && len(w.steps) == 0 {
		w.tick(interval)
	}
	if len(w.steps) == 0 || w.steps[0].Kind != RemoveContainer {
		t.Fatalf("steps %+v", w.steps)
	}
}
