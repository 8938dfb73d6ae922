package restartpolicy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

var errNoAnswer = errors.New("deadline exceeded")

// unknown takes one source away, each as its reader does where it gets no answer.
var unknown = map[string]func(s *node.Snapshot){
	"systemd of the kubelet": func(s *node.Snapshot) { s.Kubelet.Unit = node.Unit{Name: "kubelet.service", Err: errNoAnswer} },
	"systemd of the runtime": func(s *node.Snapshot) { s.Runtime.Unit = node.Unit{Name: "crio.service", Err: errNoAnswer} },
	"systemd": func(s *node.Snapshot) {
		s.Kubelet.Unit = node.Unit{Name: "kubelet.service", Err: errNoAnswer}
		s.Runtime.Unit = node.Unit{Name: "crio.service", Err: errNoAnswer}
		s.Host = node.Host{BootID: s.Host.BootID, Err: errNoAnswer}
	},
	"logind":                     func(s *node.Snapshot) { s.Host = node.Host{BootID: s.Host.BootID, Err: errNoAnswer} },
	"the manifests":              func(s *node.Snapshot) { s.Intent.Err, s.Intent.Pods, s.Intent.Problems = errNoAnswer, nil, nil },
	"CRI":                        func(s *node.Snapshot) { unanswered(s, errNoAnswer, 0) },
	"the view":                   func(s *node.Snapshot) { s.Kubelet.View = node.View{Source: node.ViewNone, Err: errNoAnswer} },
	"the view, which is refused": blind,
	"the journal":                func(s *node.Snapshot) { s.Kubelet.Told = node.Told{Err: errNoAnswer} },
	"the journal, not asked":     func(s *node.Snapshot) { s.Kubelet.Told = node.Told{} },
	"all words of the kubelet": func(s *node.Snapshot) {
		s.Kubelet.View, s.Kubelet.Told = node.View{Source: node.ViewNone, Err: errNoAnswer}, node.Told{Err: errNoAnswer}
		s.Kubelet.Healthy, s.Kubelet.HealthErr = false, errNoAnswer
	},
	"healthz":                         func(s *node.Snapshot) { s.Kubelet.Healthy, s.Kubelet.HealthErr = false, errNoAnswer },
	"the network":                     func(s *node.Snapshot) { s.Runtime.Network, s.Runtime.NetworkDetail = node.Unknown, "" },
	"the images":                      func(s *node.Snapshot) { s.Runtime.Images = nil },
	"the node's name":                 func(s *node.Snapshot) { s.Settings.NodeName, s.Settings.NodeNameErr = "", errNoAnswer },
	"the kubelet's version":           func(s *node.Snapshot) { s.Settings.Version, s.Settings.FeatureGates = "", nil },
	"the settings":                    func(s *node.Snapshot) { s.Settings.Err = errNoAnswer },
	"the kubelet's process":           func(s *node.Snapshot) { s.Kubelet.Process = node.KubeletProcess{Err: errNoAnswer} },
	"what the kubelet's process does": func(s *node.Snapshot) { s.Kubelet.Unit.ProcessState, s.Kubelet.Process.State = "", "" },
	"what systemd did last":           func(s *node.Snapshot) { s.Kubelet.Unit.LastJob = node.Job{Err: errNoAnswer} },
	"the containers' processes":       eachContainer(func(c *node.Container) { c.Process = node.Process{PID: c.Process.PID} }),
	"the sandboxes' processes":        eachSandbox(func(sb *node.Sandbox) { sb.Process = node.Process{PID: sb.Process.PID} }),
	"how containers ended": eachContainer(func(c *node.Container) {
		if c.State == node.ContainerExited {
			c.StatusUnknown, c.ExitCode, c.Reason, c.FinishedAt = true, 0, "", time.Time{}
		}
	}),
	"the grace of containers":   eachContainer(func(c *node.Container) { c.Grace = -1 }),
	"what containers do":        eachContainer(func(c *node.Container) { c.State, c.Process = node.ContainerUnknown, node.Process{} }),
	"where sandboxes come from": eachSandbox(func(sb *node.Sandbox) { sb.Source = "" }),
}

func eachSandbox(change func(*node.Sandbox)) func(*node.Snapshot) {
	return func(s *node.Snapshot) {
		s.Runtime.Sandboxes = slices.Clone(s.Runtime.Sandboxes)
		for i := range s.Runtime.Sandboxes {
			change(&s.Runtime.Sandboxes[i])
		}
	}
}

func eachContainer(change func(*node.Container)) func(*node.Snapshot) {
	return eachSandbox(func(sb *node.Sandbox) {
		sb.Containers = slices.Clone(sb.Containers)
		for i := range sb.Containers {
			change(&sb.Containers[i])
		}
	})
}

// busy are healthy nodes on which something goes on, with a view and a journal,
// and for how long that may go on.
var busy = map[string]struct {
	span  time.Duration
	world func() (*world, func(*node.Snapshot, time.Duration))
}{
	"all runs": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(2), func(s *node.Snapshot, _ time.Duration) { silent(s) }
	}},
	"a crash loop": {320 * time.Second, func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.containers[0].attempt = 8
		w.crash(0, 1)
		return w, func(s *node.Snapshot, since time.Duration) {
			backedOff(s, 0)
			says(s, bootTime+since/time.Minute*time.Minute, "c0", "CrashLoopBackOff", "back-off 5m0s restarting failed container=c0")
		}
	}},
	"an image that cannot be pulled": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, since time.Duration) {
			s.Runtime.Images[worldImage] = node.No
			waiting(s, 0, "ImagePullBackOff", "no such host")
			says(s, bootTime+since/time.Minute*time.Minute, "c0", "ImagePullBackOff", "no such host")
		}
	}},
	"the network is away": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, _ time.Duration) {
			s.Runtime.Network = node.No
			says(s, s.Taken.Boot-time.Second, "", "", "network is not ready")
		}
	}},
	"a sibling uses its grace of an hour": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		w := later(2)
		w.crash(1, 1)
		return w, func(s *node.Snapshot, _ time.Duration) { graceOfAnHour(s); silent(s) }
	}},
	"an old revision uses its grace of an hour": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		return later(2), func(s *node.Snapshot, since time.Duration) {
			graceOfAnHour(s)
			silent(s)
			if since > 2*time.Minute {
				newRevisionWaits(s)
				revise(s, "new")
				exit(s, 1, 0)
			}
		}
	}},
	"a new revision beside an old one that ends": {140 * time.Second, func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(1), func(s *node.Snapshot, _ time.Duration) { oldRevision(s, "old", true); silent(s) }
	}},
	"a pod that is rejected for good": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(1), func(s *node.Snapshot, _ time.Duration) {
			name := reject(s, "other", "NodeAffinity").Name
			silent(s)
			s.Kubelet.Told.Pods = map[node.PodName]node.Said{name: {At: bootTime, Reason: "NodeAffinity"}}
		}
	}},
	"a manifest that is refused": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(1), func(s *node.Snapshot, _ time.Duration) {
			addPod(s, "new", nil)
			s.Runtime.Sandboxes, s.Kubelet.View.Pods = s.Runtime.Sandboxes[:1], s.Kubelet.View.Pods[:1]
			refuses(s, "/m/new.yaml", "invalid pod")
		}
	}},
	"a pod that is done": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(1)
		w.spec.RestartPolicy = corev1.RestartPolicyOnFailure
		w.crash(0, 0)
		return w, func(s *node.Snapshot, _ time.Duration) { ended(s, corev1.PodSucceeded, 0); silent(s) }
	}},
	"a kubelet that is stopped by hand": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, _ time.Duration) { gone(s, "inactive", "success"); silent(s) }
	}},
	"a runtime that is stopped by hand": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(2), func(s *node.Snapshot, since time.Duration) {
			unanswered(s, errNoAnswer, since)
			s.Runtime.Unit.ActiveState = "inactive"
			silent(s)
		}
	}},
	"a kubelet that systemd restarts": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(1), func(s *node.Snapshot, _ time.Duration) {
			gone(s, "activating", "exit-code")
			silent(s)
		}
	}},
	"an update of the node": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		w.busy = []string{"ostree transaction"}
		return w, func(s *node.Snapshot, _ time.Duration) { silent(s) }
	}},
	"a container that is frozen": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		return newWorld(1), func(s *node.Snapshot, _ time.Duration) {
			s.Runtime.Sandboxes[0].Containers[0].Process.Frozen = true
			silent(s)
		}
	}},
	"a pod that is opted out": {7 * time.Minute, func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, _ time.Duration) {
			s.Runtime.Sandboxes[0].Annotations = map[string]string{OptOut: "off"}
			silent(s)
		}
	}},
	"a slow creation": {280 * time.Second, func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.crash(0, 1)
		return w, func(s *node.Snapshot, since time.Duration) {
			s.Runtime.Calls = []node.RuntimeCall{{PID: 9, Verb: "create", ContainerID: "new", Age: since}}
			silent(s)
		}
	}},
}

// On a node that is healthy, no source that falls silent leads to an act. The
// kubelet's crash loop goes on for as long as one that is seen.
func TestNoSourceThatFallsSilentLeadsToAnAct(t *testing.T) {
	t.Parallel()
	for name, node := range busy {
		for source, take := range unknown {
			t.Run(name+", without "+source, func(t *testing.T) { withoutSource(t, node.span, node.world, take) })
		}
	}
}

func withoutSource(t *testing.T, span time.Duration, begin func() (*world, func(*node.Snapshot, time.Duration)), take func(*node.Snapshot)) {
	t.Parallel()
	w, alter := begin()
	w.watch(span, func(s *node.Snapshot, since time.Duration) {
		alter(s, since)
		if since > time.Minute {
			take(s)
		}
	}).quiet(t, "what is not known never opens a way to an act")
}

// On a node with a fault it leads to no other step, to no more of them, and to
// none that comes sooner.
func TestSourceThatFallsSilentOnlyPutsOffAStep(t *testing.T) {
	t.Parallel()
	for name, fault := range curable {
		for source, take := range unknown {
			t.Run(name+", without "+source, func(t *testing.T) {
				t.Parallel()
				w, alter := fault()
				want := cures[name]
				line := w.watch(want.at+3*time.Minute, func(s *node.Snapshot, since time.Duration) {
					alter(s, since)
					take(s)
				})
				for _, a := range line.acts {
					other := (a.State == Forgotten || a.State == WaitingForOld) && a.after >= want.at+5*time.Minute
					if a.Kind != want.kind && !other || a.after < want.at {
						t.Errorf("%v; with it %s at %s", a, want.kind, want.at)
					}
				}
			})
		}
	}
}

// disturbances are things that may be so, alone or together.
var disturbances = map[string]func(s *node.Snapshot, since time.Duration){
	"c0 is down": func(s *node.Snapshot, _ time.Duration) { down(s, 0, 1) },
	"c1 is down": func(s *node.Snapshot, _ time.Duration) { down(s, 1, 137) },
	"c1 is done": func(s *node.Snapshot, _ time.Duration) { down(s, 1, 0) },
	"c0 is stale": func(s *node.Snapshot, _ time.Duration) {
		record(s, 0).Process = node.Process{PID: 7, State: node.ProcessGone, CgroupEmpty: true}
	},
	"c0 is created":     func(s *node.Snapshot, _ time.Duration) { record(s, 0).State = node.ContainerCreated },
	"c1 is frozen":      func(s *node.Snapshot, _ time.Duration) { record(s, 1).Process.Frozen = true },
	"c0 has a leftover": func(s *node.Snapshot, _ time.Duration) { older(s, node.ContainerCreated) },
	"c0 runs twice": func(s *node.Snapshot, _ time.Duration) {
		older(s, node.ContainerRunning).Process = node.Process{PID: 6, State: node.ProcessAlive}
	},
	"c0 fails to pull": func(s *node.Snapshot, _ time.Duration) { down(s, 0, 1); waiting(s, 0, "ErrImagePull", "no such host") },
	"c0 times out": func(s *node.Snapshot, _ time.Duration) {
		down(s, 0, 1)
		waiting(s, 0, "CreateContainerError", "context deadline exceeded")
	},
	"c0 is backed off": func(s *node.Snapshot, _ time.Duration) { down(s, 0, 1); backedOff(s, 0) },
	"a start hangs": func(s *node.Snapshot, since time.Duration) {
		s.Runtime.Calls = []node.RuntimeCall{{PID: 3, Verb: "start", ContainerID: "c0-3", Age: since}}
	},
	"a stop hangs": func(s *node.Snapshot, since time.Duration) {
		s.Runtime.Calls = []node.RuntimeCall{{PID: 3, Verb: "kill", ContainerID: "c0-3", Age: since}}
	},
	"the image is away": func(s *node.Snapshot, _ time.Duration) {
		s.Runtime.Images = map[string]node.Answer{worldImage: node.No}
	},
	"the network is": func(s *node.Snapshot, _ time.Duration) { s.Runtime.Network = node.No },
	"the sandbox is not ready": func(s *node.Snapshot, _ time.Duration) {
		if s.Runtime.Err == nil {
			s.Runtime.Sandboxes[0].Ready = false
		}
	},
	"the sandbox is lost": func(s *node.Snapshot, _ time.Duration) {
		if s.Runtime.Err == nil {
			infraGone(s)
		}
	},
	"an old one runs": func(s *node.Snapshot, _ time.Duration) {
		if s.Runtime.Err == nil {
			oldRevision(s, "old", true)
		}
	},
	"a new one waits": func(s *node.Snapshot, _ time.Duration) {
		if s.Kubelet.View.Known() {
			newRevisionWaits(s)
		}
	},
	"a UID is given": func(s *node.Snapshot, _ time.Duration) { s.Intent.Pods[0].Pod.UID = "given" },
	"a change after 5 min": func(s *node.Snapshot, since time.Duration) {
		if since > 5*time.Minute {
			revise(s, "changed")
		}
	},
	"it is rejected": func(s *node.Snapshot, _ time.Duration) {
		if s.Kubelet.View.Known() {
			v := &s.Kubelet.View.Pods[0]
			v.Phase, v.Reason, v.Statuses = corev1.PodFailed, "OutOfcpu", nil
		}
	},
	"it never began": func(s *node.Snapshot, _ time.Duration) {
		addPod(s, "new", nil)
		s.Runtime.Sandboxes = s.Runtime.Sandboxes[:max(0, len(s.Runtime.Sandboxes)-1)]
		s.Kubelet.View.Pods = s.Kubelet.View.Pods[:max(0, len(s.Kubelet.View.Pods)-1)]
	},
	"policy OnFailure": func(s *node.Snapshot, _ time.Duration) {
		s.Intent.Pods[0].Pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	},
	"policy Never": func(s *node.Snapshot, _ time.Duration) {
		s.Intent.Pods[0].Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	},
	"the kubelet is stopped": func(s *node.Snapshot, _ time.Duration) { mute(s); s.Kubelet.Unit.ProcessState = "T" },
	"the kubelet is mute":    func(s *node.Snapshot, _ time.Duration) { mute(s) },
	"the kubelet is blocked": func(s *node.Snapshot, _ time.Duration) {
		if s.Kubelet.View.Known() {
			s.Kubelet.View.Pods = nil
		}
	},
	"the runtime is silent": func(s *node.Snapshot, since time.Duration) { unanswered(s, errNoAnswer, since) },
	"the runtime failed": func(s *node.Snapshot, since time.Duration) {
		unanswered(s, errNoAnswer, since)
		s.Runtime.Unit.ActiveState = "failed"
	},
}

// record is a container's record; one that nobody looks at where there is none.
func record(s *node.Snapshot, i int) *node.Container {
	if s.Runtime.Err != nil {
		return &node.Container{}
	}
	name := fmt.Sprint("c", i)
	for j := range s.Runtime.Sandboxes[0].Containers {
		if c := &s.Runtime.Sandboxes[0].Containers[j]; c.Name == name {
			return c
		}
	}
	return &node.Container{}
}

// down ends a container, also in the view.
func down(s *node.Snapshot, i int, code int32) {
	c := record(s, i)
	c.State, c.ExitCode, c.Process = node.ContainerExited, code, node.Process{}
	if s.Kubelet.View.Known() && len(s.Kubelet.View.Pods) > 0 && len(s.Kubelet.View.Pods[0].Statuses) > i {
		s.Kubelet.View.Pods[0].Statuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
}

// Whatever is the matter, and whatever is remembered, making one source unknown
// never turns "no step" into a step.
func TestUnknownNeverOpensAWayToAStep(t *testing.T) {
	t.Parallel()
	names, sources := slices.Sorted(maps.Keys(disturbances)), slices.Sorted(maps.Keys(unknown))
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(2)
		w.policy.Looks = rapid.IntRange(1, 3).Draw(t, "looks")
		for i := range w.containers {
			w.containers[i].attempt = 3
		}
		chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID[string]).Draw(t, "disturbances")
		slices.Sort(chosen) // what is about the kubelet or the runtime as a whole comes last
		without := rapid.SliceOfNDistinct(rapid.SampledFrom(sources), 4, 4, rapid.ID[string]).Draw(t, "sources")
		journal := rapid.Bool().Draw(t, "journal")
		viewed := rapid.Bool().Draw(t, "view")
		step := time.Duration(rapid.SampledFrom([]int{5, 15, 25}).Draw(t, "seconds between looks")) * time.Second
		begin := w.now
		for range rapid.IntRange(5, 60).Draw(t, "number of looks") {
			w.now += step
			s := w.snapshot()
			s.Interval = step
			s.Intent.Pods[0].Pod = s.Intent.Pods[0].Pod.DeepCopy()
			if !viewed {
				blind(s)
			}
			for _, name := range chosen {
				disturbances[name](s, w.now-begin)
			}
			if journal {
				consistent(s)
			}
			verdicts, next := Judge(w.policy, s, w.history)
			planned, _ := Plan(w.policy, s, verdicts, w.ledger)
			if planned == nil {
				for _, source := range without {
					masked := *s
					unknown[source](&masked)
					verdicts, _ := Judge(w.policy, &masked, w.history)
					if got, _ := Plan(w.policy, &masked, verdicts, w.ledger); got != nil {
						t.Fatalf("%s after %s: without %s: %s of %s (%s): %s", chosen, w.now-begin, source, got.Kind, got.Key, got.State, got.Reason)
					}
				}
			} else {
				w.entered(ResultInVain, *planned)
			}
			w.history = next
		}
	})
}

// consistent is a journal that says what the view says.
func consistent(s *node.Snapshot) {
	silent(s)
	if !s.Kubelet.View.Known() || len(s.Kubelet.View.Pods) == 0 {
		return
	}
	for _, st := range s.Kubelet.View.Pods[0].Statuses {
		if w := st.State.Waiting; w != nil && w.Reason != "" {
			says(s, s.Taken.Boot-20*time.Second, st.Name, w.Reason, w.Message)
		}
	}
}
