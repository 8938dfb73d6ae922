package remedy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// each act on a record or sandbox, with what makes it come true on the node.
var runtimeActs = []struct {
	step, call, seen, still string
	effect                  func(n *scripted)
}{
	{"stop container", "stop-container main-new", "the runtime has noticed", "still says running", func(n *scripted) { n.main().State = node.ContainerExited }},
	{"remove container", "remove-container main-new", "the stale record is gone", "still there", func(n *scripted) { n.sb(0).Containers = nil }},
	{"stop old", "stop-sandbox sandbox-old", "the sandbox is stopped", "still ready", func(n *scripted) { n.sb(1).Ready = false }},
	{"stop blocker", "stop-sandbox sandbox-old", "the sandbox is stopped", "still ready", func(n *scripted) { n.sb(0).Ready = false }},
	{"stop sandbox", "stop-sandbox sandbox-new", "the sandbox is stopped", "still ready", func(n *scripted) { n.sb(0).Ready = false }},
	{"remove sandbox", "remove-sandbox sandbox-new", "the sandbox is gone", "still there", func(n *scripted) { n.snap.Runtime.Sandboxes = nil }},
}

// given is an executor for a step that is due.
func (n *scripted) given(name string) (*Executor, restartpolicy.Step) {
	n.t.Helper()
	due[name].fault(n)
	step := n.step(due[name].kind, due[name].state)
	return n.executor(), step
}

func (n *scripted) called(want ...string) {
	n.t.Helper()
	if len(n.acts) != len(want) {
		n.t.Errorf("acts %q, want %q", n.acts, want)
		return
	}
	for i := range want {
		if n.acts[i] != want[i] {
			n.t.Errorf("acts %q, want %q", n.acts, want)
		}
	}
}

func TestRuntimeActs(t *testing.T) {
	for _, act := range runtimeActs {
		t.Run(act.step+" is done once the list shows it", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				n.onAct = func(context.Context, string) error { act.effect(n); return nil }
				expect(t, e, t.Context(), step, restartpolicy.ResultDone, act.seen)
				n.called(act.call)
				if n.deadlines[0] != step.Timeout {
					t.Errorf("the call's deadline is %s, want the step's %s", n.deadlines[0], step.Timeout)
				}
			})
		})
		t.Run(act.step+" fails when the call returns and nothing changes", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				expect(t, e, t.Context(), step, restartpolicy.ResultFailed, act.still)
			})
		})
		t.Run(act.step+" ends at its time-out", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				n.onAct = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
				_, took := expect(t, e, t.Context(), step, restartpolicy.ResultFailed, "deadline exceeded")
				if took < step.Timeout || took > step.Timeout+verifyBound+time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
		t.Run(act.step+" is judged by the list, not by the call", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				n.onAct = func(context.Context, string) error { act.effect(n); return errors.New("broken pipe") }
				expect(t, e, t.Context(), step, restartpolicy.ResultDone, "")
			})
		})
		t.Run(act.step+" is not done by a list that cannot be had", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				n.onAct = func(context.Context, string) error { n.runtimeDown(); n.snap.Runtime.Sandboxes = nil; return nil }
				expect(t, e, t.Context(), step, restartpolicy.ResultFailed, "")
			})
		})
		t.Run(act.step+" is finished when the agent stops in the middle", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				ctx, cancel := context.WithCancel(t.Context())
				n.onAct = func(call context.Context, _ string) error {
					cancel()
					time.Sleep(time.Second)
					act.effect(n)
					if call.Err() != nil {
						t.Error("the call was cut in half")
					}
					return nil
				}
				expect(t, e, ctx, step, restartpolicy.ResultDone, act.seen)
			})
		})
	}
}

func TestADeadProcessGetsAShortGrace(t *testing.T) {
	for grace, want := range map[time.Duration]time.Duration{time.Second: time.Second, 135 * time.Second: deadGrace} {
		inBubble(t, func(t *testing.T, n *scripted) {
			e, step := n.given("stop container")
			step.Target.Grace = grace
			e.Do(t.Context(), step)
			if n.graces[0] != want {
				t.Errorf("grace %s, want %s", n.graces[0], want)
			}
		})
	}
}

func TestFactsThatChangeWhileTheEvidenceIsSavedRefuseTheStep(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("stop container")
		e.evidence.journal = func(context.Context, string) ([]byte, error) {
			time.Sleep(2 * time.Second)
			n.main().State = node.ContainerExited
			return nil, nil
		}
		out, _ := expect(t, e, t.Context(), step, restartpolicy.ResultRefused, "noticed by itself")
		n.called()
		if out.Evidence == "" {
			t.Error("the evidence is not named")
		}
	})
}

func TestOneLineIsLoggedForAnAct(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("stop container")
		e.Do(t.Context(), step)
		for _, want := range []string{`"level":"INFO"`, `"step":"stop-container"`, `"result":"failed"`, `"namespace":"kube-system"`,
			`"pod":"app-node1"`, `"container":"main"`, `"attempt":3`, `"containerID":"main-new"`, `"verdict":"stale-running"`} {
			if !contains(n.log.String(), want) {
				t.Errorf("no %s in %s", want, n.log.String())
			}
		}
	})
}
