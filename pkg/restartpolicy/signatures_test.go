package restartpolicy

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// The signatures that were measured on a real node, each with its verdict, the
// time until the first step, and that step.
func TestSignatures(t *testing.T) {
	tests := []struct {
		name  string
		setUp func(*node.Snapshot, *world)
		state State
		after time.Duration
		first StepKind
	}{
		{name: "old revision's container died while the new one waits",
			setUp: func(s *node.Snapshot, w *world) { newRevisionWaits(s); exit(s, 0, 137) },
			state: WaitingForOld, after: 90 * time.Second, first: RestartKubelet},
		{name: "new revision waits, the old one runs",
			setUp: func(s *node.Snapshot, w *world) { newRevisionWaits(s) },
			state: WaitingForOld, after: 210 * time.Second, first: RestartKubelet},
		{name: "the same without a view of the kubelet",
			setUp: func(s *node.Snapshot, w *world) {
				newRevisionWaits(s)
				exit(s, 0, 137)
				s.Kubelet.View = node.View{Source: node.ViewNone}
				s.Intent.Pods[0].Pod.UID = "new-uid"
			},
			state: WaitingForOld, after: 90 * time.Second, first: RestartKubelet},
		{name: "two generations",
			setUp: func(s *node.Snapshot, w *world) {
				old := s.Runtime.Sandboxes[0]
				old.ID, old.UID = "old", "old-uid"
				s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, old)
			},
			state: TwoGenerations, after: 150 * time.Second, first: StopOldSandbox},
		{name: "rejected at admission",
			setUp: func(s *node.Snapshot, w *world) {
				s.Runtime.Sandboxes = nil
				s.Kubelet.View.Pods[0].Phase, s.Kubelet.View.Pods[0].Statuses = corev1.PodFailed, nil
			},
			state: Rejected, after: 60 * time.Second, first: RestartKubelet},
		{name: "pre-empted, and not started again",
			setUp: func(s *node.Snapshot, w *world) {
				exit(s, 0, 0)
				exit(s, 1, 0)
				s.Kubelet.View.Pods[0].Phase, s.Kubelet.View.Pods[0].Reason = corev1.PodFailed, "Preempting"
			},
			state: Rejected, after: 60 * time.Second, first: RestartKubelet},
		{name: "failed as its policy wants",
			setUp: func(s *node.Snapshot, w *world) {
				s.Intent.Pods[0].Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
				exit(s, 0, 1)
				exit(s, 1, 1)
				s.Kubelet.View.Pods[0].Phase = corev1.PodFailed
			},
			state: IntendedDown},
		{name: "exit never noticed",
			setUp: func(s *node.Snapshot, w *world) {
				s.Runtime.Sandboxes[0].Containers[0].Process = node.Process{PID: 9, State: node.ProcessZombie, CgroupEmpty: true}
			},
			state: StaleRunning, after: 30 * time.Second, first: StopContainer},
		{name: "postStart hook hangs",
			setUp: func(s *node.Snapshot, w *world) {
				exit(s, 0, 137)
				s.Kubelet.View.Pods[0].Statuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
			},
			state: Forgotten, after: 150 * time.Second, first: RestartKubelet},
		{name: "created and never started",
			setUp: func(s *node.Snapshot, w *world) {
				s.Runtime.Sandboxes[0].Containers[0].State = node.ContainerCreated
			},
			state: CreatedNotStarted, after: 120 * time.Second, first: RemoveContainer},
		{name: "clock ran backwards, kubelet fails to start it",
			setUp: func(s *node.Snapshot, w *world) {
				exit(s, 0, 1)
				sb := &s.Runtime.Sandboxes[0]
				stale := sb.Containers[0]
				stale.ID, stale.Attempt, stale.CreatedAt = "stale", 0, s.Taken.Wall.Add(time.Hour)
				sb.Containers[0].Attempt = 1
				sb.Containers = slices.Insert(sb.Containers, 1, stale)
				s.Kubelet.View.Pods[0].Statuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "RunContainerError"}}
			},
			state: OutOfOrder, after: 120 * time.Second, first: RemoveContainer},
		{name: "clock ran backwards, kubelet backs off from a container that runs",
			setUp: func(s *node.Snapshot, w *world) {
				sb := &s.Runtime.Sandboxes[0]
				stale := sb.Containers[0]
				stale.ID, stale.Attempt, stale.CreatedAt = "stale", 0, s.Taken.Wall.Add(time.Hour)
				stale.State, stale.ExitCode, stale.FinishedAt = node.ContainerExited, 1, s.Taken.Wall.Add(time.Hour)
				sb.Containers[0].Attempt = 1
				sb.Containers = slices.Insert(sb.Containers, 1, stale)
				s.Kubelet.View.Pods[0].Statuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
			},
			state: OutOfOrder, after: 120 * time.Second, first: RemoveContainer},
		{name: "creations time out",
			setUp: func(s *node.Snapshot, w *world) {
				exit(s, 0, 1)
				s.Kubelet.View.Pods[0].Statuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
					Reason: "CreateContainerError", Message: "context deadline exceeded"}}
			},
			state: StartFailing, after: 600 * time.Second, first: RestartRuntime},
		{name: "image cannot be pulled: reported only",
			setUp: func(s *node.Snapshot, w *world) {
				exit(s, 0, 1)
				s.Kubelet.View.Pods[0].Statuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
			},
			state: StartFailing},
		{name: "runtime does not answer",
			setUp: func(s *node.Snapshot, w *world) { w.runtimeUp, w.silentSince = false, bootTime; *s = *w.snapshot() },
			state: RuntimeDown, after: 120 * time.Second, first: RestartRuntime},
		{name: "runtime stopped by a signal",
			setUp: func(s *node.Snapshot, w *world) {
				w.runtimeUp, w.silentSince = false, bootTime
				*s = *w.snapshot()
				s.Runtime.Unit.ProcessState = "T"
			},
			state: RuntimeDown, after: 60 * time.Second, first: RestartRuntime},
		{name: "kubelet stopped by a signal",
			setUp: func(s *node.Snapshot, w *world) {
				s.Kubelet.Unit.ProcessState, s.Kubelet.Healthy, s.Kubelet.View = "T", false, node.View{Source: node.ViewNone}
			},
			state: KubeletDown, after: 60 * time.Second, first: RestartKubelet},
		{name: "kubelet stopped by an admin while it was crash-looping",
			setUp: func(s *node.Snapshot, w *world) {
				s.Kubelet.Unit.ActiveState, s.Kubelet.Unit.Result, s.Kubelet.Unit.MainPID = "inactive", "exit-code", 0
				s.Kubelet.Healthy, s.Kubelet.View = false, node.View{Source: node.ViewNone}
			},
			state: IntendedDown},
		{name: "kubelet stopped by an admin, and killed since it took too long",
			setUp: func(s *node.Snapshot, w *world) {
				s.Kubelet.Unit.ActiveState, s.Kubelet.Unit.Result, s.Kubelet.Unit.MainPID = "failed", "timeout", 0
				s.Kubelet.Healthy, s.Kubelet.View = false, node.View{Source: node.ViewNone}
			},
			state: IntendedDown},
		{name: "kubelet given up by systemd",
			setUp: func(s *node.Snapshot, w *world) {
				s.Kubelet.Unit.ActiveState, s.Kubelet.Unit.Result, s.Kubelet.Unit.MainPID = "failed", "start-limit-hit", 0
				s.Kubelet.Healthy, s.Kubelet.View = false, node.View{Source: node.ViewNone}
			},
			state: KubeletDown, after: 60 * time.Second, first: RestartKubelet},
		{name: "start-up of the kubelet is blocked",
			setUp: func(s *node.Snapshot, w *world) { s.Kubelet.View.Pods = nil },
			state: KubeletDown, after: 90 * time.Second, first: RestartKubelet}, // with the grace of what runs
		{name: "exit code not told, and it decides: not judged",
			setUp: func(s *node.Snapshot, w *world) {
				exit(s, 0, 0)
				s.Intent.Pods[0].Pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
				s.Runtime.Sandboxes[0].Containers[0].StatusUnknown = true
			},
			state: Unknown},
		{name: "exit code not told, and it does not matter",
			setUp: func(s *node.Snapshot, w *world) {
				exit(s, 0, 0)
				s.Runtime.Sandboxes[0].Containers[0].StatusUnknown = true
				s.Kubelet.Told.From, s.Kubelet.Told.Last = time.Second, w.now
			},
			state: Forgotten, after: 150 * time.Second, first: RestartKubelet},
		{name: "frozen: reported only",
			setUp: func(s *node.Snapshot, w *world) { s.Runtime.Sandboxes[0].Containers[0].Process.Frozen = true },
			state: Frozen},
		{name: "never started",
			setUp: func(s *node.Snapshot, w *world) {
				s.Runtime.Sandboxes = nil
				s.Kubelet.View.Pods = []node.PodView{{Name: node.PodName{Namespace: "x", Name: "other-node1"}}}
				s.Kubelet.Told.From, s.Kubelet.Told.Last = time.Second, w.now
			},
			state: NeverStarted, after: 210 * time.Second, first: RestartKubelet},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(2)
			first, state, steps := play(w, tt.setUp, 20*time.Minute)
			if state != tt.state {
				t.Errorf("verdict %s, want %s", state, tt.state)
			}
			if tt.first == "" {
				if len(steps) > 0 {
					t.Errorf("acted: %s", steps[0].Kind)
				}
				return
			}
			if len(steps) == 0 {
				t.Fatal("no step")
			}
			if steps[0].Kind != tt.first {
				t.Errorf("first step %s, want %s", steps[0].Kind, tt.first)
			}
			if first < tt.after || first > tt.after+3*interval {
				t.Errorf("first step after %v, want %v", first, tt.after)
			}
		})
	}
}

// play shows the same fault at every look, and returns when the first step
// came, the state at that moment or at the end, and the steps.
func play(w *world, setUp func(*node.Snapshot, *world), span time.Duration) (time.Duration, State, []Step) {
	var h History
	var state State
	begin := w.now
	for ; w.now < begin+span; w.now += interval {
		s := w.snapshot()
		setUp(s, w)
		var verdicts []Verdict
		verdicts, h = Judge(w.policy, s, h)
		step, verdicts := Plan(w.policy, s, verdicts, Ledger{})
		for _, v := range verdicts {
			if v.State != Healthy {
				state = v.State
				break
			}
		}
		if step != nil {
			return w.now - begin, step.State, []Step{*step}
		}
	}
	return 0, state, nil
}

func newRevisionWaits(s *node.Snapshot) {
	s.Kubelet.View.Pods[0].UID = "new-uid"
	s.Kubelet.View.Pods[0].Phase = corev1.PodPending
	s.Kubelet.View.Pods[0].Statuses = nil
}

func exit(s *node.Snapshot, i int, code int32) {
	c := &s.Runtime.Sandboxes[0].Containers[i]
	c.State, c.ExitCode, c.Process = node.ContainerExited, code, node.Process{}
}

// While a start hangs the kubelet is not restarted; once it has hung for too
// long the runtime is.
func TestNoKubeletRestartWhileAStartHangs(t *testing.T) {
	w := newWorld(2)
	w.rejected = true // due for a restart of the kubelet
	began := w.now
	for range 200 {
		w.calls = []node.RuntimeCall{{PID: 5, Verb: "start", ContainerID: "x", Age: w.now - began}}
		w.tick(interval)
	}
	for _, s := range w.steps {
		if s.Kind == RestartKubelet {
			t.Fatalf("restarted the kubelet while a start hangs")
		}
	}
}

func TestRuntimeIsNotRestartedWithItsMonitors(t *testing.T) {
	w := newWorld(1)
	_, _, steps := play(w, func(s *node.Snapshot, w *world) {
		w.runtimeUp = false
		*s = *w.snapshot()
		s.Runtime.MonitorsInUnit = true
		s.Runtime.Unit.KillMode = "control-group"
	}, 10*time.Minute)
	if len(steps) > 0 {
		t.Fatalf("%s would have killed every container of the node", steps[0].Kind)
	}
}

// The real crash loop that was measured: every start within the kubelet's
// bound, and never an act.
func TestMeasuredCrashLoop(t *testing.T) {
	w := newWorld(1)
	for _, wait := range []float64{1, 13.8, 25.2, 51, 89.1, 164, 300 + 29} {
		w.crash(0, 1)
		w.containers[0].restartAt = w.now + time.Duration(wait*float64(time.Second))
		for !w.containers[0].running {
			w.tick(interval)
		}
		w.tick(interval)
	}
	if len(w.steps) > 0 {
		t.Fatalf("acted: %+v at %v", w.steps[0], w.stepTimes[0])
	}
}

// Each container of one generation that our restart of the kubelet left behind
// is stopped without waiting for the deadline of two generations.
func TestOldGenerationLeftBehindIsStoppedAtOnce(t *testing.T) {
	w := newWorld(1)
	s := w.snapshot()
	old := s.Runtime.Sandboxes[0]
	old.ID, old.UID = "old", "old-uid"
	ledger := Ledger{Acts: []Act{{BootID: "boot", Result: ResultDone, Began: node.Instant{Boot: w.now - 20*time.Second},
		Step: Step{Kind: RestartKubelet, State: WaitingForOld, Key: Key{PodName: w.name}, Target: Target{SandboxID: "old"}}}}}
	var h History
	for range 3 {
		s := w.snapshot()
		s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, old)
		var v []Verdict
		v, h = Judge(w.policy, s, h)
		if step, _ := Plan(w.policy, s, v, ledger); step != nil {
			if step.Kind != StopOldSandbox {
				t.Fatalf("step %s", step.Kind)
			}
			return
		}
		w.now += interval
	}
	t.Fatal("not stopped within three looks")
}
