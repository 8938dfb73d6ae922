package differential

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// choice is what the kubelet does about a container at its next sync.
type choice string

const (
	keep  choice = "keep"  // it runs, and may
	kill  choice = "kill"  // it runs, and the whole pod is ended
	start choice = "start" // it is (re)started, after its back-off
	later choice = "later" // its turn has not come
	never choice = "never" // it stays down
	reset choice = "reset" // every container of the pod is removed and started anew
)

// kubelet answers as the kubelet's computePodActions does, for a pod whose
// sandbox is in order. That method and its part for init containers cannot be
// called from outside, and are mirrored in this file; every question that they
// put to exported functions is put to the same functions.
// Mirrors pkg/kubelet/kuberuntime computePodActions and
// computeInitContainerActions, v1.37.
type kubelet struct {
	pod     *corev1.Pod
	status  *kubecontainer.PodStatus
	gates   restartpolicy.Gates
	choices map[string]choice
	// ended tells that the kubelet ends the whole pod.
	ended bool
}

func newKubelet(s situation, gates restartpolicy.Gates) *kubelet {
	k := &kubelet{pod: s.pod, status: s.podStatus(), gates: gates, choices: map[string]choice{}}
	switch {
	case k.pod.DeletionTimestamp != nil:
		k.endPod()
	case gates.RestartAllContainersOnContainerExits && kubecontainer.ShouldAllContainersRestart(k.pod, k.status, nil):
		for _, name := range s.names() {
			k.choices[name] = reset
		}
	default:
		if initialized, failed := k.initContainers(); failed {
			k.endPod()
		} else {
			k.containers(initialized)
		}
	}
	return k
}

// endPod is what KillPod means for each container.
func (k *kubelet) endPod() {
	k.ended = true
	for c := range podutil.ContainerIter(&k.pod.Spec, podutil.InitContainers|podutil.Containers) {
		k.choices[c.Name] = never
		if s := k.status.FindContainerStatusByName(c.Name); s != nil && s.State == kubecontainer.ContainerStateRunning {
			k.choices[c.Name] = kill
		}
	}
}

func (k *kubelet) containers(initialized bool) {
	alive := false
	for i := range k.pod.Spec.Containers {
		c := &k.pod.Spec.Containers[i]
		s := k.status.FindContainerStatusByName(c.Name)
		switch {
		case !initialized:
			k.choices[c.Name] = later
			alive = true
		case s != nil && s.State == kubecontainer.ContainerStateRunning:
			k.choices[c.Name] = keep
			alive = true
		case kubecontainer.ShouldContainerBeRestarted(klog.Logger{}, c, k.pod, k.status):
			k.choices[c.Name] = start
			alive = true
		default:
			k.choices[c.Name] = never
		}
	}
	if !alive {
		k.endPod()
	}
}

// initContainers walks backwards, as the kubelet does: the last one that has a
// record tells how far the pod has come.
func (k *kubelet) initContainers() (initialized, failed bool) {
	all := k.pod.Spec.InitContainers
	initialized = len(all) == 0 || kubecontainer.HasAnyActiveRegularContainerStarted(&k.pod.Spec, k.status)
	begun := initialized
	for i := len(all) - 1; i >= 0; i-- {
		c := &all[i]
		sidecar := podutil.IsRestartableInitContainer(c)
		s := k.status.FindActiveContainerStatusByName(c.Name)
		if s == nil {
			k.choices[c.Name] = later
			if begun && sidecar {
				k.choices[c.Name] = start
			} else if begun {
				k.choices[c.Name] = never
			}
			continue
		}
		if begun && !sidecar {
			k.choices[c.Name] = never
			continue
		}
		passed := false
		switch {
		case s.State == kubecontainer.ContainerStateRunning:
			k.choices[c.Name] = keep
			passed = sidecar
		case s.State == kubecontainer.ContainerStateCreated || sidecar:
			k.choices[c.Name] = start
		case s.State == kubecontainer.ContainerStateExited && s.ExitCode == 0 && s.Reason != "OOMKilled":
			k.choices[c.Name] = never
			passed = true
		case k.retried(c, s):
			k.choices[c.Name] = start
		default:
			return false, true
		}
		if passed && i == len(all)-1 {
			initialized = true
		} else if passed && !begun {
			k.choices[all[i+1].Name] = start
		}
		begun = true
	}
	if !begun {
		k.choices[all[0].Name] = start
	}
	return initialized, false
}

// retried tells whether an init container that failed, or whose state is
// unknown, is tried again.
func (k *kubelet) retried(c *corev1.Container, s *kubecontainer.Status) bool {
	switch {
	case k.gates.ContainerRestartRules && s.State == kubecontainer.ContainerStateExited:
		return kubecontainer.ShouldContainerBeRestarted(klog.Logger{}, c, k.pod, k.status)
	case k.gates.ContainerRestartRules && c.RestartPolicy != nil:
		return *c.RestartPolicy != corev1.ContainerRestartPolicyNever
	}
	return k.pod.Spec.RestartPolicy != corev1.RestartPolicyNever
}
