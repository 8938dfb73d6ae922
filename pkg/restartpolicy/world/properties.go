//go:build world

package world

import (
	"fmt"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Present is the decision of package restartpolicy as it is.
func Present() Decision {
	return Decision{
		Judge: restartpolicy.Judge, Plan: restartpolicy.Plan, Review: restartpolicy.Review,
		Confirm: func(p config.Restart, s *node.Snapshot, h restartpolicy.History, l restartpolicy.Ledger, step restartpolicy.Step) []string {
			var why []string
			for _, i := range restartpolicy.Confirm(p, s, h, l, step) {
				why = append(why, i.String())
			}
			return why
		},
	}
}

// Policy is the default one, without its random delay.
func Policy() config.Restart {
	policy := config.Default().Restart
	policy.Jitter.Duration = 0
	return policy
}

// Property is something that must hold of every timeline.
type Property struct {
	Name string
	// Draw is the scenario of a seed, Holds says why it does not hold, or "".
	Draw  func(seed uint64) *Scenario
	Holds func(Decision, *Scenario) string
	// Altered is the scenario that it is compared with, where there is one.
	Altered func(Decision, *Scenario) *Scenario
	// Share is how many times fewer timelines it gets, for those that cost more.
	Share uint64
}

// Properties are all of them.
func Properties() []Property {
	return []Property{
		{Name: "quiet", Draw: Quiet, Holds: quiet},
		{Name: "cured", Draw: drawFault((*fault).curable), Holds: cured},
		{Name: "cured-amid-others", Draw: drawAmid, Holds: curedAmid},
		{Name: "reported", Draw: drawFault(func(f *fault) bool { return !f.curable() }), Holds: reported, Share: 2},
		{Name: "within-budget-all-day", Draw: drawDay, Holds: withinBudget, Share: 20},
		{Name: "forbidden-is-not-done", Draw: drawBanned, Holds: notDone},
		{Name: "unknown-forbids", Draw: drawForbidding, Holds: nothingDone, Share: 2},
		{Name: "unknown-never-adds", Draw: drawMasked, Holds: unknownNeverAdds, Share: 4},
		{Name: "unknown-is-quiet", Draw: drawMaskedQuiet, Holds: quiet},
		{Name: "unrelated-never-changes", Draw: drawAny, Holds: unrelatedNeverChanges, Share: 4},
		{Name: "renamed-host-changes-nothing", Draw: drawAny, Holds: renamedChangesNothing, Share: 4},
		{Name: "suspended-node-only-shifts", Draw: drawFault((*fault).curable), Holds: suspendOnlyShifts, Altered: suspended, Share: 2},
		{Name: "slower-node-acts-later", Draw: drawFault((*fault).curable), Holds: slowerIsLater, Share: 2},
		{Name: "lost-history-never-adds", Draw: drawAny, Holds: lostHistoryNeverAdds, Share: 4},
	}
}

func drawFault(of func(*fault) bool) func(uint64) *Scenario {
	var names []string
	for name, f := range faults {
		if of(f) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return func(seed uint64) *Scenario {
		return Faulty(seed, names[newStream(seed, "fault", 0).upTo(len(names))])
	}
}

// companions are happenings to other pods, or to the node, that may put off a
// cure, and nothing more.
var companions = []string{"crash", "crash-loop", "comment", "pull", "liveness", "rollout", "out-and-in", "crictl-stop", "crictl-rm", "crictl-stopp",
	"foreign-container", "killed-in-a-start", "agent-restart", "busy", "paused", "shutdown-announced", "stop-kubelet", "stop-runtime", "clock-step", "cri-denied", "opt-out", "slow-start", "cri-slow", "systemd-silent", "registry-away", "remove", "refused", "broken"}

// drawAmid is a curable fault while other things happen to other pods.
func drawAmid(seed uint64) *Scenario {
	sc := drawFault((*fault).curable)(seed)
	r := newStream(seed, "amid", 0)
	for n := 1 + r.upTo(3); n > 0; n-- {
		e := sc.event(r, companions[r.upTo(len(companions))])
		e.At = (sc.FaultAt.At + r.between(-2*time.Minute, 6*time.Minute)).Round(time.Second / 10)
		e.For = min(e.For, 5*time.Minute)
		if len(sc.Pods) == 1 || e.Pod%len(sc.Pods) == sc.FaultAt.Pod%len(sc.Pods) || e.Pod%len(sc.Pods) == 0 {
			e.Kind = oneOf(r, "foreign-container", "agent-restart", "busy", "systemd-silent", "refused", "stop-kubelet", "stop-runtime", "paused", "clock-step")
		}
		if sc.Fault == "rejected" && (e.Kind == "refused" || e.Kind == "opt-out" || e.Kind == "remove") {
			e.Kind = "busy" // they would change the room that there is, or who wants it
		}
		if e.Kind == "agent-restart" {
			e.N, e.For = e.N|1, min(e.For, 20*time.Second) // its history is kept
		}
		sc.Events = append(sc.Events, e)
		sc.Span += e.For
	}
	sc.sort()
	sc.Span += amid(sc)
	return sc
}

// amid is how much later a cure may come for what else happens.
func amid(sc *Scenario) time.Duration {
	late := 15 * time.Minute
	for _, p := range sc.Pods {
		late += p.annotated()
	}
	for _, e := range sc.Events {
		late += e.For
	}
	return late
}

// drawDay is a node on which nothing helps, for more than a day.
func drawDay(seed uint64) *Scenario {
	r := newStream(seed, "day", 0)
	sc := Faulty(seed, oneOf(r, "every-act-fails", "every-act-fails", "kubelet-crash-loops", "no-room", "kubelet-in-state-d"))
	sc.Interval, sc.Span, sc.Eager = 20*time.Second, 26*time.Hour, true
	for n := r.upTo(6); n > 0; n-- {
		e := sc.event(r, oneOf(r, "reboot", "agent-restart", "restart-kubelet", "crash"))
		e.At, e.For = settled+r.between(0, 24*time.Hour), min(e.For, time.Minute)
		e.N |= 1
		sc.Events = append(sc.Events, e)
	}
	sc.sort()
	return sc
}

// drawBanned is a curable fault on a node where its cure is not allowed.
func drawBanned(seed uint64) *Scenario {
	sc := drawFault((*fault).curable)(seed)
	sc.Ban = oneOf(newStream(seed, "ban", 0), "withheld", "disabled", "elsewhere", "unitless", "opt-out")
	return sc
}

// drawForbidding is a curable fault while something is unknown without which
// nothing may be done at all.
func drawForbidding(seed uint64) *Scenario {
	sc := drawFault((*fault).curable)(seed)
	m := Mask{Source: oneOf(newStream(seed, "forbid", 0), "node-name", "host", "systemd", "kubelet-unit", "runtime-unit")}
	if m.Source == "node-name" && (sc.Fault == "kubelet-given-up" || sc.Fault == "kubelet-lost-to-dependency") {
		m.Source = "host" // nobody is there who could have a name
	}
	sc.Masks = []Mask{m}
	return sc
}

func drawAny(seed uint64) *Scenario {
	if seed%3 == 0 {
		return Quiet(seed)
	}
	return drawFault(func(*fault) bool { return true })(seed)
}

// drawMasked gives a scenario one source that is unknown for a while, now and
// then, or always.
func drawMasked(seed uint64) *Scenario {
	sc := drawAny(seed)
	sc.Masks = []Mask{mask(newStream(seed, "mask", 0), sc)}
	return sc
}

func drawMaskedQuiet(seed uint64) *Scenario {
	sc := Quiet(seed)
	sc.Masks = []Mask{mask(newStream(seed, "mask", 0), sc)}
	return sc
}

func mask(r *stream, sc *Scenario) Mask {
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	sort.Strings(names)
	m := Mask{Source: names[r.upTo(len(names))]}
	switch r.upTo(3) {
	case 0:
	case 1:
		m.From = r.between(0, sc.Span).Round(time.Second)
		m.To = m.From + r.between(time.Second, 15*time.Minute).Round(time.Second)
	case 2:
		m.Every = oneOf(r, sc.Interval, 3*sc.Interval, time.Minute, 5*time.Minute)
	}
	return m
}

// Known are the seeds on which each property is known not to hold.
type Known map[string]map[uint64]bool

// Failing are all seeds on which a decision fails.
func Failing(d Decision, from, timelines uint64) Known {
	known := Known{}
	for _, p := range Properties() {
		seeds := map[uint64]bool{}
		p.each(d, from, timelines, func(seed uint64, _ string) bool {
			seeds[seed] = true
			return true
		})
		known[p.Name] = seeds
	}
	return known
}

// Caught says which property does not hold for a decision that lacks something,
// but for what is known, and why; or "" if none of so many timelines each tells.
func Caught(d Decision, known Known, from, timelines uint64) string {
	for _, p := range Properties() {
		found := ""
		p.each(d, from, timelines, func(seed uint64, why string) bool {
			if known[p.Name][seed] {
				return true
			}
			found = fmt.Sprintf("%s, seed %d: %s", p.Name, seed, why)
			return false
		})
		if found != "" {
			return found
		}
	}
	return ""
}

// each calls fail for each of n seeds on which the property does not hold, until
// it returns false. Calls do not overlap; their order is not that of the seeds.
func (p Property) each(d Decision, from, n uint64, fail func(seed uint64, why string) bool) {
	var mu sync.Mutex
	var all sync.WaitGroup
	var enough atomic.Bool
	workers := uint64(runtime.GOMAXPROCS(0))
	for w := range workers {
		all.Go(func() {
			for seed := from + w; seed < from+max(1, n/max(1, p.Share)) && !enough.Load(); seed += workers {
				why := p.Holds(d, p.Draw(seed))
				if why == "" {
					continue
				}
				mu.Lock()
				if !enough.Load() && !fail(seed, why) {
					enough.Store(true)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
}
