//go:build world

package world

import (
	"sort"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Scenario is one timeline as data: the kind of node, its pods, and what happens
// to them. The same Scenario gives the same timeline.
type Scenario struct {
	Seed uint64
	Profile
	// Slow moves the duration of all work towards its upper bound, from 0 to 1.
	Slow float64
	Pods []*Pod
	// Eager agents decide at each look, also while nothing changes.
	Eager bool
	// APIAway is set where the API server has never answered since boot.
	APIAway bool
	// AgentAt is when the agent begins, Span when the timeline ends.
	AgentAt, Span time.Duration
	Events        []Event
	// Fault is one of faults, at FaultAt; empty for none.
	Fault   string
	FaultAt Event
	// Ban is something that is set so that certain steps must not be taken.
	Ban string
	// Fails lets that many acts of a kind fail.
	Fails map[restartpolicy.StepKind]int
	// Masks make sources unknown.
	Masks []Mask
}

// settled is when a node that booted has long started everything.
const settled = 6 * time.Minute

// Quiet is a scenario in which nothing is ever wrong with kubelet and runtime.
func Quiet(seed uint64) *Scenario {
	r := newStream(seed, "quiet", 0)
	sc := nodeOf(seed, r)
	names := make([]string, 0, len(happenings))
	for name := range happenings {
		names = append(names, name)
	}
	sort.Strings(names)
	// A change of a manifest while the API server has not answered this kubelet
	// is the original bug: a quiet node has the one or the other.
	away := !sc.Standalone && r.chance(0.3)
	sc.APIAway = away && r.chance(0.5)
	if sc.APIAway {
		sc.dropSelectors()
	}
	// Most of what happens happens to one pod within some minutes.
	focus, near := r.upTo(8), settled+r.between(0, sc.Span-settled-10*time.Minute)
	together := r.chance(0.6)
	for n := 1 + r.upTo(7); n > 0; n-- {
		kind := names[r.upTo(len(names))]
		switch kind {
		case "rollout", "opt-out", "out-and-in":
			if away {
				continue
			}
		case "api-away":
			if !away {
				continue
			}
			sc.dropSelectors()
		}
		e := sc.event(r, kind)
		if together && r.chance(0.8) {
			e.Pod, e.At = focus, (near + r.between(0, 4*time.Minute)).Round(time.Second/10)
		}
		sc.Events = append(sc.Events, e)
	}
	sc.sort()
	return sc
}

// event is one happening at a random time after the node has settled.
func (sc *Scenario) event(r *stream, kind string) Event {
	e := Event{At: settled + r.between(0, sc.Span-settled-5*time.Minute), Kind: kind, Pod: r.upTo(8), Container: r.upTo(6), N: r.upTo(100)}
	switch r.upTo(4) {
	case 0:
		e.For = r.between(time.Second, 30*time.Second)
	case 1:
		e.For = r.between(30*time.Second, 3*time.Minute)
	default:
		e.For = r.between(3*time.Minute, 15*time.Minute)
	}
	e.At, e.For = e.At.Round(time.Second/10), e.For.Round(time.Second/10)
	switch kind {
	case "crash":
		e.N = oneOf(r, 0, 0, 1, 1, 2, 137)
	case "clock-step":
		e.For = r.between(time.Second, time.Hour)
	}
	return e
}

func (sc *Scenario) sort() {
	sort.SliceStable(sc.Events, func(i, j int) bool { return sc.Events[i].At < sc.Events[j].At })
}

func (sc *Scenario) dropSelectors() {
	for _, p := range sc.Pods {
		p.Selector = false
	}
}
