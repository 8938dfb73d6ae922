//go:build world

package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// happened are the acts that did, or may have done, something.
func (r *result) happened() []Act {
	var out []Act
	for _, a := range r.acts {
		if a.Result != restartpolicy.ResultRefused {
			out = append(out, a)
		}
	}
	return out
}

// wrong are acts that are wrong whatever the fault.
func (r *result) wrong() string {
	for why, of := range r.bad {
		return strings.TrimSpace(why + " " + of)
	}
	return r.overBudget()
}

// overBudget compares with the bounds of the design: 3 restarts of the kubelet
// in an hour and 6 in a day, 1 and 2 of CRI-O, for all reasons together.
func (r *result) overBudget() string {
	for kind, bound := range map[restartpolicy.StepKind][2]int{restartpolicy.RestartKubelet: {3, 6}, restartpolicy.RestartRuntime: {1, 2}} {
		var at []time.Duration
		for _, a := range r.happened() {
			if a.Step.Kind != kind {
				continue
			}
			at = append(at, a.At)
			for i, limit := range bound {
				window := []time.Duration{time.Hour, 24 * time.Hour}[i]
				n := 0
				for _, t := range at {
					if a.At-t < window {
						n++
					}
				}
				if n > limit {
					return fmt.Sprintf("%d times %s within %s", n, kind, window)
				}
			}
		}
	}
	return ""
}

// quiet: no fault, no step.
func quiet(d Decision, sc *Scenario) string {
	r := sc.play(Policy(), d, options{})
	allowed := sc.leftovers()
	for _, a := range r.acts {
		if slices.Contains(allowed, a.Step.Kind) {
			continue
		}
		return fmt.Sprintf("%s (%s) although nothing is wrong: %s", a.Step.Kind, a.Step.State, a.Result)
	}
	return r.wrong()
}

// leftovers are steps that a quiet scenario may lead to all the same: records
// that stay when a kubelet or a runtime is killed, and those of a clock that was
// set back, are faults of their own.
func (sc *Scenario) leftovers() []restartpolicy.StepKind {
	var out []restartpolicy.StepKind
	for _, e := range sc.Events {
		switch e.Kind {
		case "kill-kubelet", "kill-runtime", "restart-kubelet", "restart-runtime", "stop-kubelet", "stop-runtime", "clock-step", "killed-in-a-start", "reboot":
			out = append(out, restartpolicy.RemoveContainer)
		}
		if e.Kind == "slow-start" {
			// A start that kubelet or CRI-O have given up comes to an end later.
			out = append(out, restartpolicy.StopContainer)
		}
		if strings.HasSuffix(e.Kind, "-kubelet") && (sc.APIAway || slices.ContainsFunc(sc.Events, func(e Event) bool { return e.Kind == "api-away" })) {
			// A kubelet that starts without its API server leaves an old revision.
			out = append(out, restartpolicy.StopOldSandbox)
		}
	}
	return out
}
