package differential

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// TestAfterExitIsTheKubelets compares the three answers about one exited
// container. Two of the kubelet's functions are asked: the one that knows the
// rules, and the one that its sync calls.
func TestAfterExitIsTheKubelets(t *testing.T) {
	forEachRuleGates(t, func(t *testing.T, set map[string]bool) {
		g := newGenerator(t, 1)
		gates := restartpolicy.GatesOf("1.37.2", set)
		answers := map[restartpolicy.Restart]int{}
		for range *pairs {
			pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: g.podPolicy(), Containers: []corev1.Container{g.container("main")}}}
			c, code := &pod.Spec.Containers[0], g.exitCode()
			got := restartpolicy.AfterExit(&pod.Spec, c, code, gates)
			answers[got]++

			status := &kubecontainer.PodStatus{ContainerStatuses: []*kubecontainer.Status{record{state: node.ContainerExited, exitCode: code}.status("main")}}
			sync := kubecontainer.ShouldContainerBeRestarted(klog.Logger{}, c, pod, status)
			if (got != restartpolicy.RestartNo) != sync {
				t.Fatalf("AfterExit = %d, ShouldContainerBeRestarted = %t: exit code %d, %s", got, sync, code, asJSON(pod.Spec))
			}
			if rules := podutil.ContainerShouldRestart(*c, pod.Spec, code); gates.ContainerRestartRules && (got != restartpolicy.RestartNo) != rules {
				t.Fatalf("AfterExit = %d, ContainerShouldRestart = %t: exit code %d, %s", got, rules, code, asJSON(pod.Spec))
			}
			all := gates.RestartAllContainersOnContainerExits && kubecontainer.ShouldAllContainersRestart(pod, status, nil)
			if c.RestartPolicy != nil && (got == restartpolicy.RestartAll) != all {
				t.Fatalf("AfterExit = %d, ShouldAllContainersRestart = %t: exit code %d, %s", got, all, code, asJSON(pod.Spec))
			}
			pod.DeletionTimestamp = &metav1.Time{}
			if kubecontainer.ShouldContainerBeRestarted(klog.Logger{}, c, pod, status) {
				t.Fatal("the kubelet restarts containers of a pod that is being deleted")
			}
		}
		t.Logf("%d pairs of container and exit code compared: %d down, %d restart, %d restart all", *pairs,
			answers[restartpolicy.RestartNo], answers[restartpolicy.RestartYes], answers[restartpolicy.RestartAll])
		if answers[restartpolicy.RestartNo] < *pairs/10 || answers[restartpolicy.RestartYes] < *pairs/10 {
			t.Error("the cases are lopsided: they prove little")
		}
	})
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
