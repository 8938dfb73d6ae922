package differential

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// generator makes pods and what has become of their containers. It also makes
// what the API would refuse (unknown words, rules without a policy): a newer
// API may allow it, and the two sides must still agree.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

// chance is true n times in hundred.
func (g generator) chance(n int) bool { return g.IntN(100) < n }

func (g generator) podPolicy() corev1.RestartPolicy {
	return pick[corev1.RestartPolicy](g, "", "Always", "OnFailure", "Never", "Sometimes")
}

func (g generator) containerPolicy() *corev1.ContainerRestartPolicy {
	policy := pick[corev1.ContainerRestartPolicy](g, "", "Always", "OnFailure", "Never", "Sometimes")
	if policy == "" {
		return nil
	}
	return &policy
}

// exitCode prefers few values, so that rules match often.
func (g generator) exitCode() int32 {
	if g.chance(5) {
		return g.Int32N(1<<16) - 1<<15
	}
	return pick[int32](g, 0, 1, -1, 137, 255)
}

func (g generator) rules() []corev1.ContainerRestartRule {
	var rules []corev1.ContainerRestartRule
	for range g.IntN(4) {
		rule := corev1.ContainerRestartRule{
			Action: pick[corev1.ContainerRestartRuleAction](g, "Restart", "RestartAllContainers", "Shrug"),
		}
		if !g.chance(15) {
			rule.ExitCodes = &corev1.ContainerRestartRuleOnExitCodes{
				Operator: pick[corev1.ContainerRestartRuleOnExitCodesOperator](g, "In", "NotIn", "Near"),
			}
			for range g.IntN(5) {
				rule.ExitCodes.Values = append(rule.ExitCodes.Values, g.exitCode())
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

func (g generator) container(name string) corev1.Container {
	return corev1.Container{Name: name, Image: "image", RestartPolicy: g.containerPolicy(), RestartPolicyRules: g.rules()}
}

// record is the newest record of a container.
type record struct {
	state    node.ContainerState
	exitCode int32
	// oom is the reason OOMKilled, which CRI may give beside exit code 0.
	oom     bool
	attempt uint32
}

func (g generator) record() record {
	r := record{attempt: g.Uint32N(4)}
	r.state = pick(g, node.ContainerExited, node.ContainerExited, node.ContainerExited,
		node.ContainerRunning, node.ContainerRunning, node.ContainerCreated, node.ContainerUnknown)
	if r.state == node.ContainerExited {
		r.exitCode = g.exitCode()
		r.oom = g.chance(5)
	}
	return r
}

// situation is a pod in one ready sandbox, and what the runtime and the kubelet
// say of it.
type situation struct {
	pod *corev1.Pod
	// records by container name; none means that the runtime knows of none.
	records map[string]record
	// viewed tells that the kubelet's view is to be had.
	viewed bool
	// lost containers ran before, by that view, and have no record any more.
	lost map[string]bool
}

func (g generator) situation() situation {
	s := situation{records: map[string]record{}, lost: map[string]bool{}, viewed: g.chance(70)}
	s.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "etcd-a", UID: "uid"}}
	s.pod.Spec.RestartPolicy = g.podPolicy()
	for i := range pick(g, 0, 0, 1, 2, 3) {
		s.pod.Spec.InitContainers = append(s.pod.Spec.InitContainers, g.container(fmt.Sprint("init-", i)))
	}
	for i := range pick(g, 1, 1, 2) {
		s.pod.Spec.Containers = append(s.pod.Spec.Containers, g.container(fmt.Sprint("main-", i)))
	}
	if s.viewed && g.chance(5) {
		s.pod.DeletionTimestamp = &metav1.Time{}
	}
	initRecords, mainRecords := pick(g, 20, 60, 90), pick(g, 0, 80, 95)
	for _, c := range s.pod.Spec.InitContainers {
		g.recordOf(s, c.Name, initRecords)
	}
	for _, c := range s.pod.Spec.Containers {
		g.recordOf(s, c.Name, mainRecords)
	}
	return s
}

func (g generator) recordOf(s situation, name string, percent int) {
	if g.chance(percent) {
		s.records[name] = g.record()
	} else if s.viewed && g.chance(20) {
		s.lost[name] = true
	}
}
