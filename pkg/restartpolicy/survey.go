package restartpolicy

import (
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// survey is one snapshot, indexed by pod name so that the cost of a look grows
// with the number of pods and not with its square.
type survey struct {
	policy    config.Restart
	snap      *node.Snapshot
	gates     Gates
	backOff   BackOff
	sandboxes map[node.PodName][]*node.Sandbox
	views     map[node.PodName]*node.PodView
	manifests map[node.PodName]bool
	// late are create, start and run calls that are past their time, and
	// owners the pods of the containers and sandboxes they may work on.
	late   []node.RuntimeCall
	owners map[string]node.PodName
}

func newSurvey(policy config.Restart, s *node.Snapshot) *survey {
	gates := GatesOf(s.Settings.FeatureGates)
	y := &survey{
		policy: policy, snap: s, gates: gates,
		backOff:   BackOffOf(gates, s.Settings.MaxContainerRestartPeriod),
		sandboxes: make(map[node.PodName][]*node.Sandbox, len(s.Runtime.Sandboxes)),
		views:     make(map[node.PodName]*node.PodView, len(s.Kubelet.View.Pods)),
		manifests: make(map[node.PodName]bool, len(s.Intent.Pods)),
	}
	for i := range s.Runtime.Sandboxes {
		sb := &s.Runtime.Sandboxes[i]
		y.sandboxes[sb.Pod] = append(y.sandboxes[sb.Pod], sb)
	}
	if s.Kubelet.View.Known() {
		for i := range s.Kubelet.View.Pods {
			v := &s.Kubelet.View.Pods[i]
			y.views[v.Name] = v
		}
	}
	for _, m := range s.Intent.Pods {
		y.manifests[m.Name] = true
	}
	for _, call := range startCalls(s.Runtime.Calls) {
		if call.Age > policy.Deadlines.HungCall.Duration {
			y.late = append(y.late, call)
		}
	}
	if len(y.late) > 0 {
		y.owners = owners(s.Runtime.Sandboxes)
	}
	return y
}

func owners(sandboxes []node.Sandbox) map[string]node.PodName {
	out := map[string]node.PodName{}
	for _, sb := range sandboxes {
		out[sb.ID] = sb.Pod
		for _, c := range sb.Containers {
			out[c.ID] = sb.Pod
		}
	}
	return out
}

// lateCall is a late call that works on this container; with an empty ID, one
// that works for this pod or for a container that no record is known of: a
// creation in progress.
func (y *survey) lateCall(pod node.PodName, containerID string) (node.RuntimeCall, bool) {
	for _, call := range y.late {
		owner, known := y.owners[call.ContainerID]
		if containerID == call.ContainerID || containerID == "" && (!known || owner == pod) {
			return call, true
		}
	}
	return node.RuntimeCall{}, false
}

// startCalls are the runtime calls that begin a container.
func startCalls(calls []node.RuntimeCall) []node.RuntimeCall {
	var out []node.RuntimeCall
	for _, c := range calls {
		if c.Verb == "create" || c.Verb == "start" || c.Verb == "run" {
			out = append(out, c)
		}
	}
	return out
}
