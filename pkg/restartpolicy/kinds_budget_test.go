package restartpolicy

import (
	"fmt"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Given a step that is in vain, or refused, or fails each time, when the fault
// stays, then nothing harder takes its place, and it is tried a bounded number of
// times. That a restart of the kubelet was in vain is no proof against the runtime.
func TestStepThatDoesNotHelpIsNotPassedOver(t *testing.T) {
	t.Parallel()
	for name, fault := range curable {
		for _, result := range []Result{ResultDone, ResultRefused} {
			t.Run(name+", "+string(result), func(t *testing.T) {
				w, alter := fault()
				line := w.watchWith(result, 90*time.Minute, alter, false)
				if n := len(line.acts); n == 0 || n > 5 {
					t.Errorf("%d tries in an hour and a half: %v", n, line.acts)
				}
				for _, a := range line.acts {
					// What is down once the record or the call is gone is another
					// fault, with a deadline of its own.
					other := (a.State == Forgotten || a.State == WaitingForOld) && a.after >= cures[name].at+5*time.Minute
					if a.Kind != cures[name].kind && !other {
						t.Errorf("%v", a)
					}
				}
			})
		}
	}
}

// Whatever became of it, it was tried.
func TestEveryResultIsATry(t *testing.T) {
	t.Parallel()
	for _, result := range []Result{ResultStarted, ResultDone, ResultHealed, ResultInVain, ResultFailed, ResultRefused, ResultDryRun} {
		w, alter := curable["forgotten"]()
		if line := w.watchWith(result, time.Hour, alter, false); len(line.acts) != 1 {
			t.Errorf("%s: acts %v", result, line.acts)
		}
	}
}

// Given a record that cannot be removed, or of which nobody knows the state, then
// nothing is removed again and again.
func TestRecordThatCannotBeRemovedIsTriedSeldom(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.containers[0].created = true
	line := w.watchWith(ResultRefused, 5*time.Hour, func(*node.Snapshot, time.Duration) {}, false)
	if n := len(line.acts); n == 0 || n > 6 {
		t.Errorf("%d tries in five hours", n)
	}
	newWorld(2).watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		s.Runtime.Sandboxes[0].Containers[0].State, s.Runtime.Sandboxes[0].Containers[0].Process = node.ContainerUnknown, node.Process{}
	}).quiet(t, "it may run")
}

func TestContainerWithoutARecordHasNothingToRemove(t *testing.T) {
	t.Parallel()
	line := newWorld(2).watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		s.Runtime.Sandboxes[0].Containers = s.Runtime.Sandboxes[0].Containers[1:]
		s.Kubelet.View.Pods[0].Statuses[0].RestartCount = 1
		waiting(s, 0, "ContainerCreating", "")
	})
	line.never(t, "there is no record", RemoveContainer, RestartRuntime)
}

// Given a node that is rebooted every two hours and whose fault stays, then the node's
// budget is one for the whole day.
func TestBudgetOfADayHoldsAcrossReboots(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"forgotten", "waits for an old revision", "the kubelet is stopped by a signal", "rejected", "the runtime is stopped by a signal", "creations time out"} {
		t.Run(name, func(t *testing.T) {
			w, alter := curable[name]()
			boot, taken := 0, 0
			begin := w.wall
			for hour := range 12 {
				boot = hour
				w.wall = begin.Add(time.Duration(hour) * 2 * time.Hour)
				w.now, w.kubeletStarted, w.runtimeStarted = bootTime, time.Minute, time.Minute
				line := w.watch(20*time.Minute, func(s *node.Snapshot, since time.Duration) {
					s.Host.BootID = fmt.Sprint("boot", boot)
					alter(s, since)
				})
				taken += len(line.acts)
			}
			limit := StepOf(w.policy.Steps, cures[name].kind).PerDay
			if taken == 0 || taken > limit {
				t.Errorf("%d of %s in a day of reboots, bound %d", taken, cures[name].kind, limit)
			}
		})
	}
}

// One budget of the node serves all reasons together.
func TestKubeletIsRestartedForAllReasonsTogetherWithinOneBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	line := w.watch(10*time.Hour, func(s *node.Snapshot, since time.Duration) {
		switch since / (20 * time.Minute) % 4 {
		case 0: // a container that is forgotten, another one each time
			i := int(since/(20*time.Minute)) % 3
			exit(s, i, 1)
			ended(s, s.Kubelet.View.Pods[0].Phase)
			s.Runtime.Sandboxes[0].Containers[i].Attempt = uint32(since / (20 * time.Minute))
			s.Kubelet.View.Pods[0].Statuses[i].State.Running = nil
		case 1:
			mute(s)
			s.Kubelet.Unit.ProcessState = "T"
		case 2:
			reject(s, fmt.Sprint("other", since/(80*time.Minute)), "OutOfcpu")
		case 3:
			newRevisionWaits(s)
			exit(s, 0, 1)
		}
	})
	conf := w.policy.Steps.RestartKubelet
	if n := len(line.acts); n == 0 || n > conf.PerDay {
		t.Errorf("%d restarts in a day, bound %d", n, conf.PerDay)
	}
	for i, a := range line.acts {
		if i >= conf.PerHour && a.after-line.acts[i-conf.PerHour].after < time.Hour {
			t.Errorf("more than %d within an hour: %v", conf.PerHour, line.acts)
		}
	}
}

// Several pods that are forgotten at once are cured by one restart.
func TestManyForgottenPodsNeedOneRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	line := w.watch(30*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		for i := range 9 {
			addPod(s, fmt.Sprint("pod", i), nil)
		}
		for i := range s.Runtime.Sandboxes {
			c := &s.Runtime.Sandboxes[i].Containers[0]
			c.State, c.ExitCode, c.Process = node.ContainerExited, 1, node.Process{}
			s.Kubelet.View.Pods[i].Statuses[0].State.Running = nil
		}
	})
	line.first(t, RestartKubelet, 2*time.Minute, 3*time.Minute)
	if len(line.acts) != 1 {
		t.Errorf("acts %v", line.acts)
	}
}

// Given a ledger that is lost or cannot be written, then nothing is done at all.
func TestWithoutALedgerNothingIsDone(t *testing.T) {
	t.Parallel()
	for name, fault := range curable {
		t.Run(name, func(t *testing.T) {
			w, alter := fault()
			w.ledger.Withheld = "the journal of acts cannot be written: no space left on device"
			w.watch(30*time.Minute, alter).quiet(t, "no budget could be kept")
		})
	}
}
