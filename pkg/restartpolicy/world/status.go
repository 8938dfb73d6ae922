//go:build world

package world

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// podStatus is the status that a sync generates from what CRI says at its
// beginning: it stays what the view shows until the next one (kubelet_pods.go
// generateAPIPodStatus, convertToAPIContainerStatuses).
func (q *worker) podStatus() node.PodView {
	v := node.PodView{Name: q.name, UID: q.uid, Static: q.pod.Static}
	records := q.k.w.crio.records(q.uid)
	created := false
	for _, r := range records {
		created = created || !q.pod.init(r.spec.Name)
	}
	var old []corev1.ContainerStatus
	if q.known != nil {
		old = q.known.status.Statuses
	}
	for _, spec := range q.pod.all() {
		v.Statuses = append(v.Statuses, q.containerStatus(spec, records, old, created))
	}
	v.Phase = q.phaseOf(v.Statuses)
	if q.ended != "" {
		v.Phase, v.Reason = corev1.PodFailed, q.ended
	}
	if q.pod.Deadline > 0 && q.k.w.sim.now-q.born > q.pod.Deadline {
		v.Phase, v.Reason = corev1.PodFailed, "DeadlineExceeded"
	}
	return v
}

func (q *worker) containerStatus(spec *Container, records []*container, old []corev1.ContainerStatus, created bool) corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: spec.Name, Image: spec.Image}
	s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	if len(q.pod.Init) > 0 {
		s.State.Waiting.Reason = "PodInitializing"
	}
	for i := range old {
		if old[i].Name != spec.Name {
			continue
		}
		if old[i].State.Terminated != nil {
			s = old[i]
		} else {
			s.RestartCount, s.LastTerminationState = old[i].RestartCount, old[i].LastTerminationState
		}
	}
	seen := 0
	for _, r := range records {
		if r.spec.Name != spec.Name || seen == 2 {
			continue
		}
		if seen == 0 {
			s.State, s.RestartCount, s.ContainerID = stateOf(r), int32(r.attempt), "cri-o://"+r.id
		} else {
			s.LastTerminationState = stateOf(r)
		}
		seen++
	}
	r := newest(records, spec.Name)
	if q.pod.init(spec.Name) {
		if r != nil && r.state == node.ContainerExited && r.code == 0 {
			return s
		}
		if r == nil && created && !spec.Sidecar && s.State.Waiting != nil {
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
			return s
		}
	}
	why, failed := q.reasons[spec.Name]
	if !failed || !q.restarts(spec, r) {
		return s
	}
	if s.State.Terminated != nil {
		s.LastTerminationState = s.State
	}
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why.word, Message: why.message}}
	return s
}

func stateOf(r *container) corev1.ContainerState {
	switch r.state {
	case node.ContainerRunning:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: stamp(r.started)}}
	case node.ContainerExited:
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: r.code, Reason: r.reason,
			StartedAt: stamp(r.started), FinishedAt: stamp(r.finished), ContainerID: "cri-o://" + r.id}}
	}
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
}

// phaseOf is getPhase.
func (q *worker) phaseOf(statuses []corev1.ContainerStatus) corev1.PodPhase {
	pending, running, waiting, stopped, final, good := 0, 0, 0, 0, 0, 0
	for i := range statuses {
		s := &statuses[i]
		spec := q.pod.find(s.Name)
		if q.pod.init(s.Name) {
			switch {
			case spec.Sidecar:
				continue
			case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0:
			case s.State.Terminated != nil && q.policy(spec) == corev1.RestartPolicyNever:
				return corev1.PodFailed
			default:
				pending++
			}
			continue
		}
		switch ended := s.State.Terminated; {
		case s.State.Running != nil:
			running++
		case ended != nil:
			stopped++
			p := q.policy(spec)
			if p == corev1.RestartPolicyNever || p == corev1.RestartPolicyOnFailure && ended.ExitCode == 0 {
				final++
			}
			if ended.ExitCode == 0 {
				good++
			}
		case s.LastTerminationState.Terminated != nil:
			stopped++
		default:
			waiting++
		}
	}
	switch {
	case pending > 0, waiting > 0:
		return corev1.PodPending
	case running > 0:
		return corev1.PodRunning
	case final == stopped && good == stopped:
		return corev1.PodSucceeded
	case final == stopped:
		return corev1.PodFailed
	}
	return corev1.PodRunning
}

// view is what /pods shows: the pod manager, with the statuses laid over.
func (k *kubelet) view() []node.PodView {
	if k.cachedAt != k.version {
		k.cached = make([]node.PodView, 0, len(k.pods))
		for _, p := range k.pods {
			k.cached = append(k.cached, p.status)
		}
		k.cachedAt = k.version
	}
	return k.cached
}
