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

func contains(s, part string) bool { return strings.Contains(s, part) }

// later changes the node some time after now, by the next look after that.
func (n *scripted) later(d time.Duration, change func()) {
	at, done := time.Now().Add(d), false
	n.onLook = func() {
		if !done && !time.Now().Before(at) {
			done = true
			change()
		}
	}
}

func TestRestartOfTheKubelet(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	cases := []struct {
		name, step string
		script     func(n *scripted)
		result     restartpolicy.Result
		detail     string
		calls      []string
		atMost     time.Duration
		atLeast    time.Duration
	}{
		{"is done when a new process has its pods", "restart kubelet", func(n *scripted) {
			n.onAct = func(context.Context, string) error { n.later(2*time.Second, n.kubeletUp); return nil }
		}, restartpolicy.ResultDone, "looks after pods again", []string{"restart kubelet.service"}, 3 * time.Second, 0},
		{"is not done by a view of the old process", "restart kubelet", func(n *scripted) {},
			restartpolicy.ResultFailed, "still the old one", []string{"restart kubelet.service"}, 31 * time.Second, 0},
		{"works on a stopped process without a kill", "restart dead", func(n *scripted) {
			n.onAct = func(context.Context, string) error { time.Sleep(800 * time.Millisecond); n.kubeletUp(); return nil }
		}, restartpolicy.ResultDone, "looks after pods again", []string{"restart kubelet.service"}, 2 * time.Second, 0},
		{"kills a process that does not end", "restart dead", func(n *scripted) {
			n.onAct = func(ctx context.Context, act string) error {
				if strings.HasPrefix(act, "kill") {
					n.later(time.Second, n.kubeletUp)
					return nil
				}
				return hang(ctx)
			}
		}, restartpolicy.ResultDone, "looks after pods again", []string{"restart kubelet.service", "kill kubelet.service killed"}, 18 * time.Second, 0},
		{"gives up on a process that cannot be killed", "restart dead", func(n *scripted) {
			n.onAct = func(ctx context.Context, act string) error {
				if strings.HasPrefix(act, "kill") {
					n.snap.Kubelet.Unit.ProcessState = "D"
					return nil
				}
				return hang(ctx)
			}
		}, restartpolicy.ResultFailed, "uninterruptible sleep (state D)", []string{"restart kubelet.service", "kill kubelet.service killed"}, 32 * time.Second, 0},
		{"leaves a new process alone that only its job is slow about", "restart dead", func(n *scripted) {
			n.onAct = func(ctx context.Context, act string) error { n.kubeletUp(); return hang(ctx) }
		}, restartpolicy.ResultDone, "looks after pods again", []string{"restart kubelet.service"}, 16 * time.Second, 0},
		{"waits for one that ended late", "restart dead", func(n *scripted) {
			n.onAct = func(ctx context.Context, act string) error {
				n.snap.Kubelet.Unit.MainPID, n.snap.Kubelet.Unit.ActiveState = 0, "activating"
				n.later(17*time.Second, func() { n.snap.Kubelet.Unit.MainPID = 100; n.kubeletUp() })
				return hang(ctx)
			}
		}, restartpolicy.ResultDone, "looks after pods again", []string{"restart kubelet.service"}, 19 * time.Second, 0},
		{"reports a kill that fails", "restart dead", func(n *scripted) {
			n.onAct = func(ctx context.Context, act string) error {
				if strings.HasPrefix(act, "kill") {
					return errors.New("no such unit")
				}
				return hang(ctx)
			}
		}, restartpolicy.ResultFailed, "did not stop within 15s: no such unit", []string{"restart kubelet.service", "kill kubelet.service killed"}, 16 * time.Second, 0},
		{"starts a unit that systemd has given up", "restart dead", func(n *scripted) {
			n.snap.Kubelet.Unit.ActiveState, n.snap.Kubelet.Unit.Result, n.snap.Kubelet.Unit.MainPID = "failed", "start-limit-hit", 0
			n.onAct = func(_ context.Context, act string) error {
				if strings.HasPrefix(act, "start") {
					n.snap.Kubelet.Unit.MainPID = 200
					n.kubeletUp()
				}
				return nil
			}
		}, restartpolicy.ResultDone, "as process 201", []string{"reset-failed kubelet.service", "start kubelet.service"}, time.Second, 0},
		{"starts a unit that fails during the restart", "restart dead", func(n *scripted) {
			n.onAct = func(_ context.Context, act string) error {
				if strings.HasPrefix(act, "restart") {
					n.snap.Kubelet.Unit.ActiveState, n.snap.Kubelet.Unit.MainPID = "failed", 0
					return errors.New("job failed")
				}
				if strings.HasPrefix(act, "start") {
					n.snap.Kubelet.Unit.MainPID = 200
					n.kubeletUp()
				}
				return nil
			}
		}, restartpolicy.ResultDone, "as process 201", []string{"restart kubelet.service", "reset-failed kubelet.service", "start kubelet.service"}, time.Second, 0},
		{"reports a service manager that refuses", "restart dead", func(n *scripted) {
			n.onAct = func(context.Context, string) error { return errors.New("access denied") }
		}, restartpolicy.ResultFailed, "access denied", []string{"restart kubelet.service"}, time.Second, 0},
		{"reports a start that fails", "restart dead", func(n *scripted) {
			n.snap.Kubelet.Unit.ActiveState = "failed"
			n.onAct = func(_ context.Context, act string) error {
				if strings.HasPrefix(act, "start") {
					return errors.New("dependency failed")
				}
				return nil
			}
		}, restartpolicy.ResultFailed, "dependency failed", []string{"reset-failed kubelet.service", "start kubelet.service"}, time.Second, 0},
		{"fails when the start-up is blocked", "restart kubelet", func(n *scripted) {
			n.onAct = func(context.Context, string) error {
				n.kubeletUp()
				n.snap.Kubelet.View.Pods, n.snap.Kubelet.View.SourcesNotReady = nil, true
				return nil
			}
		}, restartpolicy.ResultFailed, "knows no pod after 30s", []string{"restart kubelet.service"}, 31 * time.Second, 0},
		{"is done where only the sources are not ready", "restart kubelet", func(n *scripted) {
			n.onAct = func(context.Context, string) error {
				n.kubeletUp()
				n.snap.Kubelet.View = node.View{Source: node.ViewNone, SourcesNotReady: true}
				return nil
			}
		}, restartpolicy.ResultDone, "looks after pods again", []string{"restart kubelet.service"}, 2 * time.Second, 0},
		{"without any view waits for a process that lasts", "restart dead", func(n *scripted) {
			n.onAct = func(context.Context, string) error {
				n.kubeletUp()
				n.snap.Kubelet.View = node.View{Source: node.ViewNone}
				return nil
			}
		}, restartpolicy.ResultDone, "looks after pods again", []string{"restart kubelet.service"}, 21 * time.Second, blindSettle},
		{"is done when only the answer to the job was lost", "restart dead", func(n *scripted) {
			n.onAct = func(context.Context, string) error { n.kubeletUp(); return errors.New("connection closed") }
		}, restartpolicy.ResultDone, "looks after pods again", []string{"restart kubelet.service"}, time.Second, 0},
		{"is not done by a new process that is stopped", "restart dead", func(n *scripted) {
			n.onAct = func(context.Context, string) error { n.kubeletUp(); n.snap.Kubelet.Unit.ProcessState = "T"; return nil }
		}, restartpolicy.ResultFailed, "its new process 101 is in state T", []string{"restart kubelet.service"}, 31 * time.Second, 30 * time.Second},
		{"fails without a sign of life", "restart dead", func(n *scripted) {
			n.onAct = func(context.Context, string) error {
				n.kubeletUp()
				n.snap.Kubelet.Healthy, n.snap.Kubelet.View = false, node.View{Source: node.ViewNone, Err: errors.New("connection refused")}
				return nil
			}
		}, restartpolicy.ResultFailed, "no view of its pods within 30s: connection refused", []string{"restart kubelet.service"}, 31 * time.Second, 0},
		{"fails when it does not come up", "restart dead", func(n *scripted) {
			n.onAct = func(context.Context, string) error {
				n.snap.Kubelet.Unit.ActiveState, n.snap.Kubelet.Unit.SubState, n.snap.Kubelet.Unit.MainPID = "activating", "auto-restart", 0
				return nil
			}
		}, restartpolicy.ResultFailed, "activating/auto-restart", []string{"restart kubelet.service"}, 31 * time.Second, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given(c.step)
				c.script(n)
				_, took := n.expect(t, e, t.Context(), step, c.result, c.detail)
				n.called(c.calls...)
				if took > c.atMost || took < c.atLeast {
					t.Errorf("took %s, not %s to %s", took, c.atLeast, c.atMost)
				}
			})
		})
	}
}

func TestAnAgentThatStopsDoesNotWaitForTheKubelet(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("restart kubelet")
		ctx, cancel := context.WithCancel(t.Context())
		n.onAct = func(context.Context, string) error { cancel(); return nil }
		_, took := n.expect(t, e, ctx, step, restartpolicy.ResultDone, "before the effect is known")
		n.called("restart kubelet.service")
		if took > time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestRestartOfTheRuntime(t *testing.T) {
	cases := []struct {
		name   string
		script func(n *scripted)
		result restartpolicy.Result
		detail string
		calls  []string
	}{
		{"is done when CRI answers", func(n *scripted) {
			n.onAct = func(context.Context, string) error {
				time.Sleep(90 * time.Second)
				n.later(time.Second, n.runtimeUp)
				return nil
			}
		}, restartpolicy.ResultDone, "the runtime answers again, as process 101", []string{"restart crio.service"}},
		{"fails when CRI stays silent", func(n *scripted) {
			n.onAct = func(context.Context, string) error { n.snap.Runtime.Unit.MainPID++; return nil }
		}, restartpolicy.ResultFailed, "CRI does not answer within 2m0s: deadline exceeded", []string{"restart crio.service"}},
		{"fails without a new process", func(n *scripted) {}, restartpolicy.ResultFailed, "no new process within 2m0s", []string{"restart crio.service"}},
		{"is not done by an answer of the old process", func(n *scripted) {
			n.onAct = func(context.Context, string) error { n.snap.Runtime.Err = nil; return nil }
		}, restartpolicy.ResultFailed, "no new process within 2m0s", []string{"restart crio.service"}},
		{"kills a process that does not end", func(n *scripted) {
			n.onAct = func(ctx context.Context, act string) error {
				if strings.HasPrefix(act, "kill") {
					n.runtimeUp()
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}
		}, restartpolicy.ResultDone, "answers again", []string{"restart crio.service", "kill crio.service killed"}},
		{"gives up on a process that cannot be killed", func(n *scripted) {
			n.snap.Runtime.Unit.ProcessState = "D"
			n.onAct = func(ctx context.Context, act string) error {
				if strings.HasPrefix(act, "kill") {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}
		}, restartpolicy.ResultFailed, "uninterruptible sleep", []string{"restart crio.service", "kill crio.service killed"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given("restart runtime")
				step.Timeout = 120 * time.Second
				c.script(n)
				_, took := n.expect(t, e, t.Context(), step, c.result, c.detail)
				n.called(c.calls...)
				if took > step.Timeout+2*time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}
