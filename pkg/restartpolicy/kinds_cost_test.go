package restartpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func affinity(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
}

func wants(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

// bystander is a healthy static pod, as alter shows it, beside one that is
// forgotten, which has the port 8080.
func bystander(alter func(s *node.Snapshot, m *node.Manifest)) func(s *node.Snapshot, _ time.Duration) {
	return func(s *node.Snapshot, _ time.Duration) {
		s.Intent.Pods[0].Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 8080, Protocol: corev1.ProtocolTCP}}
		m := addPod(s, "bystander", nil)
		m.Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{}}
		alter(s, m)
	}
}

// Given a pod that is forgotten, when a restart of the kubelet may end another
// one, then it is held back, and the other is named. kubelet lifecycle/
// predicate.go Admit; kube-scheduler framework HostPortInfo.CheckConflict and
// util GetHostPorts, v1.30 to v1.37.
func TestRestartThatMayEndAnotherPodIsHeldBack(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	for name, alter := range map[string]func(s *node.Snapshot, m *node.Manifest){
		"a node selector on a label of the API": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.NodeSelector = map[string]string{"node-role.kubernetes.io/master": ""}
		},
		"a required affinity to one": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.Affinity = affinity(wants("rack", corev1.NodeSelectorOpIn, "7"))
		},
		"one that such a label exists": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.Affinity = affinity(wants("rack", corev1.NodeSelectorOpExists))
		},
		"the same port of the host": func(_ *node.Snapshot, m *node.Manifest) { m.Pod.Spec.Containers[0].Ports[0].HostPort = 8080 },
		"the same port on one address": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.Containers[0].Ports[0] = corev1.ContainerPort{HostPort: 8080, HostIP: "192.0.2.7"}
		},
		"a port of the host's network": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.HostNetwork = true
			m.Pod.Spec.Containers[0].Ports[0].ContainerPort = 8080
		},
		"the same port for a sidecar": func(s *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: &always, Ports: []corev1.ContainerPort{{HostPort: 8080}}}}
			sb := &s.Runtime.Sandboxes[1]
			proxy := sb.Containers[0]
			proxy.ID, proxy.Name = "proxy-0", "proxy"
			sb.Containers = append(sb.Containers, proxy)
		},
		"more pods than the node has room for": func(s *node.Snapshot, _ *node.Manifest) { s.Settings.MaxPods = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			w.crash(0, 1)
			line := w.watch(time.Hour, bystander(alter))
			line.quiet(t, "bystander-node1 may be rejected by the new kubelet")
			if v := line.verdict(t, c0); !inhibited(v, "cost") {
				t.Errorf("inhibited by %v", v.Inhibitors)
			}
			accepted := newWorld(2)
			accepted.policy.AcceptCost = true
			accepted.crash(0, 1)
			step := accepted.until(time.Hour, bystander(alter)).first(t, RestartKubelet, 150*time.Second, 165*time.Second)
			if len(step.Cost) == 0 {
				t.Error("where the cost is accepted, the step does not name it")
			}
			for _, line := range step.Cost {
				if name != "more pods than the node has room for" && !strings.Contains(line, "bystander-node1") {
					t.Errorf("cost %q", line)
				}
			}
		})
	}
}

// And it is not held back by what costs nothing.
func TestRestartThatEndsNobodyIsTaken(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(s *node.Snapshot, m *node.Manifest){
		"labels that the kubelet gives": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "node1"}
		},
		"labels of --node-labels": func(s *node.Snapshot, m *node.Manifest) {
			s.Settings.NodeLabels = []string{"rack"}
			m.Pod.Spec.NodeSelector = map[string]string{"rack": "7"}
		},
		"one of its terms is always true": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.Affinity = affinity(wants("rack", corev1.NodeSelectorOpIn, "7"), wants("kubernetes.io/os", corev1.NodeSelectorOpIn, "linux"))
		},
		"the label must not exist": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.Affinity = affinity(wants("drained", corev1.NodeSelectorOpDoesNotExist))
		},
		"the label must be no other": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.Affinity = affinity(wants("rack", corev1.NodeSelectorOpNotIn, "8"))
		},
		"a preferred affinity": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
				{Weight: 1, Preference: wants("rack", corev1.NodeSelectorOpIn, "7")}}}}
		},
		"another port": func(_ *node.Snapshot, m *node.Manifest) { m.Pod.Spec.Containers[0].Ports[0].HostPort = 8081 },
		"another protocol": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.Containers[0].Ports[0] = corev1.ContainerPort{HostPort: 8080, Protocol: corev1.ProtocolUDP}
		},
		"a port of its own": func(_ *node.Snapshot, m *node.Manifest) { m.Pod.Spec.Containers[0].Ports[0].ContainerPort = 8080 },
		"a plain init container's": func(_ *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.InitContainers = []corev1.Container{{Name: "init", Ports: []corev1.ContainerPort{{HostPort: 8080}}}}
		},
		"the pod at fault has the selector": func(s *node.Snapshot, _ *node.Manifest) {
			s.Intent.Pods[0].Pod.Spec.NodeSelector = map[string]string{"rack": "7"}
		},
		"a pod that does not run has it": func(s *node.Snapshot, m *node.Manifest) {
			m.Pod.Spec.NodeSelector = map[string]string{"rack": "7"}
			s.Runtime.Sandboxes = slices.DeleteFunc(s.Runtime.Sandboxes, func(sb node.Sandbox) bool { return sb.ID == "sb-bystander" })
			v := &s.Kubelet.View.Pods[1]
			v.Phase, v.Reason, v.Statuses = corev1.PodFailed, "NodeAffinity", nil
		},
		"as many pods as there is room for": func(s *node.Snapshot, _ *node.Manifest) { s.Settings.MaxPods = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			w.crash(0, 1)
			w.until(30*time.Minute, bystander(alter)).first(t, RestartKubelet, 150*time.Second, 165*time.Second)
		})
	}
}
