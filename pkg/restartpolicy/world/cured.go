//go:build world

package world

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// cured: a curable fault is cured in time, by a step of its own row, and what
// the step did is known to have healed it.
func cured(d Decision, sc *Scenario) string {
	r := sc.play(Policy(), d, options{})
	if why := r.wrong(); why != "" {
		return why
	}
	return r.cured(sc)
}

// curedAmid is the same while other things happen: later, and by no other steps.
func curedAmid(d Decision, sc *Scenario) string {
	r := sc.play(Policy(), d, options{})
	if why := r.wrong(); why != "" {
		return why
	}
	why := r.cured(sc)
	switch {
	case strings.Contains(why, "and no act is known"):
		return ""
	case !sc.viewed() && strings.Contains(why, "kubelet or runtime is down") && slices.ContainsFunc(sc.Events, func(e Event) bool { return strings.HasSuffix(e.Kind, "-kubelet") }):
		// A kubelet that starts again and is blocked by what hangs is not told
		// from one that has nothing to do, where all runs and nobody lists pods.
		return ""
	}
	if !sc.viewed() && sc.Fault == "new-revision-waits" && strings.HasSuffix(why, "-old-is-down") {
		return "" // all of the old one runs: no local evidence tells that it should not
	}
	return why
}

func (r *result) cured(sc *Scenario) string {
	f := faults[sc.Fault]
	shown := sc.FaultAt.At + f.shows
	healed, helped := false, false
	for _, a := range r.happened() {
		switch {
		case a.At < sc.FaultAt.At && sc.Fault != "rejected":
			return fmt.Sprintf("%s (%s) before the fault", a.Step.Kind, a.Step.State)
		case slices.Contains(f.want, a.Step.Kind):
			helped = true
			healed = healed || a.Result == restartpolicy.ResultHealed
		case a.Step.State == restartpolicy.OutOfOrder && len(sc.Events) > 0:
			// The clock was set back as well.
		case a.Step.State == restartpolicy.Leftover, a.Step.State == restartpolicy.CreatedNotStarted:
			// A kubelet or runtime that is ended between create and start leaves one.
		case a.Step.State == restartpolicy.TwoGenerations && slices.ContainsFunc(sc.Events, func(e Event) bool { return strings.HasSuffix(e.Kind, "-kubelet") }):
			// A kubelet that is started without its API server leaves the old one.
		case a.Step.State == restartpolicy.DuplicateRunning && slices.ContainsFunc(sc.Events, func(e Event) bool { return e.Kind == "slow-start" }):
			// A start that the kubelet has given up comes to an end later.
		case !slices.Contains(f.also, a.Step.Kind):
			return fmt.Sprintf("%s (%s) is not of the row of %s", a.Step.Kind, a.Step.State, sc.Fault)
		}
	}
	switch {
	case r.well > 0 && !helped && (f.forgives || r.well <= shown):
		return "" // the node got over it by itself
	case !sc.viewed() && f.neverBlind, !sc.heard() && !f.seenAnyway() && (!sc.viewed() || sc.mayWaitForVolumes()), sc.Fault == "record-unreadable" && !sc.Journal:
		if len(r.troubles) == 0 && r.scene.well() != "" {
			return sc.Fault + " is not reported"
		}
		return ""
	case slices.ContainsFunc(r.acts, func(a Act) bool { return a.Result == restartpolicy.ResultStarted }):
		return "" // the agent was ended in its midst: it counts as tried
	case slices.ContainsFunc(r.acts, func(a Act) bool { return a.Result == restartpolicy.ResultFailed }) &&
		slices.ContainsFunc(sc.Events, func(e Event) bool { return strings.HasSuffix(e.Kind, "-runtime") }):
		return "" // so was the runtime: it is tried again after the longest gap
	case r.well == 0:
		return sc.Fault + " is not cured: " + r.scene.well() + "; " + r.held()
	case len(sc.Events) == 0 && r.well > shown+f.bound(sc):
		return fmt.Sprintf("%s is cured %s after it shows, bound %s", sc.Fault, r.well-shown, f.bound(sc))
	case helped && !healed:
		return sc.Fault + " is cured, and no act is known to have healed it"
	}
	return ""
}

// seenAnyway tells faults that need no word of the kubelet.
func (f *fault) seenAnyway() bool {
	return f != faults["record-unreadable"] && !slices.Contains(f.want, restartpolicy.RestartKubelet) || f == faults["kubelet-stopped"] ||
		f == faults["kubelet-given-up"] || f == faults["kubelet-lost-to-dependency"]
}

// held says what the last verdicts that are not well wait for.
func (r *result) held() string {
	var out []string
	for _, v := range r.scene.agent.verdicts {
		if v.State == restartpolicy.Healthy || v.State == restartpolicy.IntendedDown {
			continue
		}
		text := v.Key.Container + " " + string(v.State)
		for _, c := range v.Missing() {
			text += " -" + c.Name
		}
		for _, i := range v.Inhibitors {
			text += " !" + i.Name
		}
		out = append(out, text)
	}
	sort.Strings(out)
	return strings.Join(slices.Compact(out), "; ")
}

// withinBudget only asks what holds whatever happens.
func withinBudget(d Decision, sc *Scenario) string { return sc.play(Policy(), d, options{}).wrong() }

// nothingDone: there is no act at all.
func nothingDone(d Decision, sc *Scenario) string {
	for _, a := range sc.play(Policy(), d, options{}).acts {
		return fmt.Sprintf("%s (%s) although it is not known whether anything may be done: %s", a.Step.Kind, a.Step.State, a.Result)
	}
	return ""
}

// notDone: what is not allowed is not done.
func notDone(d Decision, sc *Scenario) string {
	policy := Policy()
	if sc.Ban == "disabled" {
		for _, step := range []*config.Step{&policy.Steps.RestartKubelet, &policy.Steps.RestartRuntime, &policy.Steps.StopContainer,
			&policy.Steps.StopSandbox, &policy.Steps.StopOldSandbox, &policy.Steps.RemoveContainer, &policy.Steps.ReplaceManifest} {
			step.Enabled = false
		}
	}
	for _, a := range sc.play(policy, d, options{}).happened() {
		if sc.Ban == "elsewhere" && a.Step.Kind != restartpolicy.RestartKubelet || sc.Ban == "unitless" && a.Step.Kind != restartpolicy.RestartRuntime ||
			sc.Ban == "opt-out" && a.Step.Key.Name == "" {
			continue
		}
		return fmt.Sprintf("%s (%s) in spite of: %s", a.Step.Kind, a.Step.State, sc.Ban)
	}
	return ""
}

// mayCost are the steps that an incurable fault may cost within the budget.
var mayCost = map[string][]restartpolicy.StepKind{
	"kubelet-crash-loops": kubeletStep,
	"kubelet-in-state-d":  kubeletStep,
	"no-room":             {restartpolicy.RestartKubelet, restartpolicy.ReplaceManifest},
	"every-act-fails":     restartpolicy.Steps[:],
}

// reported: a fault that nothing cures has a verdict in time, and costs nothing,
// or no more than the node's budget.
func reported(d Decision, sc *Scenario) string {
	r := sc.play(Policy(), d, options{})
	if why := r.wrong(); why != "" {
		return why
	}
	for _, a := range r.happened() {
		if !slices.Contains(mayCost[sc.Fault], a.Step.Kind) {
			return fmt.Sprintf("%s (%s) does not help against %s", a.Step.Kind, a.Step.State, sc.Fault)
		}
	}
	if r.scene.well() == "" {
		return ""
	}
	for _, states := range r.troubles {
		for _, at := range states {
			if at < sc.FaultAt.At+15*time.Minute {
				return ""
			}
		}
	}
	return sc.Fault + " is not reported within 15m: " + r.scene.well()
}
