package remedy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// due are the steps that the table tests change the world under.
var due = map[string]struct {
	kind  restartpolicy.StepKind
	state restartpolicy.State
	fault func(*scripted)
}{
	"stop container":   {restartpolicy.StopContainer, restartpolicy.StaleRunning, (*scripted).staleRunning},
	"remove container": {restartpolicy.RemoveContainer, restartpolicy.Husk, (*scripted).husk},
	"stop old":         {restartpolicy.StopOldSandbox, restartpolicy.TwoGenerations, (*scripted).twoGenerations},
	"stop blocker":     {restartpolicy.StopOldSandbox, restartpolicy.WaitingForOld, (*scripted).waitingForOld},
	"stop sandbox":     {restartpolicy.StopSandbox, restartpolicy.Forgotten, (*scripted).exited},
	"remove sandbox":   {restartpolicy.RemoveSandbox, restartpolicy.Forgotten, (*scripted).stoppedSandbox},
	"replace":          {restartpolicy.ReplaceManifest, restartpolicy.Rejected, (*scripted).rejected},
	"restart kubelet":  {restartpolicy.RestartKubelet, restartpolicy.Forgotten, (*scripted).exited},
	"restart blocked":  {restartpolicy.RestartKubelet, restartpolicy.WaitingForOld, (*scripted).waitingForOld},
	"restart dead":     {restartpolicy.RestartKubelet, restartpolicy.KubeletDown, (*scripted).kubeletDown},
	"restart runtime":  {restartpolicy.RestartRuntime, restartpolicy.RuntimeDown, (*scripted).runtimeDown},
}

// changes are what may happen between a plan and its act, with the guard that
// must see it.
var changes = []struct {
	guard, step string
	change      func(n *scripted, e *Executor, s *restartpolicy.Step)
}{
	{"disabled", "stop container", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Policy.Steps.StopContainer.Enabled = false }},
	{"disabled", "remove container", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Policy.Steps.RemoveContainer.Enabled = false }},
	{"disabled", "stop old", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Policy.Steps.StopOldSandbox.Enabled = false }},
	{"disabled", "stop sandbox", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Policy.Steps.StopSandbox.Enabled = false }},
	{"disabled", "remove sandbox", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Policy.Steps.RemoveSandbox.Enabled = false }},
	{"disabled", "replace", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Policy.Steps.ReplaceManifest.Enabled = false }},
	{"disabled", "restart kubelet", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Policy.Steps.RestartKubelet.Enabled = false }},
	{"disabled", "restart runtime", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Policy.Steps.RestartRuntime.Enabled = false }},
	{"disabled", "stop container", func(n *scripted, _ *Executor, s *restartpolicy.Step) { s.Kind = "reboot" }},
	{"paused", "restart kubelet", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Host.Paused = "until noon" }},
	{"shutting-down", "restart runtime", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Host.ShuttingDown = true }},
	{"host-busy", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Host.Busy = []string{"ostree"} }},
	{"kubelet-stopped", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Kubelet.Unit.ActiveState = "inactive" }},
	{"kubelet-stopped", "restart dead", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Kubelet.Unit.LoadState = "masked" }},
	{"runtime-stopped", "restart runtime", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Runtime.Unit.ActiveState = "inactive" }},
	{"runtime-silent", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.runtimeDown() }},
	{"runtime-silent", "restart dead", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.runtimeDown() }},
	{"kubelet-gate", "restart dead", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.snap.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: "start", Age: 11 * time.Second}}
	}},
	{"kubelet-gate", "restart dead", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.husk() }},
	{"kubelet-gate", "restart kubelet", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.snap.Kubelet.Unit.ProcessStarted = n.boot() - 50*time.Second
	}},
	{"kubelet-reach", "restart dead", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Units = nil }},
	{"kubelet-reach", "restart kubelet", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Kubelet.Unit.Err = errors.New("no bus") }},
	{"runtime-gate", "restart runtime", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Runtime.MonitorsInUnit = true }},
	{"runtime-reach", "restart runtime", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Runtime.Unit.Err = errors.New("no bus") }},
	{"runtime-reach", "restart runtime", func(n *scripted, e *Executor, _ *restartpolicy.Step) { e.Units = nil }},
	{"manifests-unreadable", "stop old", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.snap.Intent.Err, n.snap.Intent.Pods = errors.New("EIO"), nil
	}},
	{"manifest-gone", "restart kubelet", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Intent.Pods = nil }},
	{"manifest-gone", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Intent.Pods = nil }},
	{"manifest-gone", "stop old", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Intent.Pods = nil }},
	{"manifest-gone", "replace", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Intent.Pods = nil }},
	{"manifest-moved", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Intent.Pods[0].Path += ".new" }},
	{"manifest-changed", "stop sandbox", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Intent.Pods[0].Digest = "other" }},
	{"opted-out", "remove container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.snap.Intent.Pods[0].Pod.Annotations = map[string]string{restartpolicy.OptOut: "off"}
	}},
	{"opted-out", "restart kubelet", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.sb(0).Annotations = map[string]string{restartpolicy.OptOut: "off"}
	}},
	{"terminating", "stop sandbox", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Kubelet.View.Pods[0].Terminating = true }},
	{"no-pod", "stop container", func(n *scripted, _ *Executor, s *restartpolicy.Step) {
		s.Key = restartpolicy.Key{Container: "crio.service"}
	}},
	{"sandbox-gone", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Runtime.Sandboxes = nil }},
	{"sandbox-gone", "stop sandbox", func(n *scripted, _ *Executor, s *restartpolicy.Step) { s.Target.SandboxID = "" }},
	{"sandbox-of-another", "stop sandbox", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.sb(0).Pod.Name = "etcd-node1" }},
	{"not-static", "stop sandbox", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.sb(0).Source = "api" }},
	{"not-static", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.sb(0).Source = "" }},
	{"not-static", "stop old", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.sb(1).Source = "api" }},
	{"container-gone", "remove container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.sb(0).Containers = nil }},
	{"other-sandbox", "stop container", func(n *scripted, _ *Executor, s *restartpolicy.Step) {
		n.snap.Runtime.Sandboxes = append(n.snap.Runtime.Sandboxes, *n.sb(0))
		n.sb(0).ID = "sandbox-other"
	}},
	{"other-attempt", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().Attempt++ }},
	{"other-attempt", "remove container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().Name = "side" }},
	{"not-running", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().State = node.ContainerExited }},
	{"process-lives", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().Process.State = node.ProcessAlive }},
	{"process-lives", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().Process = node.Process{} }},
	{"process-lives", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().Process.CgroupEmpty = false }},
	{"frozen", "stop container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().Process.Frozen = true }},
	{"record-lives", "remove container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().State = node.ContainerRunning }},
	{"record-lives", "remove container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().State = node.ContainerUnknown }},
	{"call-in-flight", "remove container", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.snap.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: "start", ContainerID: "main-new", Age: time.Second}}
	}},
	{"generation-unknown", "stop old", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.snap.Kubelet.View = node.View{Source: node.ViewNone}
		n.snap.Intent.Pods[0].Modified = n.snap.Taken.Wall
	}},
	{"old-not-ready", "stop old", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.sb(1).Ready = false }},
	{"old-is-current", "stop old", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Kubelet.View.Pods[0].UID = "uid-old" }},
	{"old-in-view", "stop old", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		v := n.snap.Kubelet.View.Pods[0]
		v.Name.Name, v.UID = "app-former-name", "uid-old"
		n.snap.Kubelet.View.Pods = append(n.snap.Kubelet.View.Pods, v)
	}},
	{"no-successor", "stop old", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.sb(0).Ready = false }},
	{"no-successor", "stop blocker", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.snap.Intent.Pods[0].Pod.UID = "uid-new"
		n.snap.Kubelet.View.Pods[0].UID = "uid-newer"
	}},
	{"not-current", "stop sandbox", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.twoGenerations()
		n.snap.Kubelet.View.Pods[0].UID = "uid-old"
	}},
	{"kubelet-blind", "stop sandbox", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Kubelet.View.Source = node.ViewNone }},
	{"sandbox-ready", "remove sandbox", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.sb(0).Ready = true }},
	{"sandbox-in-use", "remove sandbox", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().State = node.ContainerRunning }},
	{"replace-running", "replace", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.snap.Runtime.Sandboxes = []node.Sandbox{sandbox("new", n.snap.Taken.Wall)}
	}},
	{"replace-elsewhere", "replace", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.snap.Intent.Dir += "/sub" }},
	{"verdict", "restart kubelet", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.main().State, n.main().Process.State = node.ContainerRunning, node.ProcessAlive
	}},
	{"verdict", "restart kubelet", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.main().Attempt++ }},
	{"verdict", "restart blocked", func(n *scripted, _ *Executor, _ *restartpolicy.Step) {
		n.snap.Runtime.Sandboxes = append(n.snap.Runtime.Sandboxes, sandbox("new", n.snap.Taken.Wall))
	}},
	{"verdict", "restart dead", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.kubeletUp() }},
	{"verdict", "restart runtime", func(n *scripted, _ *Executor, _ *restartpolicy.Step) { n.runtimeUp() }},
}

func TestAStepThatIsStillDueIsNotRefused(t *testing.T) {
	for name, d := range due {
		t.Run(name, func(t *testing.T) {
			n := newScripted(t)
			d.fault(n)
			step := n.step(d.kind, d.state)
			if why := n.executor().refusal(t.Context(), step, n.look(t.Context())); why != "" {
				t.Error("refused:", why)
			}
		})
	}
}

// Each case names the guard that must refuse it: taking that guard away turns
// the case red, because then another one answers, or none.
func TestChangesBetweenPlanAndActRefuseTheStep(t *testing.T) {
	covered := map[string]bool{"agent-stopping": true} // below
	for _, c := range changes {
		covered[c.guard] = true
		t.Run(c.guard+" of "+c.step, func(t *testing.T) {
			n := newScripted(t)
			due[c.step].fault(n)
			e := n.executor()
			step := n.step(due[c.step].kind, due[c.step].state)
			c.change(n, e, &step)
			s := n.look(t.Context())
			if got := refusedBy(t.Context(), e, step, s); got != c.guard {
				t.Errorf("refused by %q (%s)", got, e.refusal(t.Context(), step, s))
			}
			if out := e.Do(t.Context(), step); out.Result != restartpolicy.ResultRefused || out.Detail == "" {
				t.Errorf("outcome %+v", out)
			}
			if len(n.acts) > 0 {
				t.Errorf("acted: %v", n.acts)
			}
		})
	}
	for _, g := range guards() {
		if !covered[g.name] {
			t.Errorf("guard %s has no case", g.name)
		}
	}
}

func refusedBy(ctx context.Context, e *Executor, step restartpolicy.Step, s *node.Snapshot) string {
	for _, g := range guards() {
		c := scene{ctx: ctx, policy: e.Policy, snap: s, step: step, judgment: judge(e.Policy, s),
			systemd: e.Units != nil, command: len(e.RestartCommand) > 0}
		if g.refuses(c) != "" {
			return g.name
		}
	}
	return ""
}

func TestAnAgentThatStopsBeginsNothing(t *testing.T) {
	for name, d := range due {
		t.Run(name, func(t *testing.T) {
			n := newScripted(t)
			d.fault(n)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			expect(t, n.executor(), ctx, n.step(d.kind, d.state), restartpolicy.ResultRefused, "the agent is stopping")
			if len(n.acts) > 0 {
				t.Errorf("acted: %v", n.acts)
			}
		})
	}
}

func TestDryRunSavesNothingAndActsOnNothing(t *testing.T) {
	n := newScripted(t)
	n.staleRunning()
	n.policy.DryRun = true
	out, _ := expect(t, n.executor(), t.Context(), n.step(restartpolicy.StopContainer, restartpolicy.StaleRunning), restartpolicy.ResultDryRun, "process 7 is gone")
	if len(n.acts) > 0 || out.Evidence != "" {
		t.Errorf("acted: %v, %+v", n.acts, out)
	}
}
