package differential

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// now is the moment of every look. Everything else happened well before it, so
// that no hold-off has a say.
var now = node.Instant{Wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Boot: 240 * time.Hour}

var states = map[node.ContainerState]kubecontainer.State{
	node.ContainerCreated: kubecontainer.ContainerStateCreated,
	node.ContainerRunning: kubecontainer.ContainerStateRunning,
	node.ContainerExited:  kubecontainer.ContainerStateExited,
	node.ContainerUnknown: kubecontainer.ContainerStateUnknown,
}

// podStatus is the situation as the kubelet reads it from the runtime. There is
// one sandbox, so every status is of the active one.
func (s situation) podStatus() *kubecontainer.PodStatus {
	status := &kubecontainer.PodStatus{ID: s.pod.UID, Namespace: s.pod.Namespace, Name: s.pod.Name}
	for _, name := range s.names() {
		if r, ok := s.records[name]; ok {
			status.ContainerStatuses = append(status.ContainerStatuses, r.status(name))
		}
	}
	status.ActiveContainerStatuses = status.ContainerStatuses
	return status
}

func (r record) status(name string) *kubecontainer.Status {
	return &kubecontainer.Status{Name: name, State: states[r.state], ExitCode: int(r.exitCode),
		Reason: r.reason(), RestartCount: int(r.attempt)}
}

func (r record) reason() string {
	if r.oom {
		return "OOMKilled"
	}
	return ""
}

// names are the pod's containers, init containers first.
func (s situation) names() []string {
	var names []string
	for _, c := range s.pod.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range s.pod.Spec.Containers {
		names = append(names, c.Name)
	}
	return names
}

// snapshot is the situation as the agent sees it.
func (s situation) snapshot(gates map[string]bool) *node.Snapshot {
	name := node.PodName{Namespace: s.pod.Namespace, Name: s.pod.Name}
	past := now.Wall.Add(-100 * time.Hour)
	sandbox := node.Sandbox{ID: "sandbox", Pod: name, UID: string(s.pod.UID), Ready: true, Source: "file", CreatedAt: past}
	for _, c := range s.names() {
		if r, ok := s.records[c]; ok {
			sandbox.Containers = append(sandbox.Containers, r.container(c, past))
		}
	}
	manifest := s.pod.DeepCopy()
	manifest.DeletionTimestamp = nil // the kubelet's business, not the file's
	out := &node.Snapshot{Taken: now, Host: node.Host{BootID: "boot"}}
	out.Settings.FeatureGates, out.Settings.Version = gates, "1.37.2"
	out.Intent.Pods = []node.Manifest{{Name: name, Path: "/manifests/etcd.yaml", Digest: "digest", Modified: past, Pod: manifest}}
	out.Runtime.Sandboxes = []node.Sandbox{sandbox}
	out.Kubelet.View = s.view(name)
	return out
}

func (r record) container(name string, past time.Time) node.Container {
	c := node.Container{ID: name, SandboxID: "sandbox", Name: name, Attempt: r.attempt, State: r.state, CreatedAt: past,
		ExitCode: r.exitCode, Reason: r.reason(), Grace: 30 * time.Second}
	switch r.state {
	case node.ContainerRunning:
		c.StartedAt = past
		c.Process = node.Process{PID: 1234, State: node.ProcessAlive}
	case node.ContainerExited:
		c.StartedAt, c.FinishedAt = past, past.Add(time.Hour)
	}
	return c
}

func (s situation) view(name node.PodName) node.View {
	if !s.viewed {
		return node.View{Source: node.ViewNone}
	}
	pod := node.PodView{Name: name, UID: string(s.pod.UID), Static: true, Phase: corev1.PodRunning,
		Terminating: s.pod.DeletionTimestamp != nil}
	for _, c := range s.names() {
		status := corev1.ContainerStatus{Name: c}
		if r, ok := s.records[c]; ok {
			status.RestartCount = int32(r.attempt)
		}
		if s.lost[c] {
			status.RestartCount = 2
		}
		pod.Statuses = append(pod.Statuses, status)
	}
	return node.View{Source: node.ViewPodsAPI, Pods: []node.PodView{pod}}
}
