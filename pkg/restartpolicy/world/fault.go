//go:build world

package world

import (
	"maps"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// fault is one thing that goes wrong with a kubelet or a runtime, or that looks
// like it.
type fault struct {
	// prepare makes the node one on which it can happen.
	prepare func(*Scenario, *stream)
	inject  func(*scene, Event)
	// want are the steps one of which cures it, also may those that may be taken
	// on the way; both empty where nothing that the agent may do cures it.
	want, also []restartpolicy.StepKind
	// within is by when it must be cured, with a view and without.
	within, blind func(*Scenario) time.Duration
	// neverBlind is set where it cannot be cured without a view.
	neverBlind bool
	// shows is how long it takes to show at all.
	shows time.Duration
	// first is set where it happens to the first pod.
	first bool
	// forgives is set where the kubelet may get over it by itself.
	forgives bool
}

func (f *fault) curable() bool { return len(f.want) > 0 }

const forEver = 1000 * time.Hour

var (
	kubeletStep = []restartpolicy.StepKind{restartpolicy.RestartKubelet}
	runtimeStep = []restartpolicy.StepKind{restartpolicy.RestartRuntime}
)

// faults by name.
var faults = func() map[string]*fault {
	all := maps.Clone(curable)
	maps.Copy(all, incurable)
	return all
}()

func fixed(d time.Duration) func(*Scenario) time.Duration {
	return func(*Scenario) time.Duration { return d }
}

// afterGrace adds the grace of the pod at fault, which may be used up twice.
func afterGrace(d time.Duration) func(*Scenario) time.Duration {
	return func(sc *Scenario) time.Duration {
		p := sc.Pods[sc.FaultAt.Pod%len(sc.Pods)]
		late := d + 2*p.annotated()
		for _, c := range p.all() {
			if c.PostStart > 0 && (!sc.viewed() || sc.Fault == "new-revision-waits") {
				// Whether a hook still runs cannot be told, nor with a view that lists
				// the new revision.
				return late + 20*time.Minute
			}
		}
		return late
	}
}

func plainPod(name string) *Pod {
	return &Pod{Namespace: "kube-system", Name: name, Static: true, HostNetwork: true, Policy: "Always",
		Main: []Container{{Name: "main", Image: "registry/plain:1", Pull: "IfNotPresent", Ends: time.Second}}}
}

// onlyAlways leaves only static pods, all of whose containers are wanted up.
func onlyAlways(sc *Scenario, r *stream) {
	for _, p := range sc.Pods {
		p.Policy, p.Deadline, p.OptOut, p.UID = "Always", 0, false, ""
		for _, c := range p.all() {
			c.Policy = ""
			c.PostStart = min(c.PostStart, 5*time.Second)
			if c.Pull == "Always" {
				c.Pull = "IfNotPresent"
			}
		}
	}
	static := sc.Pods[:0]
	for _, p := range sc.Pods {
		if p.Static {
			static = append(static, p)
		}
	}
	sc.Pods = static
	sc.Slow = 0
	sc.dropSelectors()
}

// apiNever is a node whose API server has not answered since boot.
func apiNever(sc *Scenario, r *stream) {
	onlyAlways(sc, r)
	sc.Standalone, sc.APIAway = false, true
	sc.dropSelectors()
}

// crashLater kills a container some seconds later.
func crashLater(s *scene, e Event) {
	p, c := s.main(e)
	s.later(10*time.Second, func() {
		if k := s.running(p, c.Name); k != nil {
			s.kill(k)
		}
	})
}

// holdOver is when what is held off after a boot, with the longest grace, is over.
const holdOver = 12 * time.Minute

// Faulty is a scenario with one fault.
func Faulty(seed uint64, name string) *Scenario {
	r := newStream(seed, "faulty", 0)
	sc := nodeOf(seed, r)
	f := faults[name]
	if f.prepare != nil {
		f.prepare(sc, r)
	}
	sc.Fault = name
	sc.FaultAt = Event{At: holdOver + r.between(time.Minute, 6*time.Minute).Round(time.Second/10), Kind: name, Pod: r.upTo(8), Container: r.upTo(6), N: r.upTo(100)}
	if f.first {
		sc.FaultAt.Pod = 0
	}
	bound := 25 * time.Minute
	if f.curable() {
		bound = f.bound(sc)
	}
	sc.Span = sc.FaultAt.At + f.shows + bound + 3*time.Minute
	return sc
}

// bound is the time from when a fault shows to its cure.
func (f *fault) bound(sc *Scenario) time.Duration {
	if f.blind != nil && !sc.viewed() {
		return f.blind(sc)
	}
	return f.within(sc)
}

// mayWaitForVolumes tells that the pod at fault has a volume which may not come,
// so that only the kubelet's journal says whether that is what keeps it.
func (sc *Scenario) mayWaitForVolumes() bool {
	for _, p := range sc.Pods {
		if p.Volume != "" {
			return true
		}
	}
	return false
}

// heard tells that the kubelet's journal can be read, and that a kubelet which is
// well writes into it: with --v=2, or while it cannot reach its API server.
func (sc *Scenario) heard() bool { return sc.Journal && (sc.Verbose || sc.APIAway) }

// viewed tells that the kubelet's view of its pods is to be had: since 1.37
// there is the Pods API, while all sources are ready.
func (sc *Scenario) viewed() bool { return sc.View || sc.Version == "1.37.2" && !sc.APIAway }
