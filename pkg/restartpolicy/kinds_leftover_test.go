package restartpolicy

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// older puts a record of an older attempt of the first container behind its
// newest.
func older(s *node.Snapshot, state node.ContainerState) *node.Container {
	sb := &s.Runtime.Sandboxes[0]
	rec := sb.Containers[0]
	rec.ID, rec.Attempt, rec.State, rec.Process = "c0-older", rec.Attempt-1, state, node.Process{}
	sb.Containers = append([]node.Container{sb.Containers[0], rec}, sb.Containers[1:]...)
	return &sb.Containers[1]
}

// Given what a kubelet or runtime left that was killed between create and start,
// when a newer attempt runs, then it is removed, and nothing else is done.
func TestLeftoverOfAnOlderAttemptIsRemoved(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	for name, c := range map[string]struct {
		id    string
		alter func(s *node.Snapshot)
	}{
		"of a container": {"c0-older", func(s *node.Snapshot) { older(s, node.ContainerCreated) }},
		"of an init container": {"init-0", func(s *node.Snapshot) {
			addInit(s, corev1.Container{Name: "init", Image: worldImage})
			s.Runtime.Sandboxes[0].Containers = append(s.Runtime.Sandboxes[0].Containers,
				node.Container{ID: "init-1", SandboxID: "sb", Name: "init", Attempt: 1, State: node.ContainerExited},
				node.Container{ID: "init-0", SandboxID: "sb", Name: "init", State: node.ContainerCreated})
		}},
		"of a sidecar": {"proxy-0", func(s *node.Snapshot) {
			addInit(s, corev1.Container{Name: "proxy", Image: worldImage, RestartPolicy: &always})
			s.Runtime.Sandboxes[0].Containers = append(s.Runtime.Sandboxes[0].Containers,
				node.Container{ID: "proxy-1", SandboxID: "sb", Name: "proxy", Attempt: 1, State: node.ContainerRunning, Process: node.Process{PID: 8, State: node.ProcessAlive}},
				node.Container{ID: "proxy-0", SandboxID: "sb", Name: "proxy", State: node.ContainerCreated})
		}},
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				w := newWorld(2)
				w.containers[0].attempt = 5
				line := w.watch(time.Hour, func(s *node.Snapshot, _ time.Duration) { see(s); c.alter(s) })
				act := line.first(t, RemoveContainer, 2*time.Minute, 4*time.Minute)
				if len(line.acts) != 1 || act.Target.ContainerID != c.id {
					t.Errorf("acts %v, on %s", line.acts, act.Target.ContainerID)
				}
			})
		}
	}
}

// And it does not hold back the cure of anything else, wherever it is.
func TestLeftoverHoldsNoOtherCureBack(t *testing.T) {
	t.Parallel()
	for name, fault := range curable {
		want := cures[name]
		if want.kind == RemoveContainer || name == "never started" || name == "rejected" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w, alter := fault()
			line := w.watch(30*time.Minute, func(s *node.Snapshot, since time.Duration) {
				alter(s, since)
				if s.Runtime.Err != nil {
					return
				}
				sb := &s.Runtime.Sandboxes[0]
				top := sb.Containers[len(sb.Containers)-1]
				top.ID, top.State, top.Process = "left", node.ContainerCreated, node.Process{}
				sb.Containers[len(sb.Containers)-1].Attempt = top.Attempt + 1
				sb.Containers = append(sb.Containers, top)
			})
			for _, a := range line.acts {
				if a.Kind == want.kind {
					if a.after > want.at+3*time.Minute {
						t.Errorf("%v, want it at %s", a, want.at)
					}
					return
				}
			}
			line.show(t)
			t.Errorf("acts %v: want %s", line.acts, want.kind)
		})
	}
}

// A record that is not certainly dead is not removed.
func TestRecordThatMayLiveIsNotRemoved(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(s *node.Snapshot){
		"older, and its state is not known": func(s *node.Snapshot) { older(s, node.ContainerUnknown) },
		"older, and it is being started": func(s *node.Snapshot) {
			rec := older(s, node.ContainerCreated)
			s.Runtime.Calls = []node.RuntimeCall{{PID: 4, Verb: "start", ContainerID: rec.ID, Age: 5 * time.Second}}
		},
		"newest, and its state is not known": func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Containers[0].State = node.ContainerUnknown },
		"newest, and it is being created": func(s *node.Snapshot) {
			s.Runtime.Sandboxes[0].Containers[0].State = node.ContainerCreated
			s.Runtime.Calls = []node.RuntimeCall{{PID: 4, Verb: "create", ContainerID: s.Runtime.Sandboxes[0].Containers[0].ID, Age: 5 * time.Second}}
		},
		"newest, and its hook runs in another call": func(s *node.Snapshot) {
			s.Runtime.Sandboxes[0].Containers[0].State = node.ContainerCreated
			s.Runtime.Calls = []node.RuntimeCall{{PID: 4, Verb: "delete", ContainerID: s.Runtime.Sandboxes[0].Containers[0].ID, Age: 5 * time.Second}}
		},
		"newest, and the kubelet names what is wrong": func(s *node.Snapshot) {
			s.Runtime.Sandboxes[0].Containers[0].State = node.ContainerCreated
			waiting(s, 0, "RunContainerError", "exec: no such file")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			w.containers[0].attempt = 5
			w.watch(20*time.Minute, func(s *node.Snapshot, _ time.Duration) { alter(s) }).
				never(t, "it may live, or come to life", RemoveContainer)
		})
	}
}

// A record created but not started is removed once the kubelet gave up on it, and
// not while it is being dealt with.
func TestCreatedRecordOfAWorkingKubelet(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	w.containers[0].created = true
	w.watch(115*time.Second, func(*node.Snapshot, time.Duration) {}).quiet(t, "the kubelet has two minutes for a start")
}

// Given two attempts of one container that run, then the older one is stopped,
// and only where both certainly run and a kubelet works.
func TestTwoAttemptsThatRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(s *node.Snapshot)
		stop  bool
	}{
		"a start that came late":           {func(*node.Snapshot) {}, true},
		"dated later than the newer":       {func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Containers[1].CreatedAt = s.Taken.Wall }, true},
		"what the older does is not known": {func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Containers[1].Process = node.Process{} }, false},
		"what the newer does is not known": {func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Containers[0].Process = node.Process{} }, false},
		"the older is frozen":              {func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Containers[1].Process.Frozen = true }, false},
		"the newer is frozen":              {func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Containers[0].Process.Frozen = true }, false},
		"the kubelet is stopped":           {func(s *node.Snapshot) { gone(s, "inactive", "success") }, false},
		"the kubelet answers nobody":       {func(s *node.Snapshot) { mute(s) }, false},
		"the newer is being started": {func(s *node.Snapshot) {
			s.Runtime.Calls = []node.RuntimeCall{{PID: 3, Verb: "start", ContainerID: "c0-5", Age: time.Second}}
		}, false},
		"the older is being stopped": {func(s *node.Snapshot) {
			s.Runtime.Calls = []node.RuntimeCall{{PID: 3, Verb: "kill", ContainerID: "c0-older", Age: time.Second}}
		}, false},
		"the newer is in state created": {func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Containers[0].State = node.ContainerCreated }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			w.containers[0].attempt = 5
			line := w.watch(10*time.Minute, func(s *node.Snapshot, _ time.Duration) { twice(s); c.alter(s) })
			if !c.stop {
				line.never(t, "which of the two serves is not certain", StopContainer)
				return
			}
			if act := line.first(t, StopContainer, 2*time.Minute, 3*time.Minute); act.Target.ContainerID != "c0-older" || act.Target.Attempt != 4 {
				t.Errorf("stops %+v", act.Target)
			}
		})
	}
}

// The same of an init container, by crictl or a late start.
func TestTwoAttemptsOfAnInitContainerThatRun(t *testing.T) {
	t.Parallel()
	line := newWorld(1).watch(10*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		addInit(s, corev1.Container{Name: "init", Image: worldImage})
		alive := node.Process{PID: 7, State: node.ProcessAlive}
		s.Runtime.Sandboxes[0].Containers = []node.Container{
			{ID: "init-1", SandboxID: "sb", Name: "init", Attempt: 1, State: node.ContainerRunning, Process: alive},
			{ID: "init-0", SandboxID: "sb", Name: "init", State: node.ContainerRunning, Process: alive}}
		waiting(s, 0, "PodInitializing", "")
	})
	if act := line.first(t, StopContainer, 2*time.Minute, 3*time.Minute); act.Target.ContainerID != "init-0" {
		t.Errorf("stops %+v", act.Target)
	}
}

// Given a sandbox that is called ready while its own process is gone, then it is
// stopped where that is certain and something is down for it.
func TestSandboxWithoutItsProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(s *node.Snapshot)
		stop  bool
	}{
		"all of it is down":                {infraGone, true},
		"its process is a zombie":          {func(s *node.Snapshot) { infraGone(s); s.Runtime.Sandboxes[0].Process.State = node.ProcessZombie }, true},
		"others of its group live":         {func(s *node.Snapshot) { infraGone(s); s.Runtime.Sandboxes[0].Process.CgroupEmpty = false }, false},
		"the runtime has no such thing":    {func(s *node.Snapshot) {}, false},
		"it cannot be looked at":           {func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Process = node.Process{PID: 5} }, false},
		"it is not ready":                  {func(s *node.Snapshot) { infraGone(s); s.Runtime.Sandboxes[0].Ready = false }, false},
		"the kubelet answers nobody":       {func(s *node.Snapshot) { infraGone(s); mute(s) }, false},
		"somebody has stopped the kubelet": {func(s *node.Snapshot) { infraGone(s); gone(s, "inactive", "success") }, false},
		"the manifest is gone":             {func(s *node.Snapshot) { infraGone(s); s.Intent.Pods = nil }, false},
		// Its containers serve on; only a new one could not be started.
		"its containers run": {func(s *node.Snapshot) {
			infraGone(s)
			for i := range s.Runtime.Sandboxes[0].Containers {
				c := &s.Runtime.Sandboxes[0].Containers[i]
				c.State, c.Process = node.ContainerRunning, node.Process{PID: 7, State: node.ProcessAlive}
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			w.crash(0, 137)
			w.crash(1, 137)
			line := w.watch(20*time.Minute, func(s *node.Snapshot, since time.Duration) {
				if since%time.Minute < 20*time.Second {
					waiting(s, 0, "CreateContainerError", "sandbox infra container unexpectedly invalid")
				} else {
					backedOff(s, 0)
				}
				backedOff(s, 1)
				c.alter(s)
			})
			if c.stop {
				line.first(t, StopSandbox, 30*time.Second, 80*time.Second)
				return
			}
			line.never(t, "a sandbox that may live is not stopped", StopSandbox)
		})
	}
}

// A container that is called running without a process is stopped only where
// that is certain.
func TestRunningWithoutAProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		process node.Process
		stop    bool
	}{
		"gone":                        {node.Process{PID: 9, State: node.ProcessGone, CgroupEmpty: true}, true},
		"a zombie":                    {node.Process{PID: 9, State: node.ProcessZombie, CgroupEmpty: true}, true},
		"gone, and children live":     {node.Process{PID: 9, State: node.ProcessGone}, false},
		"not looked at":               {node.Process{PID: 9}, false},
		"nothing is known":            {node.Process{}, false},
		"frozen, and said to be gone": {node.Process{PID: 9, State: node.ProcessGone, CgroupEmpty: true, Frozen: true}, false},
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				line := newWorld(2).watch(20*time.Minute, func(s *node.Snapshot, _ time.Duration) {
					see(s)
					s.Runtime.Sandboxes[0].Containers[1].Process = c.process
				})
				if c.stop {
					line.first(t, StopContainer, 30*time.Second, 60*time.Second)
					return
				}
				line.quiet(t, "it may live")
			})
		}
	}
}

// Given eight records that were created and never started, then all are removed in
// turn, the oldest first, and none waits anew for the others.
func TestManyLeftoversAreRemovedInTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	const many = 8
	gone := map[uint32]bool{}
	w.watch(40*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		sb := &s.Runtime.Sandboxes[0]
		top := sb.Containers[0]
		top.Attempt = many
		top.ID = "top"
		sb.Containers = []node.Container{top}
		for n := range uint32(many) {
			attempt := many - 1 - n
			if gone[attempt] {
				continue
			}
			sb.Containers = append(sb.Containers, node.Container{ID: fmt.Sprint("left-", attempt), SandboxID: sb.ID, Name: top.Name, Attempt: attempt,
				State: node.ContainerCreated, CreatedAt: s.Taken.Wall.Add(-time.Hour)})
		}
		for _, act := range w.ledger.Acts {
			gone[act.Target.Attempt] = true
		}
	})
	if len(gone) != many {
		t.Errorf("%d of %d are removed", len(gone), many)
	}
}
