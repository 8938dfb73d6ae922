package restartpolicy

import (
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// index is one snapshot, indexed by pod name so that the cost of a look grows
// with the number of pods and not with its square, beside all that a judgement
// may use.
type index struct {
	policy    config.Restart
	snap      *node.Snapshot
	history   History
	gates     Gates
	backOff   BackOff
	sandboxes map[node.PodName][]*node.Sandbox
	views     map[node.PodName]*node.PodView
	manifests map[node.PodName]bool
	pods      []*pod
	// calls are those in flight, with the age that somebody has lived through.
	calls []node.RuntimeCall
	// owners are the pods of the containers and sandboxes that calls in flight
	// work on; nil while there are no calls.
	owners map[string]node.PodName
}

func newIndex(policy config.Restart, s *node.Snapshot, before History) *index {
	sandboxes := make(map[node.PodName][]*node.Sandbox, len(s.Runtime.Sandboxes))
	first := make([]*node.Sandbox, len(s.Runtime.Sandboxes)) // room for one of each pod
	for i := range s.Runtime.Sandboxes {
		sb := &s.Runtime.Sandboxes[i]
		if sandboxes[sb.Pod] == nil {
			sandboxes[sb.Pod] = first[i : i : i+1]
		}
		sandboxes[sb.Pod] = append(sandboxes[sb.Pod], sb)
	}
	h := before.begin(s, sandboxes)
	gates := GatesOf(s.Settings.Version, s.Settings.FeatureGates)
	x := &index{
		policy: policy, snap: s, history: h, gates: gates,
		backOff:   BackOffOf(gates, s.Settings.MaxContainerRestartPeriod),
		sandboxes: sandboxes,
		views:     make(map[node.PodName]*node.PodView, len(s.Kubelet.View.Pods)),
		manifests: make(map[node.PodName]bool, len(s.Intent.Pods)),
	}
	if s.Kubelet.View.Known() {
		for i := range s.Kubelet.View.Pods {
			v := &s.Kubelet.View.Pods[i]
			x.views[v.Name] = v
		}
	}
	for i := range s.Intent.Pods {
		x.manifests[s.Intent.Pods[i].Name] = true
	}
	if len(s.Runtime.Calls) > 0 {
		x.owners = owners(s.Runtime.Sandboxes)
		x.calls = slices.Clone(calls(s))
		for i := range x.calls {
			x.calls[i].Age = h.lived(x.calls[i].Age, s.Taken.Boot)
		}
	}
	return x
}

func owners(sandboxes []node.Sandbox) map[string]node.PodName {
	out := map[string]node.PodName{}
	for i := range sandboxes {
		out[sandboxes[i].ID] = sandboxes[i].Pod
		for j := range sandboxes[i].Containers {
			out[sandboxes[i].Containers[j].ID] = sandboxes[i].Pod
		}
	}
	return out
}

// calls are those in flight that the runtime which runs now has begun: one that
// a monitor has kept from before the runtime's restart is nobody's any more.
func calls(s *node.Snapshot) []node.RuntimeCall {
	started := s.Runtime.Unit.ProcessStarted
	if started == 0 {
		return s.Runtime.Calls
	}
	return slices.DeleteFunc(slices.Clone(s.Runtime.Calls), func(c node.RuntimeCall) bool { return c.Age > s.Taken.Boot-started })
}

// begins tells that a runtime call begins a container: the runtime makes one
// with create and start. "run" is never its own.
func begins(c node.RuntimeCall) bool { return c.Verb == "create" || c.Verb == "start" }

// ends tells that a runtime call ends a container.
func ends(c node.RuntimeCall) bool { return c.Verb == "kill" || c.Verb == "delete" }

// call finds a runtime call that may be about this pod and is of a kind: one on
// a container or sandbox of it, or a creation of which no record is known yet.
func (x *index) call(pod node.PodName, kind func(node.RuntimeCall) bool, age time.Duration) (node.RuntimeCall, bool) {
	for _, c := range x.calls {
		owner, known := x.owners[c.ContainerID]
		if kind(c) && c.Age > age && (known && owner == pod || !known && c.Verb == "create") {
			return c, true
		}
	}
	return node.RuntimeCall{}, false
}

// ago is how long ago a wall-clock time was, at least 0.
func (x *index) ago(t time.Time) time.Duration {
	if t.IsZero() {
		return x.snap.Taken.Boot
	}
	return max(0, x.snap.Taken.Wall.Sub(t))
}

// lived is the part of an age that somebody has lived through.
func (x *index) lived(age time.Duration) time.Duration { return x.history.lived(age, x.now()) }

// now is the boot clock.
func (x *index) now() time.Duration { return x.snap.Taken.Boot }
