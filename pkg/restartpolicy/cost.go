package restartpolicy

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// loss is what a restart of the kubelet may end: a kubelet that starts admits all
// pods anew (kubelet pkg/kubelet/lifecycle/predicate.go Admit, v1.30 to v1.37).
type loss struct {
	// pod is the one that may end; empty where it is one of several.
	pod  node.PodName
	text string
}

// lossesOf are those among the static pods that run.
func lossesOf(s *node.Snapshot) []loss {
	var out []loss
	var running map[node.PodName]bool
	runs := func(name node.PodName) bool {
		if running == nil {
			running = runningStatic(s)
		}
		return running[name]
	}
	limit := cmp.Or(s.Settings.MaxPods, 110)
	accepted := 0
	type claimed struct {
		name  node.PodName
		ports []hostPort
	}
	var before []claimed
	for i := range s.Intent.Pods {
		m := &s.Intent.Pods[i]
		if _, refused := s.Kubelet.Told.Manifests[m.Path]; !refused {
			accepted++
		}
		if label := foreignLabel(&m.Pod.Spec, s.Settings.NodeLabels); label != "" && runs(m.Name) {
			out = append(out, loss{m.Name, m.Name.String() + " wants the node label " + label + ", which only the API server gives: it is rejected while that is away"})
		}
		ports := hostPorts(&m.Pod.Spec)
		if len(ports) == 0 {
			continue
		}
		for _, other := range before {
			if port, taken := conflict(ports, other.ports); taken && (runs(m.Name) || runs(other.name)) {
				out = append(out, loss{text: fmt.Sprintf("%s and %s want host port %d/%s: which of them runs afterwards is chance", other.name, m.Name, port.number, port.protocol)})
			}
		}
		before = append(before, claimed{m.Name, ports})
	}
	if accepted > limit {
		out = append(out, loss{text: fmt.Sprintf("%d static pods want room for %d (maxPods): which of them runs afterwards is chance", accepted, limit)})
	}
	return out
}

// cost is in words what the kubelet's restart may end but for the pod at fault.
func (a *asked) cost() []string {
	var out []string
	for _, l := range a.node.losses {
		if l.pod != a.verdict.PodName || l.pod.Name == "" {
			out = append(out, l.text)
		}
	}
	return out
}

func runningStatic(s *node.Snapshot) map[node.PodName]bool {
	out := map[node.PodName]bool{}
	for i := range s.Runtime.Sandboxes {
		if sb := &s.Runtime.Sandboxes[i]; sb.Ready && (sb.Static() || sb.Source == "") {
			out[sb.Pod] = true
		}
	}
	return out
}

// ownLabels are those that a kubelet gives the node without an API server
// (kubelet pkg/kubelet/kubelet_node_status.go initialNode, v1.37).
var ownLabels = []string{corev1.LabelHostname, corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch"}

// foreignLabel is a node label that a pod requires and that the kubelet does not
// give the node itself; "" for none. Of the terms of an affinity one is enough.
func foreignLabel(spec *corev1.PodSpec, own []string) string {
	ours := func(key string) bool { return slices.Contains(ownLabels, key) || slices.Contains(own, key) }
	foreign := ""
	for key := range spec.NodeSelector {
		if !ours(key) && (foreign == "" || key < foreign) {
			foreign = key
		}
	}
	a := spec.Affinity
	if foreign != "" || a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return foreign
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		i := slices.IndexFunc(term.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool {
			return e.Operator != corev1.NodeSelectorOpDoesNotExist && e.Operator != corev1.NodeSelectorOpNotIn && !ours(e.Key)
		})
		if i < 0 {
			return ""
		}
		foreign = term.MatchExpressions[i].Key
	}
	return foreign
}

// hostPort is a port of the node that a pod claims; no address means all.
type hostPort struct {
	number            int32
	protocol, address string
}

// hostPorts are those of regular containers and of sidecars.
func hostPorts(spec *corev1.PodSpec) []hostPort {
	var out []hostPort
	claim := func(c *corev1.Container) {
		for _, p := range c.Ports {
			port := hostPort{p.HostPort, cmp.Or(string(p.Protocol), "TCP"), p.HostIP}
			if port.number == 0 && spec.HostNetwork {
				port.number = p.ContainerPort
			}
			if port.address == "0.0.0.0" || port.address == "::" {
				port.address = ""
			}
			if port.number != 0 {
				out = append(out, port)
			}
		}
	}
	for i := range spec.InitContainers {
		if sidecar(&spec.InitContainers[i]) {
			claim(&spec.InitContainers[i])
		}
	}
	for i := range spec.Containers {
		claim(&spec.Containers[i])
	}
	return out
}

// conflict finds a port that both want. Mirrors kube-scheduler
// framework HostPortInfo.CheckConflict, v1.37.
func conflict(a, b []hostPort) (hostPort, bool) {
	for _, x := range a {
		for _, y := range b {
			if x.number == y.number && x.protocol == y.protocol && (x.address == y.address || x.address == "" || y.address == "") {
				return x, true
			}
		}
	}
	return hostPort{}, false
}
