package restartpolicy

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Each inhibitor alone holds back a step that is otherwise due. Taking it out of
// the table lets the step through, so that none of them can be lost unnoticed.
func TestEachInhibitorHoldsBackAStep(t *testing.T) {
	const long = 1000 * time.Hour
	type setting struct {
		world func(*world)
		snap  func(*node.Snapshot, *world)
	}
	on := func(change func(s *node.Snapshot, w *world)) setting {
		return setting{world: (*world).forget, snap: change}
	}
	with := func(change func(w *world)) setting {
		return setting{world: func(w *world) { w.forget(); change(w) }}
	}
	settings := map[string]setting{
		"paused":        with(func(w *world) { w.paused = "until noon" }),
		"shutting-down": with(func(w *world) { w.shuttingDown = true }),
		"host-busy":     with(func(w *world) { w.busy = []string{"ostree"} }),
		"host-unknown":  on(func(s *node.Snapshot, _ *world) { s.Host.Err = errors.New("logind does not answer") }),
		"units-unknown": {world: func(w *world) { w.containers[0].stale = true }, snap: func(s *node.Snapshot, _ *world) {
			s.Runtime.Unit = node.Unit{Name: "crio.service", Err: errors.New("no bus")}
		}},
		"kubelet-stopped": {world: func(w *world) { w.containers[0].stale = true; w.kubeletStopped = true }},
		"runtime-stopped": with(func(w *world) { w.runtimeStopped = true }),
		"unit-job":        on(func(s *node.Snapshot, _ *world) { s.Runtime.Unit.JobPending = true }),
		"node-name": on(func(s *node.Snapshot, _ *world) {
			s.Settings.NodeNameErr = errors.New("two kubelets")
		}),
		"kubelet-elsewhere": on(func(s *node.Snapshot, _ *world) { s.Kubelet.Elsewhere = true }),
		"no-unit": {world: func(w *world) { w.runtimeUp = false }, snap: func(s *node.Snapshot, _ *world) {
			s.Runtime.Unit = node.Unit{Name: "crio.service", LoadState: "not-found"}
		}},
		"other-runtime": {world: func(*world) {}, snap: func(s *node.Snapshot, w *world) {
			// Two runtimes, and the kubelet's pods are in the other one.
			s.Settings.RuntimeEndpoint, s.Runtime.Socket = "unix:///run/containerd/containerd.sock", "/run/crio/crio.sock"
			s.Runtime.Sandboxes, s.Kubelet.View = nil, node.View{Source: node.ViewNone}
			s.Kubelet.Told = node.Told{From: time.Second, Last: w.now}
		}},
		"journal":  with(func(w *world) { w.ledger.Withheld = "the journal was lost" }),
		"disabled": with(func(w *world) { w.policy.Steps.RestartKubelet.Enabled = false }),
		"looks":    with(func(w *world) { w.policy.Looks = 1 << 20 }),
		"boot-hold-off": with(func(w *world) {
			w.policy.HoldOffs.Boot.Duration = long
		}),
		"clock-step": with(func(w *world) {
			w.policy.HoldOffs.ClockStep.Duration = long
			w.look()
			w.wall = w.wall.Add(time.Hour)
		}),
		"other-pod-ends": on(func(s *node.Snapshot, _ *world) {
			addPod(s, "ending", nil)
			s.Kubelet.View.Pods[1].Terminating = true
		}),
		"kubelet-first": {world: func(w *world) {
			w.forget()
			w.policy.Deadlines.KubeletDown.Duration = long
			w.policy.HoldOffs.KubeletStart.Duration = 0
		}, snap: func(s *node.Snapshot, w *world) {
			// The process lives on under a unit that systemd calls failed.
			s.Kubelet.Unit.ActiveState, s.Kubelet.Unit.MainPID = "failed", 0
		}},
		"kubelet-away": {world: (*world).forget, snap: func(s *node.Snapshot, _ *world) {
			s.Runtime.Sandboxes[0].Process = node.Process{PID: 5, State: node.ProcessGone, CgroupEmpty: true}
			s.Kubelet.View, s.Kubelet.Healthy = node.View{Source: node.ViewNone}, false
		}},
		"kubelet-hold-off": with(func(w *world) { w.policy.HoldOffs.KubeletStart.Duration = long }),
		"kubelet-starting": {world: func(w *world) {
			w.forget()
			w.policy.HoldOffs.KubeletStart.Duration = 0
		}, snap: func(s *node.Snapshot, w *world) {
			s.Kubelet.Unit.ProcessStarted = w.now - 30*time.Second
			s.Kubelet.Process.Started = s.Kubelet.Unit.ProcessStarted
		}},
		"runtime-hold-off":  with(func(w *world) { w.policy.HoldOffs.RuntimeStart.Duration = long }),
		"manifest-hold-off": with(func(w *world) { w.policy.HoldOffs.ManifestChange.Duration = long }),
		"runtime-silent": {world: func(w *world) { w.kubeletUp = false }, snap: func(s *node.Snapshot, _ *world) {
			s.Runtime.Err, s.Runtime.Sandboxes = errors.New("permission denied"), nil
		}},
		"call-in-flight": on(func(s *node.Snapshot, _ *world) {
			s.Runtime.Calls = []node.RuntimeCall{{PID: 9, Verb: "kill", ContainerID: "of-another", Age: time.Minute}}
		}),
		"monitors-in-unit": {world: func(w *world) { w.runtimeUp = false }, snap: func(s *node.Snapshot, _ *world) {
			s.Runtime.MonitorsInUnit, s.Runtime.Unit.KillMode = true, "control-group"
		}},
		"cost": on(func(s *node.Snapshot, w *world) { addPod(s, "picky", map[string]string{"rack": "7"}) }),
		"settling": {world: func(w *world) {
			w.kubeletUp = false
			w.policy.Steps.RestartKubelet.Settle.Duration = long
			w.look()
			w.entered(ResultDone, Step{Kind: RestartKubelet, Key: Key{PodName: node.PodName{Namespace: "x", Name: "other"}}})
		}},
		"gap": with(func(w *world) {
			w.policy.Steps.RestartKubelet.Gap.Duration, w.policy.Steps.RestartKubelet.GapMax.Duration = long, long
			w.now -= 2 * time.Second
			w.entered(ResultHealed, Step{Kind: RestartKubelet, Key: Key{PodName: w.name, Container: "c1"}})
			w.now += 2 * time.Second
		}),
		"budget": with(func(w *world) {
			w.now -= 2 * time.Second
			for i := range 6 {
				w.entered(ResultHealed, Step{Kind: RestartKubelet, Key: Key{PodName: node.PodName{Namespace: "x", Name: fmt.Sprint(i)}}})
			}
			w.now += 2 * time.Second
		}),
		"breaker": with(func(w *world) {
			w.policy.Steps.RestartKubelet.Settle.Duration = 0
			w.look()
			w.entered(ResultInVain, Step{Kind: RestartKubelet, Key: Key{PodName: node.PodName{Namespace: "x", Name: "other"}}})
		}),
	}
	all := inhibitorTable
	defer func() { inhibitorTable = all }()
	for _, i := range all {
		t.Run(i.name, func(t *testing.T) {
			set, ok := settings[i.name]
			if !ok {
				t.Fatalf("inhibitor %q has no setting here", i.name)
			}
			acts := func() int {
				w := newWorld(2)
				w.observe = set.snap
				set.world(w)
				for range 360 {
					w.tick(interval)
				}
				return len(w.steps)
			}
			inhibitorTable = all
			if n := acts(); n > 0 {
				t.Errorf("with it: %d steps, want none", n)
			}
			inhibitorTable = slices.DeleteFunc(slices.Clone(all), func(o inhibitor) bool { return o.name == i.name })
			if n := acts(); n == 0 {
				t.Errorf("without it: no step; another one, or nothing, held it back")
			}
		})
	}
}

// forget lets the kubelet forget the first container.
func (w *world) forget() { w.crash(0, 1) }

// entered puts an act into the ledger, as of now.
func (w *world) entered(result Result, step Step) {
	w.ledger.Acts = append(w.ledger.Acts, Act{ID: fmt.Sprint(len(w.ledger.Acts)), BootID: "boot", Step: step,
		Began: node.Instant{Boot: w.now, Wall: w.wall.Add(w.now)}, Result: result})
}

// addPod adds a static pod that runs.
func addPod(s *node.Snapshot, name string, selector map[string]string) *node.Manifest {
	m := s.Intent.Pods[0]
	m.Name.Name, m.Path = name+"-node1", "/m/"+name+".yaml"
	m.Pod = &corev1.Pod{}
	m.Pod.Name, m.Pod.Namespace = m.Name.Name, m.Name.Namespace
	m.Pod.Spec = corev1.PodSpec{NodeSelector: selector, Containers: []corev1.Container{{Name: "main", Image: worldImage}}}
	s.Intent.Pods = append(slices.Clone(s.Intent.Pods), m)
	s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, node.Sandbox{ID: "sb-" + name, Pod: m.Name, UID: "uid-" + name, Ready: true, Source: "file",
		Containers: []node.Container{{ID: name + "-0", SandboxID: "sb-" + name, Name: "main", State: node.ContainerRunning,
			Process: node.Process{PID: 8, State: node.ProcessAlive}}}})
	if s.Kubelet.View.Known() {
		s.Kubelet.View.Pods = append(s.Kubelet.View.Pods, node.PodView{Name: m.Name, UID: "uid-" + name, Static: true, Phase: corev1.PodRunning,
			Statuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}})
	}
	return &s.Intent.Pods[len(s.Intent.Pods)-1]
}

// A step that is switched off holds the fault; nothing harder takes its place.
func TestDisabledStepIsNotPassedOver(t *testing.T) {
	w := newWorld(1)
	w.policy.Steps.RestartKubelet.Enabled = false
	w.forget()
	for w.now < bootTime+2*time.Hour {
		w.tick(interval)
	}
	if len(w.steps) > 0 {
		t.Fatalf("steps %+v", w.steps)
	}
}

// A fault that nothing cures costs one step; then the breaker is open, the status
// says so, and the step is tried anew only after its reset.
func TestStepsAreTakenOnceThenTheBreakerOpens(t *testing.T) {
	w := newWorld(2)
	w.forget()
	reset := w.policy.BreakerReset.Duration
	end := w.now + reset
	var last []Verdict
	for w.now < end {
		last = w.tick(interval)
	}
	if len(w.steps) != 1 || w.steps[0].Kind != RestartKubelet {
		t.Fatalf("steps %+v", w.steps)
	}
	open := false
	for _, v := range last {
		open = open || v.Container == "c0" && slices.ContainsFunc(v.Inhibitors, func(i Inhibitor) bool { return i.Name == "breaker" })
	}
	if !open {
		t.Errorf("the breaker does not show: %+v", last)
	}
	for w.now < end+time.Hour {
		w.tick(interval)
	}
	if len(w.steps) != 2 {
		t.Errorf("after the reset: %d steps in all", len(w.steps))
	}
}
