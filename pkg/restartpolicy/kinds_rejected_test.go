package restartpolicy

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// reject adds a static pod that the kubelet does not admit.
func reject(s *node.Snapshot, name, reason string) *node.Manifest {
	m := addPod(s, name, nil)
	s.Runtime.Sandboxes = s.Runtime.Sandboxes[:len(s.Runtime.Sandboxes)-1]
	if s.Kubelet.View.Known() {
		v := &s.Kubelet.View.Pods[len(s.Kubelet.View.Pods)-1]
		v.Phase, v.Reason, v.Statuses = corev1.PodFailed, reason, nil
	}
	return m
}

// Reasons that lie in the pod or the node's make, and that admission gives anew
// each time. kubelet pkg/kubelet/lifecycle/predicate.go, handlers.go and
// features_linux.go, sysctl/allowlist.go, cm/cpumanager/policy_static.go,
// cm/admission/errors.go; v1.30 to v1.37.
func TestRejectionThatNoRetryChangesIsReported(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		"NodeAffinity", "NodeName", "PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "InitContainerRestartPolicyForbidden",
		"SupplementalGroupsPolicyNotSupported", "PodLevelResourcesNotAdmitted", "PodFeatureUnsupported", "AppArmor", "SysctlForbidden",
		"SMTAlignmentError", "EmptyPodSharedPoolError", "AReasonOfALaterVersion",
	} {
		t.Run(reason, func(t *testing.T) {
			line := newWorld(1).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) { reject(s, "other", reason) })
			line.quiet(t, "the next admission says the same")
			if v := line.verdict(t, "kube-system/other-node1"); v.State != Rejected || len(v.Missing()) == 0 {
				t.Errorf("%s, missing %v", v.State, v.Missing())
			}
		})
	}
}

// Two static pods want one port of the host: a retry would only let them change
// places.
func TestHostPortOfAnotherStaticPodIsNoReasonToRetry(t *testing.T) {
	t.Parallel()
	newWorld(1).watch(6*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		s.Intent.Pods[0].Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 9100}}
		reject(s, "other", "NodePorts").Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 9100}}
	}).quiet(t, "app-node1 has the port")
}

// Reasons that another pod's end, or time, may take away: retried, with a bound.
func TestRejectionThatMayPassIsRetriedWithABound(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		"OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage", "OutOfvendor.example/gpu",
		"UnexpectedAdmissionError", "TopologyAffinityError", "Preempting", "NodeShutdown", "Terminated",
		// A pod of the API server had the port, and is gone: no static pod wants it.
		"NodePorts",
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(1)
			line := w.watch(90*time.Minute, func(s *node.Snapshot, _ time.Duration) {
				reject(s, "other", reason).Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 9100}}
			})
			line.first(t, RestartKubelet, time.Minute, 90*time.Second)
			line.never(t, "only a new admission helps", StopContainer, RemoveContainer, StopOldSandbox, StopSandbox, RestartRuntime, ReplaceManifest)
			if n := len(line.acts); n > len(w.policy.RejectedGaps) {
				t.Errorf("%d retries: %v", n, line.acts)
			}
		})
	}
}

// However many pods are rejected, the node's budget is one.
func TestManyRejectedPodsShareOneBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	line := w.watch(8*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		for i := range 4 {
			reject(s, fmt.Sprint("other", i), "OutOfpods")
		}
	})
	conf := w.policy.Steps.RestartKubelet
	if len(line.acts) > conf.PerDay {
		t.Errorf("%d restarts in a day, bound %d", len(line.acts), conf.PerDay)
	}
	for i, a := range line.acts {
		if i >= conf.PerHour && a.after-line.acts[i-conf.PerHour].after < time.Hour {
			t.Errorf("more than %d an hour: %v", conf.PerHour, line.acts)
		}
	}
}

// Nothing is retried while the node shuts down, which is what rejects the pod.
func TestRejectedSinceTheNodeShutsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	w.shuttingDown = true
	w.watch(30*time.Minute, func(s *node.Snapshot, _ time.Duration) { reject(s, "other", "NodeShutdown") }).
		quiet(t, "the system is shutting down")
}

// Without a view the kubelet's journal names the reason, once.
func TestRejectionIsKnownWithoutAView(t *testing.T) {
	t.Parallel()
	told := func(reason string) func(*node.Snapshot, time.Duration) {
		return func(s *node.Snapshot, _ time.Duration) {
			name := reject(s, "other", reason).Name
			blind(s)
			silent(s)
			s.Kubelet.Told.Pods = map[node.PodName]node.Said{name: {At: bootTime, Reason: reason, Message: "Predicate failed"}}
		}
	}
	for _, reason := range []string{"NodeAffinity", "SysctlForbidden", "PodOSNotSupported"} {
		t.Run(reason, func(t *testing.T) {
			line := newWorld(1).watch(time.Hour, told(reason))
			line.quiet(t, "the next admission says the same")
			if v := line.verdict(t, "kube-system/other-node1"); v.State != Rejected {
				t.Errorf("%s: %s", v.State, v.Detail)
			}
		})
	}
	for _, reason := range []string{"OutOfcpu", "UnexpectedAdmissionError"} {
		t.Run(reason, func(t *testing.T) {
			line := newWorld(1).watch(90*time.Minute, told(reason))
			line.first(t, RestartKubelet, time.Minute, 5*time.Minute)
			if v := line.verdict(t, "kube-system/other-node1"); v.State != Rejected || len(line.acts) > 6 {
				t.Errorf("%s, %d restarts", v.State, len(line.acts))
			}
		})
	}
}
