//go:build world

package world

import (
	"errors"
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Act is one step that the agent took, or tried to.
type Act struct {
	At     time.Duration
	Step   restartpolicy.Step
	Result restartpolicy.Result
	Detail string
}

// String is one line.
func (a Act) String() string {
	return fmt.Sprintf("%s %s for %s (%s)", clock(a.At), a.Step.Kind, a.Step.Key, a.Step.State)
}

// failures let acts of the agent fail, by their kind.
type failures map[restartpolicy.StepKind]int

// act carries a step out, after a second look.
func (a *agent) act(t *task, step restartpolicy.Step) bool {
	entry := restartpolicy.Act{ID: fmt.Sprint(len(a.acts)), BootID: a.w.bootID, Step: step,
		Began: node.Instant{Wall: a.w.wall(), Boot: a.w.boot(a.w.sim.now)}, Result: restartpolicy.ResultStarted}
	a.acts = append(a.acts, Act{At: a.w.sim.now, Step: step, Result: restartpolicy.ResultStarted})
	planned := a.ledger
	a.ledger.Acts = append(planned.Acts[:len(planned.Acts):len(planned.Acts)], entry)
	t.sleep(500 * time.Millisecond) // evidence
	if why := a.decision.Confirm(a.policy, a.observe(), a.history, planned, step); len(why) > 0 {
		entry.Result, entry.Detail = restartpolicy.ResultRefused, why[0]
		a.w.note("agent: %s for %s (%s) refused: %s", step.Kind, step.Key, step.State, why[0])
	} else {
		a.w.note("agent: %s for %s (%s): %s", step.Kind, step.Key, step.State, step.Reason)
		if why := a.forbidden(step); why != "" {
			a.bad[why] = ""
		}
		if err := a.carryOut(t, step); err != nil {
			entry.Result, entry.Detail = restartpolicy.ResultFailed, err.Error()
			a.w.note("agent: %s failed: %v", step.Kind, err)
		} else {
			entry.Result = restartpolicy.ResultDone
		}
	}
	entry.Finished = node.Instant{Wall: a.w.wall(), Boot: a.w.boot(a.w.sim.now)}
	a.update(entry)
	return entry.Result != restartpolicy.ResultRefused
}

var errOrdered = errors.New("the call failed")

// carryOut does what the step says, as long as its time-out lets it.
func (a *agent) carryOut(t *task, step restartpolicy.Step) error {
	w := a.w
	if a.fails[step.Kind] > 0 {
		a.fails[step.Kind]--
		t.sleep(time.Second)
		return errOrdered
	}
	switch step.Kind {
	case restartpolicy.RestartKubelet:
		return a.restart(t, w.kubelet.unit, step.Timeout, a.kubeletWorks)
	case restartpolicy.RestartRuntime:
		return a.restart(t, w.crio.unit, step.Timeout, w.crio.answers)
	case restartpolicy.StopContainer:
		return a.onContainer(t, step, func(o *task, k *container) error { return w.crio.halt(o, k, min(step.Target.Grace, 2*time.Second)) })
	case restartpolicy.RemoveContainer:
		return a.onContainer(t, step, func(o *task, k *container) error { return w.crio.remove(o, k) })
	case restartpolicy.StopOldSandbox, restartpolicy.StopSandbox:
		for _, sb := range w.crio.sandboxes {
			if sb.id == step.Target.SandboxID {
				a.check(step, sb.pod)
				return w.crio.ask(t, step.Timeout+time.Second, func(o *task) error { return w.crio.stopPodSandbox(o, sb, step.Timeout) })
			}
		}
		return errors.New("no such sandbox")
	}
	return fmt.Errorf("no such step: %s", step.Kind)
}

// check notes acts that must never be, whatever the fault.
func (a *agent) check(step restartpolicy.Step, p *Pod) {
	if p == nil || !p.Static {
		a.bad[string(step.Kind)] = "on what is no static pod"
	}
}

func (a *agent) onContainer(t *task, step restartpolicy.Step, do func(*task, *container) error) error {
	for _, sb := range a.w.crio.sandboxes {
		for _, k := range sb.containers {
			if k.id != step.Target.ContainerID {
				continue
			}
			a.check(step, sb.pod)
			if k.state == node.ContainerRunning && k.process == node.ProcessAlive && !a.twice(k) {
				a.bad[string(step.Kind)] = "on a container that lives: " + k.id
			}
			return a.w.crio.ask(t, step.Timeout, func(o *task) error { return do(o, k) })
		}
	}
	return errors.New("no such container")
}

// twice tells that another attempt of the same container runs as well.
func (a *agent) twice(k *container) bool {
	for _, sb := range a.w.crio.sandboxes {
		for _, other := range sb.containers {
			if other != k && sb.name == k.sandbox.name && other.spec.Name == k.spec.Name && other.process == node.ProcessAlive {
				return true
			}
		}
	}
	return false
}

// restart restarts a unit and waits until it works, within the time.
func (a *agent) restart(t *task, u *unit, timeout time.Duration, works func() bool) error {
	until := t.sim.now + timeout
	finished := false
	before := u.pid
	a.w.by(func(t *task) {
		u.restart(t)
		finished = true
	})
	for t.sim.now < until {
		t.sleep(500 * time.Millisecond)
		if finished && u.pid > 0 && u.pid != before && works() {
			return nil
		}
	}
	return errors.New("restart " + u.name + ": it does not work within " + timeout.String())
}

// kubeletWorks is what package remedy takes for a kubelet that works.
func (a *agent) kubeletWorks() bool {
	s := a.observer.observe()
	v := s.Kubelet.View
	switch {
	case v.Known():
		return len(v.Pods) > 0 || len(s.Intent.Pods) == 0
	case v.SourcesNotReady:
		return true
	}
	return (s.Kubelet.Healthy || v.Answered) && a.w.sim.now-a.w.kubelet.unit.started > 20*time.Second
}
