package restartpolicy

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// curable are faults that stay until a step is taken, one for each kind of step
// and more for the kubelet. Each call makes its node anew.
var curable = map[string]func() (*world, func(*node.Snapshot, time.Duration)){
	"forgotten": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(*node.Snapshot, time.Duration) {}
	},
	"forgotten, with a journal only": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, _ time.Duration) { blind(s); silent(s) }
	},
	"waits for an old revision": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, _ time.Duration) { newRevisionWaits(s) }
	},
	"waits for an old revision, seen by its UID only": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, _ time.Duration) { s.Intent.Pods[0].Pod.UID = "new-uid"; blind(s) }
	},
	"never started": func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(1), func(s *node.Snapshot, _ time.Duration) {
			addPod(s, "etcd", nil)
			s.Runtime.Sandboxes, s.Kubelet.View.Pods = s.Runtime.Sandboxes[1:], s.Kubelet.View.Pods[1:]
			silent(s)
		}
	},
	"rejected": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(1)
		w.rejected = true
		return w, func(s *node.Snapshot, _ time.Duration) {
			addPod(s, "etcd", nil)
			s.Runtime.Sandboxes = s.Runtime.Sandboxes[1:]
		}
	},
	"the kubelet is stopped by a signal": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(1)
		w.kubeletUp = false
		return w, func(*node.Snapshot, time.Duration) {}
	},
	"the kubelet is stopped by a signal between creation and start": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(1)
		w.kubeletUp = false
		w.containers[0].created = true
		return w, func(*node.Snapshot, time.Duration) {}
	},
	"a stop hangs": func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(2), func(s *node.Snapshot, since time.Duration) {
			newRevisionWaits(s)
			exit(s, 1, 0)
			s.Runtime.Calls = []node.RuntimeCall{{PID: 4, Verb: "kill", ContainerID: "c0-0", Age: since}}
		}
	},
	"two generations": func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(1), func(s *node.Snapshot, _ time.Duration) {
			old := s.Runtime.Sandboxes[0]
			old.ID, old.UID = "old", "old-uid"
			s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, old)
		}
	},
	"stale running": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.containers[0].stale = true
		return w, func(*node.Snapshot, time.Duration) {}
	},
	"created and never started": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.containers[0].created = true
		return w, func(*node.Snapshot, time.Duration) {}
	},
	"two attempts run": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.containers[0].attempt = 5
		return w, func(s *node.Snapshot, _ time.Duration) { twice(s) }
	},
	"sandbox lost": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 137)
		w.crash(1, 137)
		return w, func(s *node.Snapshot, _ time.Duration) { infraGone(s) }
	},
	"the runtime is stopped by a signal": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(1)
		w.runtimeUp, w.silentSince = false, bootTime
		return w, func(s *node.Snapshot, _ time.Duration) { s.Runtime.Unit.ProcessState = "T" }
	},
	"creations time out": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, _ time.Duration) {
			waiting(s, 0, "CreateContainerError", "context deadline exceeded")
		}
	},
	"a start hangs": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, since time.Duration) {
			s.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: "start", ContainerID: "c0-0", Age: since}}
		}
	},
}

// cures is the first step of each of them, and when it comes.
var cures = map[string]struct {
	kind StepKind
	at   time.Duration
}{
	"forgotten":                                       {RestartKubelet, 150 * time.Second},
	"forgotten, with a journal only":                  {RestartKubelet, 210 * time.Second},
	"waits for an old revision":                       {RestartKubelet, 90 * time.Second},
	"waits for an old revision, seen by its UID only": {RestartKubelet, 90 * time.Second},
	"never started":                                   {RestartKubelet, 210 * time.Second},
	"rejected":                                        {RestartKubelet, 60 * time.Second},
	"the kubelet is stopped by a signal":              {RestartKubelet, 60 * time.Second},
	"the kubelet is stopped by a signal between creation and start": {RestartKubelet, 60 * time.Second},
	"a stop hangs":                       {RestartRuntime, 90 * time.Second},
	"two generations":                    {StopOldSandbox, 150 * time.Second},
	"stale running":                      {StopContainer, 30 * time.Second},
	"created and never started":          {RemoveContainer, 120 * time.Second},
	"two attempts run":                   {StopContainer, 120 * time.Second},
	"sandbox lost":                       {StopSandbox, 30 * time.Second},
	"the runtime is stopped by a signal": {RestartRuntime, 60 * time.Second},
	"creations time out":                 {RestartRuntime, 600 * time.Second},
	"a start hangs":                      {RestartRuntime, 300 * time.Second},
}

func TestEachCurableFaultHasItsStepInTime(t *testing.T) {
	t.Parallel()
	for name, fault := range curable {
		t.Run(name, func(t *testing.T) {
			w, alter := fault()
			want := cures[name]
			w.until(30*time.Minute, alter).first(t, want.kind, want.at, want.at+4*interval)
		})
	}
}

// twice lets an older attempt of the first container run beside the newest.
func twice(s *node.Snapshot) {
	sb := &s.Runtime.Sandboxes[0]
	older := sb.Containers[0]
	older.ID, older.Attempt, older.Process.PID = "c0-older", older.Attempt-1, 6
	rest := append([]node.Container{older}, sb.Containers[1:]...)
	sb.Containers = append(sb.Containers[:1:1], rest...)
}

// infraGone takes the sandbox's own process away, and leaves it ready.
func infraGone(s *node.Snapshot) {
	s.Runtime.Sandboxes[0].Process = node.Process{PID: 5, State: node.ProcessGone, CgroupEmpty: true}
}

// running lets the view say that the container runs.
func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}
