package restartpolicy

import (
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Given an ordinary crash loop, when somebody else has containers made on the
// node, then neither kubelet nor runtime is suspected.
func TestForeignCallsAreNobodysBusiness(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]node.RuntimeCall{
		"a build in a pod":                       {Verb: "run"},
		"a build with an ID":                     {Verb: "run", ContainerID: "q8kzs0f2a2b7"},
		"a shell in a container":                 {Verb: "exec", ContainerID: "c0-8"},
		"a checkpoint":                           {Verb: "checkpoint", ContainerID: "c0-8"},
		"a list":                                 {Verb: "list"},
		"a start that does not say of what":      {Verb: "start"},
		"a kill that does not say of what":       {Verb: "kill"},
		"a start of a pod that is not static":    {Verb: "start", ContainerID: "job-0"},
		"a creation in a pod that is not static": {Verb: "create", ContainerID: "job-0"},
		"a deletion in another pod":              {Verb: "delete", ContainerID: "job-0"},
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				w := newWorld(2)
				w.containers[0].attempt = 8
				w.crash(0, 1)
				w.watch(5*time.Minute, func(s *node.Snapshot, since time.Duration) {
					job(s, node.ContainerRunning)
					backedOff(s, 0)
					see(s)
					if s.Kubelet.Told.Known() {
						says(s, bootTime+since/time.Minute*time.Minute, "c0", "CrashLoopBackOff", "back-off 5m0s restarting failed container=c0")
					}
					call.PID, call.Age = 4711, 6*time.Minute+since
					s.Runtime.Calls = []node.RuntimeCall{call}
				}).quiet(t, "the container is in its back-off of five minutes")
			})
		}
	}
}

// The other side: such a process does not hold back the cure of a kubelet.
func TestForeignCallsHoldNoCureBack(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]node.RuntimeCall{
		"a build in a pod":       {Verb: "run"},
		"a build with an ID":     {Verb: "run", ContainerID: "q8kzs0f2a2b7"},
		"a shell in a container": {Verb: "exec", ContainerID: "c1-0"},
	} {
		for fault, want := range cures {
			t.Run(name+", "+fault, func(t *testing.T) {
				w, alter := curable[fault]()
				w.until(30*time.Minute, func(s *node.Snapshot, since time.Duration) {
					alter(s, since)
					call.PID, call.Age = 4711, 6*time.Minute+since
					s.Runtime.Calls = append(s.Runtime.Calls, call)
				}).first(t, want.kind, want.at, want.at+4*interval)
			})
		}
	}
}

// Given records that nobody ever started, of other pods, when something of a
// static pod or of the kubelet is wrong, then it is cured as without them.
func TestRecordsOfOthersHoldNoCureBack(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(*node.Snapshot){
		"of a job that a stopped kubelet left": func(s *node.Snapshot) { job(s, node.ContainerCreated) },
		"of a job, of which nobody knows more": func(s *node.Snapshot) { job(s, node.ContainerUnknown) },
		"of crictl, without a pod": func(s *node.Snapshot) {
			s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, node.Sandbox{ID: "byhand", Ready: true,
				Containers: []node.Container{{ID: "byhand-0", SandboxID: "byhand", Name: "test", State: node.ContainerCreated}}})
		},
		"of a sandbox that was stopped": func(s *node.Snapshot) {
			job(s, node.ContainerCreated)
			s.Runtime.Sandboxes[len(s.Runtime.Sandboxes)-1].Ready = false
		},
	} {
		for fault, want := range cures {
			t.Run(name+", "+fault, func(t *testing.T) {
				w, alter := curable[fault]()
				w.until(30*time.Minute, func(s *node.Snapshot, since time.Duration) {
					alter(s, since)
					if s.Runtime.Err == nil {
						other(s)
					}
				}).first(t, want.kind, want.at, want.at+4*interval)
			})
		}
	}
}

// A creation of another pod that hangs for good, and a kubelet that is stopped:
// somebody has to begin, or the node is dead for ever.
func TestHungCallOfAnotherPodAndAStoppedKubelet(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]node.RuntimeCall{
		"a creation": {Verb: "create", ContainerID: "not-known-yet"},
		"a start":    {Verb: "start", ContainerID: "job-0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1)
			w.kubeletUp = false
			line := w.watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
				job(s, node.ContainerCreated)
				call.PID, call.Age = 4711, since
				s.Runtime.Calls = []node.RuntimeCall{call}
			})
			if len(line.acts) == 0 {
				line.show(t)
				t.Error("nothing was done within an hour")
			}
		})
	}
}

// A sandbox of the name of a static pod that came from no file is not one.
func TestContainersOfAnotherSourceAreNotTouched(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"api", ""} {
		w := newWorld(2)
		w.crash(0, 1)
		w.watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
			s.Runtime.Sandboxes[0].Source = source
			silent(s)
		}).quiet(t, "a pod of source "+source)
	}
}

// job is a pod of the API server with one container.
func job(s *node.Snapshot, state node.ContainerState) {
	s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, node.Sandbox{
		ID: "job", Pod: node.PodName{Namespace: "default", Name: "job-x"}, UID: "u2", Ready: true, Source: "api",
		Containers: []node.Container{{ID: "job-0", SandboxID: "job", Name: "job", State: state, CreatedAt: s.Taken.Wall.Add(-time.Hour)}},
	})
}
