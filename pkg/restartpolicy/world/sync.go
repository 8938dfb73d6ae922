//go:build world

package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// syncPod is one sync of a pod (kubelet.go SyncPod). It is one thread: whatever
// takes long in it (a pull, a kill with its grace, a hook) keeps all the rest of
// the pod waiting.
func (q *worker) syncPod(t *task) (terminal bool, err error) {
	w := q.k.w
	records := w.crio.records(q.uid)
	for _, r := range records {
		if r.statusLost {
			said := node.Said{At: t.sim.now, Message: "get container status: rpc error: code = Unknown"}
			q.k.told.containers[r.id] = said
			return false, &syncError{message: "error determining status: rpc error: code = Unknown"}
		}
	}
	status := q.podStatus()
	q.show(status, "")
	if status.Phase == corev1.PodFailed || status.Phase == corev1.PodSucceeded {
		return true, nil
	}
	if !w.crio.network && !q.pod.HostNetwork {
		return false, &syncError{word: "", message: "network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady", network: true}
	}
	if !q.mount(t) {
		return false, &syncError{message: "unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: context deadline exceeded"}
	}
	return false, q.act(t, q.actions())
}

// mount is WaitForAttachAndMount (volume_manager.go, 2m3s): a Secret is fetched
// and mounted anew with each sync, everything else stays mounted.
func (q *worker) mount(t *task) bool {
	if q.pod.Volume == "" || q.pod.Volume != "secret" && q.mounted {
		return true
	}
	until := t.sim.now + 2*time.Minute + 3*time.Second
	for q.k.w.volumeLate(q.name) {
		if t.sim.now >= until {
			return false
		}
		t.sleep(min(time.Second, until-t.sim.now))
	}
	q.mounted = true
	return true
}

// actions are what a sync does (kuberuntime_manager.go computePodActions).
type actions struct {
	killPod, newSandbox bool
	sandbox             *sandbox
	kill                []*container
	init, start         []*Container
}

func (q *worker) actions() actions {
	c := q.k.w.crio
	sandboxes, records := c.of(q.uid), c.records(q.uid)
	ready := 0
	for _, sb := range sandboxes {
		if sb.ready {
			ready++
		}
	}
	if len(sandboxes) == 0 || !sandboxes[0].ready || ready > 1 {
		return q.anew(len(sandboxes), records)
	}
	active := sandboxes[0]
	a := actions{sandbox: active}
	if !q.initActions(active, &a) || a.killPod {
		return a
	}
	keep := 0
	for i := range q.pod.Main {
		spec := &q.pod.Main[i]
		r := newest(records, spec.Name)
		if r == nil || r.state != node.ContainerRunning {
			if q.restarts(spec, r) {
				a.start = append(a.start, spec)
				if r != nil && r.state == node.ContainerUnknown {
					a.kill = append(a.kill, r)
				}
			}
			continue
		}
		if hash, ok := q.hash[r.id]; !(ok && hash != q.pod.Revision) && !q.k.liveness[r.id] {
			keep++
			continue
		}
		a.kill = append(a.kill, r)
		a.start = append(a.start, spec)
	}
	if keep == 0 && len(a.start) == 0 {
		a.killPod, a.init = true, nil
	}
	return a
}

// anew is a sandbox that has to be made: everything begins again.
func (q *worker) anew(had int, records []*container) actions {
	a := actions{killPod: true, newSandbox: true}
	if q.pod.Policy == corev1.RestartPolicyNever && had > 0 && len(records) > 0 {
		a.newSandbox = false
		return a
	}
	for i := range q.pod.Main {
		spec := &q.pod.Main[i]
		if r := newest(records, spec.Name); r != nil && q.policy(spec) == corev1.RestartPolicyOnFailure &&
			r.state == node.ContainerExited && r.code == 0 {
			continue
		}
		a.start = append(a.start, spec)
	}
	if len(a.start) == 0 {
		a.newSandbox = false
		return a
	}
	if len(q.pod.Init) > 0 {
		a.init, a.start = []*Container{&q.pod.Init[0]}, nil
	}
	return a
}

// policy is the restart policy of one container.
func (q *worker) policy(c *Container) corev1.RestartPolicy {
	switch {
	case c.Sidecar:
		return corev1.RestartPolicyAlways
	case c.Policy != "" && q.k.since(135):
		return corev1.RestartPolicy(c.Policy)
	}
	return q.pod.Policy
}

// restarts is ShouldContainerBeRestarted.
func (q *worker) restarts(c *Container, r *container) bool {
	switch {
	case r == nil:
		return true
	case r.state == node.ContainerRunning:
		return false
	case r.state != node.ContainerExited:
		return true
	}
	switch q.policy(c) {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return r.code != 0
	}
	return true
}

// initActions is computeInitContainerActions, on the records of the active
// sandbox only. It tells whether the pod is initialised.
func (q *worker) initActions(active *sandbox, a *actions) bool {
	if len(q.pod.Init) == 0 {
		return true
	}
	initialised := false
	for _, r := range active.containers {
		if !q.pod.init(r.spec.Name) && (r.state == node.ContainerRunning || r.state == node.ContainerExited) {
			initialised = true
		}
	}
	before := initialised
	for i := len(q.pod.Init) - 1; i >= 0; i-- {
		spec := &q.pod.Init[i]
		var r *container
		for _, other := range active.containers {
			if other.spec.Name == spec.Name && (r == nil || other.created.After(r.created)) {
				r = other
			}
		}
		switch {
		case r == nil:
			if before && spec.Sidecar {
				a.init = append(a.init, spec)
			}
			continue
		case before && !spec.Sidecar:
			continue
		}
		switch r.state {
		case node.ContainerCreated:
			a.init = append(a.init, spec)
		case node.ContainerRunning:
			if !spec.Sidecar {
				break
			}
			if i == len(q.pod.Init)-1 {
				initialised = true
			} else if !before {
				a.init = append(a.init, &q.pod.Init[i+1])
			}
		case node.ContainerExited:
			switch {
			case spec.Sidecar:
				a.init = append(a.init, spec)
			case r.code != 0:
				if q.policy(spec) == corev1.RestartPolicyNever {
					a.killPod, a.init = true, nil
					return false
				}
				a.init = append(a.init, spec)
			case i == len(q.pod.Init)-1:
				initialised = true
			default:
				a.init = append(a.init, &q.pod.Init[i+1])
			}
		}
		before = true
	}
	if !before {
		a.init = append(a.init, &q.pod.Init[0])
	}
	for i, j := 0, len(a.init)-1; i < j; i, j = i+1, j-1 {
		a.init[i], a.init[j] = a.init[j], a.init[i]
	}
	return initialised
}

// act carries them out (kuberuntime_manager.go SyncPod).
func (q *worker) act(t *task, a actions) error {
	w := q.k.w
	if a.killPod {
		if err := q.killPod(t); err != nil {
			return err
		}
	}
	for _, r := range a.kill {
		if err := q.killContainer(t, r); err != nil {
			return err
		}
		delete(q.k.liveness, r.id)
	}
	if a.newSandbox {
		var made *sandbox
		err := w.crio.ask(t, 2*callLimit, func(o *task) (err error) {
			made, err = w.crio.runPodSandbox(o, q.pod, q.name, q.uid, q.rand)
			return err
		})
		if err != nil {
			return &syncError{word: "CreatePodSandboxError", message: err.Error()}
		}
		a.sandbox = made
	}
	if a.sandbox == nil {
		return nil
	}
	var first error
	for _, spec := range a.init {
		if err := q.startOne(t, a.sandbox, spec); err != nil {
			if first == nil {
				first = err
			}
			if !spec.Sidecar {
				return first
			}
		}
	}
	for _, spec := range a.start {
		if err := q.startOne(t, a.sandbox, spec); err != nil && first == nil {
			first = err
		}
	}
	return first
}
