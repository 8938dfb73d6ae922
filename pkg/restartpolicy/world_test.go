package restartpolicy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// world is a simulated node with one static pod of some containers. It moves
// in steps of simulated time; nothing in it sleeps.
type world struct {
	policy  config.Restart
	now     time.Duration // boot clock
	wall    time.Time     // wall clock at boot, moved by clock steps
	history History
	ledger  Ledger

	spec       corev1.PodSpec
	name       node.PodName
	manifest   bool
	digest     int
	modified   time.Duration
	containers []*simContainer
	viewed     bool

	kubeletUp, runtimeUp           bool
	kubeletStarted, runtimeStarted time.Duration
	silentSince                    time.Duration
	rejected, shuttingDown         bool
	paused                         string
	busy                           []string
	kubeletStopped, runtimeStopped bool
	calls                          []node.RuntimeCall
	told                           node.Told
	// observe changes what a look sees.
	observe   func(*node.Snapshot, *world)
	steps     []Step
	stepTimes []time.Duration
}

// simContainer is one container of the simulated pod.
type simContainer struct {
	name      string
	attempt   uint32
	running   bool
	stale     bool
	exitCode  int32
	died      time.Duration
	restartAt time.Duration // when the kubelet will restart it; 0: never
	created   bool
}

const (
	bootTime   = 10 * time.Minute
	worldImage = "registry.example/app:1"
)

func newWorld(containers int) *world {
	w := &world{
		policy: config.Default().Restart, now: bootTime,
		wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		name: node.PodName{Namespace: "kube-system", Name: "app-node1"}, manifest: true, viewed: true,
		kubeletUp: true, runtimeUp: true, kubeletStarted: time.Minute, runtimeStarted: time.Minute,
	}
	w.policy.Jitter.Duration = 0
	for i := range containers {
		name := fmt.Sprintf("c%d", i)
		w.spec.Containers = append(w.spec.Containers, corev1.Container{Name: name, Image: worldImage})
		w.containers = append(w.containers, &simContainer{name: name, running: true})
	}
	return w
}

func (w *world) crash(i int, code int32) {
	c := w.containers[i]
	c.running, c.exitCode, c.died, c.restartAt = false, code, w.now, 0
}

// tick moves the world on, lets the kubelet do what is due, and lets the agent
// look. It returns the verdicts after planning.
func (w *world) tick(d time.Duration) []Verdict {
	w.now += d
	for _, c := range w.containers {
		if !c.running && c.restartAt > 0 && w.now >= c.restartAt && w.kubeletUp {
			c.running, c.attempt, c.restartAt = true, c.attempt+1, 0
		}
	}
	return w.look()
}

func (w *world) look() []Verdict {
	s := w.snapshot()
	verdicts, h := Judge(w.policy, s, w.history)
	w.history = h
	for _, a := range Review(w.policy, s, verdicts, w.ledger) {
		for i := range w.ledger.Acts {
			if w.ledger.Acts[i].ID == a.ID {
				w.ledger.Acts[i] = a
			}
		}
	}
	step, verdicts := Plan(w.policy, s, verdicts, w.ledger)
	if step != nil {
		w.steps, w.stepTimes = append(w.steps, *step), append(w.stepTimes, w.now)
		w.ledger.Acts = append(w.ledger.Acts, Act{
			ID: fmt.Sprint(len(w.ledger.Acts)), BootID: "boot", Step: *step,
			Began: s.Taken, Finished: s.Taken, Result: ResultDone,
		})
		if step.Kind == RestartKubelet {
			w.kubeletStarted = w.now
		}
		if step.Kind == RestartRuntime {
			w.kubeletStarted, w.runtimeStarted = w.now, w.now
		}
	}
	return verdicts
}

func (w *world) snapshot() *node.Snapshot {
	s := &node.Snapshot{
		Taken:    node.Instant{Wall: w.wall.Add(w.now), Boot: w.now},
		Interval: interval,
		Host:     node.Host{BootID: "boot", ShuttingDown: w.shuttingDown, Paused: w.paused, Busy: w.busy},
		Settings: node.Settings{NodeName: "node1", NodeNameFrom: "--hostname-override", Version: "1.37.2", HealthzURL: "http://127.0.0.1:10248/healthz"},
	}
	s.Intent.NodeName = "node1"
	s.Runtime.Network = node.Yes
	s.Runtime.Images = map[string]node.Answer{worldImage: node.Yes, "": node.Yes}
	s.Kubelet.Process = node.KubeletProcess{PID: 100, Started: w.kubeletStarted, State: "S", Unit: "kubelet.service"}
	s.Kubelet.Told = w.told
	s.Kubelet.Unit = unit("kubelet.service", w.kubeletUp, w.kubeletStarted)
	s.Kubelet.Healthy = w.kubeletUp
	s.Runtime.Unit = unit("crio.service", true, w.runtimeStarted)
	s.Runtime.Calls = w.calls
	if w.kubeletStopped {
		s.Kubelet.Unit.ActiveState, s.Kubelet.Unit.MainPID = "inactive", 0
	}
	if w.runtimeStopped {
		s.Runtime.Unit.ActiveState = "inactive"
	}
	if !w.runtimeUp {
		s.Runtime.Err = fmt.Errorf("no answer")
		s.Runtime.Silent = w.now - w.silentSince
	} else {
		s.Runtime.Sandboxes = []node.Sandbox{w.sandbox()}
	}
	if w.manifest {
		pod := &corev1.Pod{Spec: w.spec}
		pod.Namespace, pod.Name = w.name.Namespace, w.name.Name
		s.Intent.Pods = []node.Manifest{{
			Name: w.name, Path: "/m/app.yaml", Digest: fmt.Sprint(w.digest),
			Modified: w.wall.Add(w.modified), Pod: pod,
		}}
	}
	s.Kubelet.View = node.View{Source: node.ViewNone}
	if w.viewed && w.kubeletUp {
		s.Kubelet.View = node.View{Source: node.ViewPods, Pods: []node.PodView{w.view()}}
	}
	if w.observe != nil {
		w.observe(s, w)
	}
	return s
}

func unit(name string, up bool, started time.Duration) node.Unit {
	u := node.Unit{Name: name, LoadState: "loaded", ActiveState: "active", SubState: "running", Result: "success",
		MainPID: 100, ProcessState: "S", ProcessStarted: started, KillMode: "process"}
	if !up {
		u.ProcessState = "T"
	}
	return u
}

func (w *world) sandbox() node.Sandbox {
	sb := node.Sandbox{ID: "sb", Pod: w.name, UID: "uid", Ready: true, Source: "file", CreatedAt: w.wall.Add(time.Second)}
	for _, c := range w.containers {
		rec := node.Container{ID: fmt.Sprintf("%s-%d", c.name, c.attempt), SandboxID: "sb", Name: c.name,
			Attempt: c.attempt, State: node.ContainerRunning, Grace: 30 * time.Second,
			Process: node.Process{PID: 7, State: node.ProcessAlive}}
		switch {
		case c.created:
			rec.State, rec.Process = node.ContainerCreated, node.Process{}
		case !c.running:
			rec.State, rec.ExitCode, rec.Process = node.ContainerExited, c.exitCode, node.Process{}
			rec.FinishedAt = w.wall.Add(c.died)
		case c.stale:
			rec.Process = node.Process{PID: 7, State: node.ProcessGone, CgroupEmpty: true}
		}
		sb.Containers = append(sb.Containers, rec)
	}
	return sb
}

func (w *world) view() node.PodView {
	v := node.PodView{Name: w.name, UID: "uid", Static: true, Phase: corev1.PodRunning}
	if w.rejected {
		v.Phase, v.Reason = corev1.PodFailed, "OutOfpods"
		return v
	}
	for _, c := range w.containers {
		st := corev1.ContainerStatus{Name: c.name, RestartCount: int32(c.attempt)}
		if c.running {
			st.State.Running = &corev1.ContainerStateRunning{}
		} else {
			st.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: c.exitCode}
		}
		v.Statuses = append(v.Statuses, st)
	}
	return v
}
