package remedy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

var app = node.PodName{Namespace: "kube-system", Name: "app-node1"}

// scripted is a node that is a few structs: what a look sees, and what the
// acts do to it.
type scripted struct {
	t    *testing.T
	snap node.Snapshot
	// acts are the calls that reached the runtime and the service manager.
	acts []string
	// onLook runs before each look, onAct in the place of each act.
	onLook func()
	onAct  func(ctx context.Context, act string) error
	// against is what the policy says before an act; nil for nothing.
	against func(*node.Snapshot) []restartpolicy.Inhibitor
	// graces are those that came with the calls; deadlines theirs.
	graces    []time.Duration
	deadlines []time.Duration
	began     time.Time
	log       bytes.Buffer
	policy    config.Restart
}

// newScripted is a healthy node with one static pod.
func newScripted(t *testing.T) *scripted {
	dir := t.TempDir()
	n := &scripted{t: t, began: time.Now(), policy: config.Default().Restart}
	n.policy.Steps.ReplaceManifest.Enabled = true
	manifest := filepath.Join(dir, "app.yaml")
	content := []byte("kind: Pod\n")
	if err := os.WriteFile(manifest, content, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	wall := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	up := node.Unit{LoadState: "loaded", ActiveState: "active", SubState: "running", Result: "success",
		MainPID: 100, ProcessState: "S", ProcessStarted: time.Minute}
	n.snap = node.Snapshot{
		Taken: node.Instant{Wall: wall, Boot: time.Hour},
		Host:  node.Host{BootID: "boot"},
		Intent: node.Intent{Dir: dir, Pods: []node.Manifest{{
			Name: app, Path: manifest, Digest: hex.EncodeToString(sum[:]), Modified: wall.Add(-50 * time.Minute),
			Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}},
		}}},
		Runtime: node.Runtime{Name: "cri-o", Unit: up, Sandboxes: []node.Sandbox{sandbox("new", wall)}},
		Kubelet: node.Kubelet{Unit: up, Healthy: true, View: node.View{Source: node.ViewPods, Pods: []node.PodView{{
			Name: app, UID: "uid-new", Static: true, Phase: corev1.PodRunning, Statuses: []corev1.ContainerStatus{{Name: "main"}},
		}}}},
	}
	n.snap.Kubelet.Unit.Name, n.snap.Runtime.Unit.Name = "kubelet.service", "crio.service"
	return n
}

func sandbox(name string, wall time.Time) node.Sandbox {
	created := wall.Add(-40 * time.Minute)
	return node.Sandbox{ID: "sandbox-" + name, Pod: app, UID: "uid-" + name, Ready: true, Source: "file", CreatedAt: created,
		Containers: []node.Container{{ID: "main-" + name, SandboxID: "sandbox-" + name, Name: "main", Attempt: 3,
			State: node.ContainerRunning, CreatedAt: created, Grace: 20 * time.Second,
			Process: node.Process{PID: 7, State: node.ProcessAlive}}}}
}

func (n *scripted) main() *node.Container  { return &n.snap.Runtime.Sandboxes[0].Containers[0] }
func (n *scripted) sb(i int) *node.Sandbox { return &n.snap.Runtime.Sandboxes[i] }

// Faults that the scripted node can have.
func (n *scripted) staleRunning() {
	n.main().Process = node.Process{PID: 7, State: node.ProcessGone, CgroupEmpty: true}
}

func (n *scripted) exited() {
	n.main().State, n.main().Process = node.ContainerExited, node.Process{}
	n.snap.Kubelet.View.Pods[0].Statuses[0].State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
}

func (n *scripted) created() {
	n.main().State, n.main().Process = node.ContainerCreated, node.Process{}
}

func (n *scripted) twoGenerations() {
	old := sandbox("old", n.snap.Taken.Wall)
	old.CreatedAt = n.snap.Intent.Pods[0].Modified.Add(-time.Hour)
	n.snap.Runtime.Sandboxes = append(n.snap.Runtime.Sandboxes, old)
}

func (n *scripted) waitingForOld() {
	n.twoGenerations()
	n.snap.Runtime.Sandboxes = n.snap.Runtime.Sandboxes[1:]
	n.exited()
	n.snap.Kubelet.View.Pods[0].Statuses = nil
	n.snap.Kubelet.View.Pods[0].Phase = corev1.PodPending
}

func (n *scripted) rejected() {
	n.snap.Runtime.Sandboxes = nil
	v := &n.snap.Kubelet.View.Pods[0]
	v.Phase, v.Reason, v.Statuses = corev1.PodFailed, "UnexpectedAdmissionError", nil
}

func (n *scripted) runtimeDown() { n.snap.Runtime.Err = errors.New("deadline exceeded") }

func (n *scripted) kubeletDown() {
	n.snap.Kubelet.Unit.ProcessState, n.snap.Kubelet.Healthy = "T", false
	n.snap.Kubelet.View = node.View{Source: node.ViewNone, Err: errors.New("no answer")}
}

// kubeletUp is what a successful restart looks like.
func (n *scripted) kubeletUp() {
	u := &n.snap.Kubelet.Unit
	u.MainPID++
	u.ActiveState, u.SubState, u.Result, u.ProcessState = "active", "running", "success", "S"
	u.ProcessStarted = n.boot()
	n.snap.Kubelet.Healthy = true
	n.snap.Kubelet.View = node.View{Source: node.ViewPods, Pods: []node.PodView{{Name: app, UID: "uid-new"}}}
}

func (n *scripted) runtimeUp() {
	n.snap.Runtime.Err = nil
	n.snap.Runtime.Unit.MainPID++
	n.snap.Runtime.Unit.ActiveState = "active"
}

// step is the step of a kind that the node's present fault leads to, in the end.
func (n *scripted) step(kind restartpolicy.StepKind, state restartpolicy.State) restartpolicy.Step {
	n.t.Helper()
	verdicts := n.judged()
	for _, v := range verdicts {
		if v.State == state || v.State == restartpolicy.InBackOff && state == restartpolicy.Forgotten {
			return restartpolicy.Step{Kind: kind, Key: v.Key, State: state, Reason: v.Detail, Target: v.Target, Timeout: 30 * time.Second}
		}
	}
	n.t.Fatalf("the scripted node is not %s: %+v", state, verdicts)
	return restartpolicy.Step{}
}

func (n *scripted) judged() []restartpolicy.Verdict {
	verdicts, _ := restartpolicy.Judge(n.policy, n.look(context.Background()), restartpolicy.History{})
	return verdicts
}

// confirm is what the policy answers: whatever the test has set.
func (n *scripted) confirm(s *node.Snapshot) []restartpolicy.Inhibitor {
	if n.against != nil {
		return n.against(s)
	}
	return nil
}

// due are the steps that the tests carry out.
var due = map[string]struct {
	kind  restartpolicy.StepKind
	state restartpolicy.State
	fault func(*scripted)
}{
	"stop container":   {restartpolicy.StopContainer, restartpolicy.StaleRunning, (*scripted).staleRunning},
	"remove container": {restartpolicy.RemoveContainer, restartpolicy.CreatedNotStarted, (*scripted).created},
	"stop old":         {restartpolicy.StopOldSandbox, restartpolicy.TwoGenerations, (*scripted).twoGenerations},
	"stop sandbox":     {restartpolicy.StopSandbox, restartpolicy.SandboxLost, (*scripted).sandboxLost},
	"replace":          {restartpolicy.ReplaceManifest, restartpolicy.Rejected, (*scripted).rejected},
	"restart kubelet":  {restartpolicy.RestartKubelet, restartpolicy.Forgotten, (*scripted).exited},
	"restart blocked":  {restartpolicy.RestartKubelet, restartpolicy.WaitingForOld, (*scripted).waitingForOld},
	"restart dead":     {restartpolicy.RestartKubelet, restartpolicy.KubeletDown, (*scripted).kubeletDown},
	"restart runtime":  {restartpolicy.RestartRuntime, restartpolicy.RuntimeDown, (*scripted).runtimeDown},
}

func (n *scripted) sandboxLost() {
	n.exited()
	n.sb(0).Process = node.Process{PID: 6, State: node.ProcessGone, CgroupEmpty: true}
}

func (n *scripted) boot() time.Duration { return time.Hour + time.Since(n.began) }

func (n *scripted) look(context.Context) *node.Snapshot {
	if n.onLook != nil {
		n.onLook()
	}
	s := n.snap
	s.Taken.Boot = n.boot()
	s.Taken.Wall = s.Taken.Wall.Add(time.Since(n.began))
	s.Runtime.Sandboxes = nil
	for _, sb := range n.snap.Runtime.Sandboxes {
		sb.Containers = slices.Clone(sb.Containers)
		s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, sb)
	}
	s.Kubelet.View.Pods = slices.Clone(n.snap.Kubelet.View.Pods)
	s.Intent.Pods = slices.Clone(n.snap.Intent.Pods)
	return &s
}

func (n *scripted) act(ctx context.Context, act string) error {
	n.acts = append(n.acts, act)
	if at, ok := ctx.Deadline(); ok {
		n.deadlines = append(n.deadlines, time.Until(at))
	}
	if n.onAct != nil {
		return n.onAct(ctx, act)
	}
	return nil
}

func (n *scripted) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	n.graces = append(n.graces, grace)
	return n.act(ctx, "stop-container "+id)
}
func (n *scripted) RemoveContainer(ctx context.Context, id string) error {
	return n.act(ctx, "remove-container "+id)
}
func (n *scripted) StopPodSandbox(ctx context.Context, id string) error {
	return n.act(ctx, "stop-sandbox "+id)
}
func (n *scripted) Restart(ctx context.Context, unit string) error {
	return n.act(ctx, "restart "+unit)
}
func (n *scripted) Start(ctx context.Context, unit string) error { return n.act(ctx, "start "+unit) }
func (n *scripted) ResetFailed(ctx context.Context, unit string) error {
	return n.act(ctx, "reset-failed "+unit)
}
func (n *scripted) Kill(ctx context.Context, unit string, signal syscall.Signal) error {
	return n.act(ctx, "kill "+unit+" "+signal.String())
}

// executor is one that acts on the scripted node, with a journal that is text.
func (n *scripted) executor() *Executor {
	e := New(Dependencies{
		Look: n.look, Runtime: n, Units: n, KubeletUnit: "kubelet.service", RuntimeUnit: "crio.service", Policy: n.policy,
		EvidenceDir: filepath.Join(n.t.TempDir(), "acts"), InstallerLocks: []string{},
		Logger: slog.New(slog.NewJSONHandler(&n.log, nil)),
	})
	e.evidence.journal = func(_ context.Context, unit string) ([]byte, error) { return []byte("journal of " + unit + "\n"), nil }
	return e
}

// inBubble runs a test in fake time.
func inBubble(t *testing.T, f func(t *testing.T, n *scripted)) {
	synctest.Test(t, func(t *testing.T) { f(t, newScripted(t)) })
}

// expect checks an outcome and returns how long it took to get it.
func (n *scripted) expect(t *testing.T, e *Executor, ctx context.Context, step restartpolicy.Step, want restartpolicy.Result, detail string) (Outcome, time.Duration) {
	t.Helper()
	began := time.Now()
	out := e.Do(ctx, step, n.confirm)
	if out.Result != want || !bytes.Contains([]byte(out.Detail), []byte(detail)) {
		t.Errorf("got %s %q, want %s %q", out.Result, out.Detail, want, detail)
	}
	return out, time.Since(began)
}
