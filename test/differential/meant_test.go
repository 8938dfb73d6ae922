package differential

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// difference is one way in which Judge and the kubelet differ, and are meant
// to: Judge is less exact there, and never leads to an act.
type difference struct {
	name, reason string
	is           func(pair) bool
}

// differences are all there are. An entry that does not occur any more fails
// the test and is to be taken out.
var differences = []difference{
	{
		name:   "intended-down beside a container whose rule restarts all",
		reason: "Judge looks at each container by itself. The kubelet resets the pod within seconds, and the container that asked for it is watched.",
		is: func(p pair) bool {
			return p.choice == reset && !p.asksForReset() && p.verdict.State == restartpolicy.IntendedDown
		},
	},
	{
		name:   "intended-down although its own rule restarts all",
		reason: "Rules without a policy, which the API refuses, or the rule of an init container that is done: Judge goes by the policy, and never acts.",
		is: func(p pair) bool {
			return p.choice == reset && p.asksForReset() && p.verdict.State == restartpolicy.IntendedDown &&
				(p.spec().RestartPolicy == nil || strings.HasPrefix(p.container, "init-"))
		},
	},
	{
		name:   "a record in state unknown",
		reason: "The runtime does not know what became of it. The kubelet starts another one beside it; Judge says that it is unknown, and never acts.",
		is: func(p pair) bool {
			return p.choice == start && p.verdict.State == restartpolicy.Unknown && p.records[p.container].state == node.ContainerUnknown
		},
	},
}

// spec is the container's part of the manifest.
func (p pair) spec() *corev1.Container {
	for c := range podutil.ContainerIter(&p.pod.Spec, podutil.InitContainers|podutil.Containers) {
		if c.Name == p.container {
			return c
		}
	}
	return nil
}

// asksForReset tells that a rule of the container itself restarts all.
func (p pair) asksForReset() bool {
	r, recorded := p.records[p.container]
	rule, matches := podutil.FindMatchingContainerRestartRule(*p.spec(), r.exitCode)
	return recorded && r.state == node.ContainerExited && matches &&
		rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers
}
