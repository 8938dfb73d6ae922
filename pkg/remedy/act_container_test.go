package remedy

import (
	"context"
	"errors"
	"strings"
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
	{"stop container", "stop-container main-new", "it has ended", "still says running", func(n *scripted) { n.main().State = node.ContainerExited }},
	{"remove container", "stop-container main-new, remove-container main-new", "the stale record is gone", "still there", func(n *scripted) { n.sb(0).Containers = nil }},
	{"stop old", "stop-sandbox sandbox-old", "the sandbox is stopped", "still ready", func(n *scripted) { n.sb(1).Ready = false }},
	{"stop sandbox", "stop-sandbox sandbox-new", "the sandbox is stopped", "still ready", func(n *scripted) { n.sb(0).Ready = false }},
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
				n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, act.seen)
				n.called(strings.Split(act.call, ", ")...)
				if n.deadlines[0] != step.Timeout {
					t.Errorf("the call's deadline is %s, want the step's %s", n.deadlines[0], step.Timeout)
				}
			})
		})
		t.Run(act.step+" fails when the call returns and nothing changes", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				n.expect(t, e, t.Context(), step, restartpolicy.ResultFailed, act.still)
			})
		})
		t.Run(act.step+" ends at its time-out", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				n.onAct = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
				_, took := n.expect(t, e, t.Context(), step, restartpolicy.ResultFailed, "deadline exceeded")
				if took < step.Timeout || took > step.Timeout+verifyBound+time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
		t.Run(act.step+" is judged by the list, not by the call", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				n.onAct = func(context.Context, string) error { act.effect(n); return errors.New("broken pipe") }
				n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, "")
			})
		})
		t.Run(act.step+" is not done by a list that cannot be had", func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(act.step)
				n.onAct = func(context.Context, string) error { n.runtimeDown(); n.snap.Runtime.Sandboxes = nil; return nil }
				n.expect(t, e, t.Context(), step, restartpolicy.ResultFailed, "")
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
				n.expect(t, e, ctx, step, restartpolicy.ResultDone, act.seen)
			})
		})
	}
}

func TestADeadProcessGetsAShortGrace(t *testing.T) {
	for grace, want := range map[time.Duration]time.Duration{time.Second: time.Second, 135 * time.Second: deadGrace} {
		inBubble(t, func(t *testing.T, n *scripted) {
			e, step := n.given("stop container")
			step.Target.Grace = grace
			e.Do(t.Context(), step, n.confirm)
			if n.graces[0] != want {
				t.Errorf("grace %s, want %s", n.graces[0], want)
			}
		})
	}
}

func TestWhatIsAgainstAStepRefusesIt(t *testing.T) {
	for name := range due {
		t.Run(name, func(t *testing.T) {
			n := newScripted(t)
			e, step := n.given(name)
			n.against = func(*node.Snapshot) []restartpolicy.Inhibitor {
				return []restartpolicy.Inhibitor{{Name: "paused", Detail: "until noon"}, {Name: "host-busy", Detail: "ostree"}}
			}
			out, _ := n.expect(t, e, t.Context(), step, restartpolicy.ResultRefused, "paused: until noon; host-busy: ostree")
			n.called()
			if out.Evidence != "" {
				t.Error("evidence is saved of an act that is not taken")
			}
		})
		t.Run(name+" while the agent stops", func(t *testing.T) {
			n := newScripted(t)
			e, step := n.given(name)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			n.expect(t, e, ctx, step, restartpolicy.ResultRefused, "the agent is stopping")
			n.called()
		})
	}
}

func TestTheOlderOfTwoAttemptsIsGivenItsGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("stop container")
		step.State, step.Target.Grace = restartpolicy.DuplicateRunning, 135*time.Second
		e.Do(t.Context(), step, n.confirm)
		if n.graces[0] != 135*time.Second {
			t.Errorf("grace %s", n.graces[0])
		}
	})
}

func TestDryRunSavesNothingAndActsOnNothing(t *testing.T) {
	n := newScripted(t)
	n.policy.DryRun = true
	e, step := n.given("stop container")
	out, _ := n.expect(t, e, t.Context(), step, restartpolicy.ResultDryRun, "process 7 is gone")
	n.called()
	if out.Evidence != "" {
		t.Errorf("evidence: %+v", out)
	}
}

func TestAManifestOutsideOfItsDirectoryIsNotMoved(t *testing.T) {
	n := newScripted(t)
	n.snap.Intent.Dir += "/sub"
	e, step := n.given("replace")
	n.expect(t, e, t.Context(), step, restartpolicy.ResultRefused, "not in the manifest directory")
	n.called()
}

func TestFactsThatChangeWhileTheEvidenceIsSavedRefuseTheStep(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("stop container")
		e.evidence.journal = func(context.Context, string) ([]byte, error) {
			time.Sleep(2 * time.Second)
			n.main().State = node.ContainerExited
			return nil, nil
		}
		n.against = func(s *node.Snapshot) []restartpolicy.Inhibitor {
			if c, _, _ := findContainer(s, step.Target.ContainerID); c.State == node.ContainerExited {
				return []restartpolicy.Inhibitor{{Name: "changed", Detail: "it has exited"}}
			}
			return nil
		}
		out, _ := n.expect(t, e, t.Context(), step, restartpolicy.ResultRefused, "changed: it has exited")
		n.called()
		if out.Evidence == "" {
			t.Error("the evidence is not named")
		}
	})
}

func TestOneLineIsLoggedForAnAct(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("stop container")
		e.Do(t.Context(), step, n.confirm)
		for _, want := range []string{`"level":"INFO"`, `"step":"stop-container"`, `"result":"failed"`, `"namespace":"kube-system"`,
			`"pod":"app-node1"`, `"container":"main"`, `"attempt":3`, `"containerID":"main-new"`, `"verdict":"stale-running"`} {
			if !contains(n.log.String(), want) {
				t.Errorf("no %s in %s", want, n.log.String())
			}
		}
	})
}
