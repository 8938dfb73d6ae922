package restartpolicy

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// due is a step at the moment at which it is planned, and what it was planned
// with.
type due struct {
	policy  config.Restart
	snap    *node.Snapshot
	history History
	ledger  Ledger
	step    Step
}

// confirmable are the faults whose steps are confirmed below, beside those of
// curable.
var confirmable = map[string]func() (*world, func(*node.Snapshot, time.Duration)){
	"replace manifest": func() (*world, func(*node.Snapshot, time.Duration)) {
		w, alter := curable["rejected"]()
		w.policy.Steps.ReplaceManifest.Enabled = true
		return w, alter
	},
	"leftover": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.containers[0].attempt = 5
		return w, func(s *node.Snapshot, _ time.Duration) { older(s, node.ContainerCreated) }
	},
	"out of order": func() (*world, func(*node.Snapshot, time.Duration)) {
		w := newWorld(2)
		w.containers[0].attempt = 5
		w.crash(0, 1)
		return w, func(s *node.Snapshot, _ time.Duration) {
			older(s, node.ContainerExited).CreatedAt = s.Taken.Wall.Add(time.Hour)
			waiting(s, 0, "RunContainerError", "context canceled")
		}
	},
}

func faultOf(name string) func() (*world, func(*node.Snapshot, time.Duration)) {
	if fault, ok := curable[name]; ok {
		return fault
	}
	return confirmable[name]
}

// planned plays a fault until its step is planned.
func planned(t *testing.T, name string) due {
	t.Helper()
	w, alter := faultOf(name)()
	begin := w.now
	for w.now < begin+time.Hour {
		w.now += interval
		s := w.snapshot()
		s.Intent.Pods[0].Pod = s.Intent.Pods[0].Pod.DeepCopy()
		alter(s, w.now-begin)
		var verdicts []Verdict
		verdicts, w.history = Judge(w.policy, s, w.history)
		if step, _ := Plan(w.policy, s, verdicts, w.ledger); step != nil {
			// The fresh look, a second later.
			w.now += time.Second
			fresh := w.snapshot()
			fresh.Intent.Pods[0].Pod = fresh.Intent.Pods[0].Pod.DeepCopy()
			alter(fresh, w.now-begin)
			return due{w.policy, fresh, w.history, w.ledger, *step}
		}
	}
	t.Fatalf("%s: no step was planned", name)
	return due{}
}

func (d due) confirm() []Inhibitor { return Confirm(d.policy, d.snap, d.history, d.ledger, d.step) }

func TestStepThatIsStillDueIsConfirmed(t *testing.T) {
	t.Parallel()
	for _, faults := range []map[string]func() (*world, func(*node.Snapshot, time.Duration)){curable, confirmable} {
		for name := range faults {
			t.Run(name, func(t *testing.T) {
				if why := planned(t, name).confirm(); len(why) > 0 {
					t.Errorf("inhibited by %v", why)
				}
			})
		}
	}
}

// changes are what may happen between plan and act, and what tells of it. Each is
// tried for the faults that are named, or for all.
var changes = []struct {
	name   string
	by     string
	faults []string
	change func(d *due)
}{
	// The node.
	{name: "an admin pauses the agent", by: "paused", change: func(d *due) { d.snap.Host.Paused = "until noon" }},
	{name: "the node shuts down", by: "shutting-down", change: func(d *due) { d.snap.Host.ShuttingDown = true }},
	{name: "an update begins", by: "host-busy", change: func(d *due) { d.snap.Host.Busy = []string{"ostree"} }},
	{name: "logind falls silent", by: "host-unknown", change: func(d *due) { d.snap.Host.Err = errNoAnswer }},
	{name: "the node's name is in doubt", by: "node-name", change: func(d *due) { d.snap.Settings.NodeNameErr = errors.New("two kubelets") }},
	{name: "the manifests are read for another node", by: "changed", faults: []string{"forgotten", "stale running", "created and never started", "two attempts run"}, change: func(d *due) {
		d.snap.Intent.NodeName, d.manifest().Name.Name = "node2", "app-node2"
	}},
	{name: "the ledger is lost", by: "journal", change: func(d *due) { d.ledger.Withheld = "lost" }},
	{name: "the wall clock jumps", by: "clock-step", change: func(d *due) { d.snap.Taken.Wall = d.snap.Taken.Wall.Add(-2 * time.Hour) }},
	{name: "the node was booted anew", by: "", change: func(d *due) { d.snap.Host.BootID = "another" }},
	{name: "the step is switched off", by: "disabled", change: func(d *due) { d.policy.Steps = config.Steps{} }},
	{name: "the step is none that is known", by: "disabled", change: func(d *due) { d.step.Kind = "reboot" }},

	// The services.
	{name: "an admin stops the kubelet", by: "kubelet-stopped", faults: []string{"stale running", "two attempts run", "sandbox lost", "waits for an old revision, seen by its UID only"},
		change: func(d *due) { gone(d.snap, "inactive", "success") }},
	{name: "an admin stops the kubelet", by: "changed", faults: []string{"two generations", "forgotten", "rejected"},
		change: func(d *due) { gone(d.snap, "inactive", "success") }},
	{name: "an admin masks the kubelet", by: "kubelet-stopped", faults: []string{"forgotten", "stale running"},
		change: func(d *due) { d.snap.Kubelet.Unit.LoadState = "masked" }},
	{name: "an admin stops the kubelet that is down", by: "changed", faults: []string{"the kubelet is stopped by a signal"},
		change: func(d *due) { gone(d.snap, "inactive", "success") }},
	{name: "an admin stops the runtime", by: "runtime-stopped", faults: []string{"forgotten", "stale running", "a start hangs", "creations time out"},
		change: func(d *due) { d.snap.Runtime.Unit.ActiveState = "inactive" }},
	{name: "an admin stops the runtime that is down", by: "changed", faults: []string{"the runtime is stopped by a signal"},
		change: func(d *due) { d.snap.Runtime.Unit.ActiveState = "inactive" }},
	{name: "a job for the kubelet begins", by: "unit-job", change: func(d *due) { d.snap.Kubelet.Unit.JobPending = true }},
	{name: "a job for the runtime begins", by: "unit-job", change: func(d *due) { d.snap.Runtime.Unit.JobPending = true }},
	{name: "the kubelet is being stopped", by: "unit-job", faults: []string{"forgotten", "stale running"},
		change: func(d *due) { d.snap.Kubelet.Unit.ActiveState = "deactivating" }},
	{name: "systemd falls silent about the kubelet", by: "units-unknown", faults: []string{"forgotten", "stale running", "two generations", "a start hangs"},
		change: func(d *due) { d.snap.Kubelet.Unit = node.Unit{Name: "kubelet.service", Err: errNoAnswer} }},
	{name: "systemd falls silent about the runtime", by: "units-unknown", faults: []string{"forgotten", "stale running", "the kubelet is stopped by a signal", "the runtime is stopped by a signal"},
		change: func(d *due) {
			u := d.snap.Runtime.Unit
			d.snap.Runtime.Unit = node.Unit{Name: u.Name, Err: errNoAnswer, ProcessStarted: u.ProcessStarted}
		}},
	{name: "the kubelet is found in another unit", by: "kubelet-elsewhere", faults: []string{"forgotten", "the kubelet is stopped by a signal", "rejected", "never started"},
		change: func(d *due) { d.snap.Kubelet.Elsewhere = true }},
	{name: "the kubelet was restarted meanwhile", by: "kubelet-hold-off", faults: []string{"forgotten", "forgotten, with a journal only", "waits for an old revision", "never started", "rejected", "created and never started", "creations time out"},
		change: func(d *due) { restartedKubelet(d) }},
	{name: "the kubelet that hung was restarted meanwhile", by: "changed", faults: []string{"the kubelet is stopped by a signal"}, change: restartedKubelet},
	{name: "the kubelet that hung answers", by: "changed", faults: []string{"the kubelet is stopped by a signal"}, change: func(d *due) {
		d.snap.Kubelet.Unit.ProcessState, d.snap.Kubelet.Healthy = "S", true
		d.snap.Kubelet.View = node.View{Source: node.ViewNone, Answered: true}
	}},
	{name: "the runtime was restarted meanwhile", by: "runtime-hold-off", faults: []string{"forgotten", "stale running", "created and never started", "creations time out"},
		change: func(d *due) { d.snap.Runtime.Unit.ProcessStarted = d.snap.Taken.Boot - time.Second }},
	{name: "the runtime was restarted meanwhile", by: "changed", faults: []string{"a start hangs"},
		change: func(d *due) { d.snap.Runtime.Unit.ProcessStarted = d.snap.Taken.Boot - time.Second }},
	{name: "the runtime that hung was restarted meanwhile", by: "changed", faults: []string{"the runtime is stopped by a signal"},
		change: func(d *due) {
			d.snap.Runtime.Unit.ProcessStarted, d.snap.Runtime.Unit.ProcessState = d.snap.Taken.Boot-time.Second, "S"
		}},
	{name: "the runtime that hung answers", by: "changed", faults: []string{"the runtime is stopped by a signal"},
		change: func(d *due) { d.snap.Runtime.Err, d.snap.Runtime.Silent = nil, 0 }},
	{name: "the runtime turns out to be closed to us alone", by: "not-known", faults: []string{"the runtime is stopped by a signal"},
		change: func(d *due) { d.snap.Runtime.Unit.ProcessState, d.snap.Runtime.Silent = "S", 0 }},
	{name: "the runtime's monitors are found in its unit", by: "monitors-in-unit", faults: []string{"the runtime is stopped by a signal", "a start hangs", "creations time out"},
		change: func(d *due) { d.snap.Runtime.MonitorsInUnit, d.snap.Runtime.Unit.KillMode = true, "control-group" }},
	{name: "the runtime has no unit", by: "no-unit", faults: []string{"the runtime is stopped by a signal", "a start hangs"},
		change: func(d *due) { d.snap.Runtime.Unit.LoadState = "not-found" }},
	{name: "the runtime falls silent", by: "changed", faults: []string{"forgotten", "stale running", "two generations", "created and never started", "sandbox lost", "leftover", "two attempts run", "waits for an old revision", "rejected"},
		change: func(d *due) { unanswered(d.snap, errNoAnswer, 0) }},
	{name: "the runtime falls silent", by: "runtime-silent", faults: []string{"the kubelet is stopped by a signal"},
		change: func(d *due) { unanswered(d.snap, errNoAnswer, 0) }},
	{name: "a creation has been in hand for long", by: "call-in-flight", faults: []string{"the kubelet is stopped by a signal", "rejected"},
		change: func(d *due) {
			d.snap.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: "create", Age: 11 * time.Second}}
		}},

	// The manifest.
	{name: "the manifest is gone", by: "changed", faults: podFaults, change: func(d *due) { d.withoutManifest() }},
	{name: "the manifests cannot be read", by: "changed", faults: podFaults, change: func(d *due) { d.snap.Intent.Err, d.snap.Intent.Pods = errNoAnswer, nil }},
	{name: "the manifest has moved", by: "changed", faults: podFaults, change: func(d *due) { d.manifest().Path += ".new" }},
	{name: "the manifest has changed", by: "changed", faults: podFaults, change: func(d *due) { d.manifest().Digest, d.manifest().Content = "other", "other" }},
	{name: "a comment in the manifest has changed", by: "changed", faults: podFaults, change: func(d *due) {
		d.manifest().Content, d.manifest().Digest = d.manifest().Digest, "commented"
	}},
	{name: "the manifest is not readable any more", by: "changed", faults: podFaults, change: func(d *due) {
		m := *d.manifest()
		d.withoutManifest()
		d.snap.Intent.Problems = []node.ManifestProblem{{Path: m.Path, Pod: m.Name, Kind: node.ProblemUnparsable, Message: "bad YAML"}}
	}},
	{name: "the pod is opted out", by: "changed", faults: podFaults, change: func(d *due) { d.manifest().Pod.Annotations = map[string]string{OptOut: "off"} }},
	{name: "what runs is opted out", by: "changed", faults: []string{"forgotten", "stale running", "two generations", "waits for an old revision", "sandbox lost"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].Annotations = map[string]string{OptOut: "off"} }},
	{name: "the pod terminates", by: "changed", faults: []string{"forgotten", "stale running", "created and never started", "two attempts run", "sandbox lost", "leftover", "waits for an old revision", "creations time out"},
		change: func(d *due) { d.snap.Kubelet.View.Pods[0].Terminating = true }},

	// Generations and sandboxes.
	{name: "the sandbox is gone", by: "changed", faults: []string{"forgotten", "stale running", "created and never started", "two attempts run", "sandbox lost", "leftover", "waits for an old revision", "two generations"},
		change: func(d *due) { d.snap.Runtime.Sandboxes = nil }},
	{name: "the sandbox is another", by: "changed", faults: []string{"forgotten", "stale running", "created and never started", "two attempts run", "sandbox lost", "leftover"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].ID = "another" }},
	{name: "the sandbox is another pod's", by: "changed", faults: []string{"stale running", "sandbox lost", "leftover"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].Pod.Name = "etcd-node1" }},
	{name: "the sandbox is from no file", by: "changed", faults: []string{"stale running", "sandbox lost", "leftover", "forgotten", "created and never started"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].Source = "api" }},
	{name: "where the sandbox is from is not known", by: "changed", faults: []string{"stale running", "sandbox lost", "leftover", "forgotten"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].Source = "" }},
	{name: "the sandbox is not ready any more", by: "", faults: []string{"forgotten", "sandbox lost"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].Ready = false }},
	{name: "the sandbox's process lives", by: "changed", faults: []string{"sandbox lost"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].Process.State = node.ProcessAlive }},
	{name: "the sandbox's process cannot be looked at", by: "changed", faults: []string{"sandbox lost"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].Process = node.Process{} }},
	{name: "the new revision has a sandbox", by: "changed", faults: []string{"waits for an old revision"}, change: func(d *due) {
		sb := oldRevision(d.snap, "new-uid", true)
		d.snap.Kubelet.View.Pods[0].Statuses = []corev1.ContainerStatus{{Name: "c0", State: running()}, {Name: "c1", State: running()}}
		for i := range sb.Containers {
			sb.Containers[i].State, sb.Containers[i].Process = node.ContainerRunning, node.Process{PID: 9, State: node.ProcessAlive}
		}
	}},
	{name: "the old revision has ended", by: "changed", faults: []string{"waits for an old revision", "two generations"}, change: func(d *due) {
		d.snap.Runtime.Sandboxes[len(d.snap.Runtime.Sandboxes)-1].Ready = false
	}},
	{name: "nobody names the new generation any more", by: "changed", faults: []string{"two generations"}, change: func(d *due) {
		blind(d.snap)
		d.history.Manifests = nil
	}},
	{name: "the kubelet lists the old generation", by: "changed", faults: []string{"two generations"},
		change: func(d *due) { d.snap.Kubelet.View.Pods[0].UID = "old-uid" }},
	{name: "the kubelet still has the old one, under a former name", by: "unproved", faults: []string{"two generations"}, change: func(d *due) {
		v := d.snap.Kubelet.View.Pods[0]
		v.Name.Name, v.UID = "app-former", "old-uid"
		d.snap.Kubelet.View.Pods = append(d.snap.Kubelet.View.Pods, v)
	}},
	{name: "the new generation's sandbox is gone", by: "changed", faults: []string{"two generations"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].Ready = false }},
	{name: "the new generation's containers are gone", by: "changed", faults: []string{"two generations"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[0].Containers = nil }},
	{name: "the old generation is from no file", by: "changed", faults: []string{"two generations"},
		change: func(d *due) { d.snap.Runtime.Sandboxes[1].Source = "api" }},
	{name: "the rejected pod runs", by: "changed", faults: []string{"rejected", "replace manifest"}, change: func(d *due) {
		d.snap.Runtime.Sandboxes = append(d.snap.Runtime.Sandboxes, node.Sandbox{ID: "sb", Pod: node.PodName{Namespace: "kube-system", Name: "app-node1"}, UID: "uid", Ready: true, Source: "file",
			Containers: []node.Container{{ID: "c0-0", SandboxID: "sb", Name: "c0", State: node.ContainerRunning, Process: node.Process{PID: 7, State: node.ProcessAlive}}}})
		d.snap.Kubelet.View.Pods[0].Phase = corev1.PodRunning
		d.snap.Kubelet.View.Pods[0].Reason = ""
		d.snap.Kubelet.View.Pods[0].Statuses = []corev1.ContainerStatus{{Name: "c0", State: running()}}
	}},
	{name: "the reason of the rejection is another", by: "unproved", faults: []string{"rejected", "replace manifest"},
		change: func(d *due) { d.snap.Kubelet.View.Pods[0].Reason = "NodeAffinity" }},
	{name: "the kubelet refuses the manifest", by: "changed", faults: []string{"never started"},
		change: func(d *due) { refuses(d.snap, d.step.Target.Manifest, "invalid pod") }},
	{name: "the kubelet begins to run it", by: "changed", faults: []string{"never started"}, change: func(d *due) {
		d.snap.Kubelet.View.Pods = append(d.snap.Kubelet.View.Pods, node.PodView{Name: d.step.Key.PodName, UID: "new", Static: true, Phase: corev1.PodPending,
			Statuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}})
	}},
	{name: "the network goes away", by: "unproved", faults: []string{"forgotten", "forgotten, with a journal only", "never started"},
		change: func(d *due) { d.snap.Runtime.Network = node.No }},
	{name: "the image is removed", by: "unproved", faults: []string{"forgotten", "forgotten, with a journal only"},
		change: func(d *due) { d.snap.Runtime.Images[worldImage] = node.No }},
	{name: "the journal falls silent", by: "", faults: []string{"forgotten, with a journal only", "never started"},
		change: func(d *due) { d.snap.Kubelet.Told = node.Told{Err: errNoAnswer} }},

	// Containers and their records.
	{name: "the container runs", by: "changed", faults: []string{"forgotten", "forgotten, with a journal only", "created and never started", "creations time out", "a start hangs"},
		change: func(d *due) { d.revive(d.record()) }},
	{name: "the container has a new attempt", by: "changed", faults: []string{"forgotten", "stale running", "created and never started"},
		change: func(d *due) { d.record().Attempt++ }},
	{name: "the record is another", by: "changed", faults: []string{"forgotten", "stale running", "created and never started", "leftover", "two attempts run"},
		change: func(d *due) { d.record().ID = "another" }},
	{name: "the record is another container's", by: "changed", faults: []string{"created and never started", "stale running"},
		change: func(d *due) { d.record().Name = "side" }},
	{name: "the record is gone", by: "changed", faults: []string{"forgotten", "stale running", "created and never started", "leftover", "two attempts run", "out of order"},
		change: func(d *due) { d.removeRecord() }},
	{name: "the record runs", by: "changed", faults: []string{"created and never started", "leftover", "out of order"}, change: func(d *due) { d.revive(d.record()) }},
	{name: "the record's state is not known", by: "changed", faults: []string{"created and never started", "leftover", "out of order", "stale running", "two attempts run"},
		change: func(d *due) { d.record().State = node.ContainerUnknown }},
	{name: "a call works on the record", by: "unproved", faults: []string{"leftover", "out of order"},
		change: func(d *due) {
			d.snap.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: "start", ContainerID: d.step.Target.ContainerID, Age: time.Second}}
		}},
	{name: "a call works on the record", by: "", faults: []string{"created and never started"},
		change: func(d *due) {
			d.snap.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: "start", ContainerID: d.step.Target.ContainerID, Age: time.Second}}
		}},
	{name: "the process lives", by: "changed", faults: []string{"stale running"}, change: func(d *due) { d.record().Process.State = node.ProcessAlive }},
	{name: "the process cannot be looked at", by: "changed", faults: []string{"stale running"}, change: func(d *due) { d.record().Process = node.Process{} }},
	{name: "children of the process live", by: "changed", faults: []string{"stale running"}, change: func(d *due) { d.record().Process.CgroupEmpty = false }},
	{name: "the container is frozen", by: "changed", faults: []string{"stale running"}, change: func(d *due) { d.record().Process.Frozen = true }},
	{name: "the container has exited", by: "changed", faults: []string{"stale running", "two attempts run"}, change: func(d *due) { d.record().State, d.record().Process = node.ContainerExited, node.Process{} }},
	{name: "the older process cannot be looked at", by: "not-known", faults: []string{"two attempts run"}, change: func(d *due) { d.record().Process = node.Process{} }},
	{name: "the newer attempt has exited", by: "changed", faults: []string{"two attempts run"},
		change: func(d *due) {
			c := &d.snap.Runtime.Sandboxes[0].Containers[0]
			c.State, c.Process = node.ContainerExited, node.Process{}
		}},
	{name: "the kubelet names a reason", by: "changed", faults: []string{"forgotten"}, change: func(d *due) { waiting(d.snap, 0, "ErrImagePull", "no such host") }},
	{name: "the kubelet writes of the pod", by: "", faults: []string{"forgotten, with a journal only"},
		change: func(d *due) { says(d.snap, d.snap.Taken.Boot-time.Second, "c0", "CrashLoopBackOff", "back-off 5m0s") }},
	{name: "a start of the pod is in hand", by: "", faults: []string{"forgotten", "forgotten, with a journal only"},
		change: func(d *due) {
			d.snap.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: "start", ContainerID: "c1-0", Age: time.Second}}
		}},
	{name: "the hung call is over", by: "changed", faults: []string{"a start hangs", "a stop hangs"}, change: func(d *due) { d.snap.Runtime.Calls = nil }},
	{name: "the reason is another", by: "unproved", faults: []string{"creations time out"}, change: func(d *due) { waiting(d.snap, 0, "CreateContainerConfigError", "no such secret") }},

	// Other acts.
	{name: "another pod's step has restarted the kubelet", by: "settling", faults: []string{"forgotten", "rejected", "the kubelet is stopped by a signal"}, change: func(d *due) {
		step := Step{Kind: RestartKubelet, Key: Key{PodName: node.PodName{Namespace: "x", Name: "other"}}}
		if d.step.State == Rejected {
			step = d.step
		}
		d.entered(step)
	}},
	{name: "the budget is used up", by: "budget", faults: []string{"forgotten", "rejected", "never started", "waits for an old revision"}, change: func(d *due) {
		for range d.policy.Steps.RestartKubelet.PerHour {
			d.entered(Step{Kind: RestartKubelet, Key: Key{PodName: node.PodName{Namespace: "x", Name: "other"}}})
		}
	}},
	{name: "it would end another pod", by: "cost", faults: []string{"forgotten", "rejected", "the kubelet is stopped by a signal"},
		change: func(d *due) { addPod(d.snap, "picky", map[string]string{"rack": "7"}) }},
}

var podFaults = []string{"forgotten", "stale running", "created and never started", "two generations", "two attempts run", "sandbox lost", "leftover",
	"out of order", "waits for an old revision", "never started", "rejected", "replace manifest", "a start hangs", "a stop hangs", "creations time out"}

// Given a step that is due, when something changes before it is taken, then it is
// not confirmed, and the reason says what has changed.
func TestChangeBetweenPlanAndActHoldsTheStepBack(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		faults := c.faults
		if faults == nil {
			for name := range cures {
				faults = append(faults, name)
			}
			slices.Sort(faults)
		}
		for _, fault := range faults {
			t.Run(fault+", and "+c.name, func(t *testing.T) {
				d := planned(t, fault)
				c.change(&d)
				why := d.confirm()
				if len(why) == 0 {
					t.Fatalf("%s is confirmed", d.step.Kind)
				}
				if c.by != "" && !slices.ContainsFunc(why, func(i Inhibitor) bool { return i.Name == c.by }) {
					t.Errorf("inhibited by %v, want %s", why, c.by)
				}
				for _, i := range why {
					if i.Detail == "" {
						t.Errorf("%s says nothing", i.Name)
					}
				}
			})
		}
	}
}

// manifest is that of the step's pod.
func (d *due) manifest() *node.Manifest {
	for i := range d.snap.Intent.Pods {
		if d.snap.Intent.Pods[i].Name == d.step.Key.PodName {
			return &d.snap.Intent.Pods[i]
		}
	}
	panic("no manifest of " + d.step.Key.String())
}

func (d *due) withoutManifest() {
	d.snap.Intent.Pods = slices.DeleteFunc(d.snap.Intent.Pods, func(m node.Manifest) bool { return m.Name == d.step.Key.PodName })
}

// record is that of the step's container.
func (d *due) record() *node.Container {
	for i := range d.snap.Runtime.Sandboxes {
		for j := range d.snap.Runtime.Sandboxes[i].Containers {
			if c := &d.snap.Runtime.Sandboxes[i].Containers[j]; c.ID == d.step.Target.ContainerID {
				return c
			}
		}
	}
	panic("no record " + d.step.Target.ContainerID)
}

func (d *due) removeRecord() {
	sb := &d.snap.Runtime.Sandboxes[0]
	sb.Containers = slices.DeleteFunc(sb.Containers, func(c node.Container) bool { return c.ID == d.step.Target.ContainerID })
}

func (d *due) revive(c *node.Container) {
	c.State, c.Process = node.ContainerRunning, node.Process{PID: 9, State: node.ProcessAlive}
}

func (d *due) entered(step Step) {
	now := node.Instant{Boot: d.snap.Taken.Boot - time.Second, Wall: d.snap.Taken.Wall.Add(-time.Second)}
	d.ledger.Acts = append(slices.Clone(d.ledger.Acts), Act{ID: "x", BootID: "boot", Step: step, Began: now, Result: ResultDone})
}

func restartedKubelet(d *due) {
	d.snap.Kubelet.Unit.ProcessStarted, d.snap.Kubelet.Process.Started = d.snap.Taken.Boot-time.Second, d.snap.Taken.Boot-time.Second
}
