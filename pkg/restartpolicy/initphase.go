package restartpolicy

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// initPhase is how far the init containers of the active sandbox have come.
// Mirrors kubelet pkg/kubelet/kuberuntime computeInitContainerActions, v1.37.
type initPhase struct {
	// done: regular containers may run, or have run.
	done bool
	// reached is the index of the last init container with a record; -1 for
	// none. Plain ones before it are done, with or without a record.
	reached int
	// failed: an init container ended for good, and the kubelet ends the pod.
	failed bool
}

func (p *pod) initPhase() initPhase {
	spec := &p.manifest.Pod.Spec
	phase := initPhase{done: len(spec.InitContainers) == 0 || p.regularCreated(), reached: -1}
	for i := range spec.InitContainers {
		if _, ok := p.current.Newest(spec.InitContainers[i].Name); ok {
			phase.reached = i
		}
	}
	if phase.done || phase.reached < 0 {
		return phase
	}
	c := &spec.InitContainers[phase.reached]
	rec, _ := p.current.Newest(c.Name)
	last := phase.reached == len(spec.InitContainers)-1
	switch {
	case sidecar(c):
		phase.done = last && rec.State == node.ContainerRunning && p.started(c)
	case rec.StatusUnknown:
	case rec.State == node.ContainerExited && !initFailed(rec):
		phase.done = last
	case rec.State == node.ContainerExited:
		phase.failed = !p.initRestarts(c, rec)
	case rec.State == node.ContainerUnknown:
		phase.failed = !p.restartsOnFailure(c)
	}
	return phase
}

// started tells that a sidecar's startup probe has succeeded, as far as can be
// seen: the kubelet starts nothing after it before.
func (p *pod) started(c *corev1.Container) bool {
	if c.StartupProbe == nil {
		return true
	}
	st, ok := p.status(c.Name)
	return ok && st.Started != nil && *st.Started
}

// regularCreated tells whether a regular container has been created in the
// active sandbox, which proves that the init containers are done.
// Mirrors kubelet pkg/kubelet/container HasAnyActiveRegularContainerStarted, v1.37.
func (p *pod) regularCreated() bool {
	for i := range p.manifest.Pod.Spec.Containers {
		if _, ok := p.current.Newest(p.manifest.Pod.Spec.Containers[i].Name); ok {
			return true
		}
	}
	return false
}

// initFailed mirrors kubelet pkg/kubelet/kuberuntime isInitContainerFailed, v1.37.
func initFailed(rec node.Container) bool {
	return rec.ExitCode != 0 || rec.Reason == "OOMKilled"
}

// initRestarts tells whether the kubelet runs a plain init container again that
// failed. Without the gate for rules only the pod's policy counts, whatever the
// exit code.
func (p *pod) initRestarts(c *corev1.Container, rec node.Container) bool {
	if p.gates.ContainerRestartRules {
		return AfterExit(&p.manifest.Pod.Spec, c, rec.ExitCode, p.gates) != RestartNo
	}
	return p.restartsOnFailure(c)
}

// restartsOnFailure is the policy for a container that did not exit with a
// code, so that rules do not apply.
func (p *pod) restartsOnFailure(c *corev1.Container) bool {
	if p.gates.ContainerRestartRules && c.RestartPolicy != nil {
		return *c.RestartPolicy != corev1.ContainerRestartPolicyNever
	}
	return p.manifest.Pod.Spec.RestartPolicy != corev1.RestartPolicyNever
}

// initContainer judges the init container with that index.
func (p *pod) initContainer(i int, phase initPhase) finding {
	c := &p.manifest.Pod.Spec.InitContainers[i]
	if sidecar(c) {
		return p.container(c, true, phase)
	}
	if phase.done || i < phase.reached {
		return p.find(c, IntendedDown, "init is done")
	}
	if rec, ok := p.current.Newest(c.Name); ok && rec.State == node.ContainerExited {
		switch {
		case rec.StatusUnknown:
			return p.find(c, Unknown, "exited, and the runtime does not tell with which code")
		case !initFailed(rec):
			return p.find(c, IntendedDown, "init is done")
		case !p.initRestarts(c, rec):
			return p.find(c, IntendedDown, "it failed, and its restart policy wants it down")
		}
		return p.exited(c, rec)
	}
	return p.container(c, false, phase)
}
