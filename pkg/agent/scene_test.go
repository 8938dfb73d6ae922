package agent

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/pause"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/remedy"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// scene is an agent on a node that is a few structs, with a clock that moves
// by an interval before each look.
type scene struct {
	*testing.T
	*Agent
	cfg config.Configuration
	now node.Instant
	// node is what the next looks see.
	node node.Snapshot
	// looking is called at each look, reading at each reading of the clock,
	// doing within each act.
	looking, reading func()
	doing            func(restartpolicy.Step) remedy.Outcome

	did   []restartpolicy.Step
	saved []restartpolicy.Verdict
	log   bytes.Buffer

	sending sync.Mutex // guards sent
	sent    []string
}

func stage(t *testing.T, changes ...func(*config.Configuration)) *scene {
	t.Helper()
	s := &scene{T: t, cfg: config.Default()}
	s.cfg.Directories = config.Directories{Run: t.TempDir(), State: t.TempDir()}
	for _, change := range changes {
		change(&s.cfg)
	}
	s.now = node.Instant{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Boot: 10 * time.Hour}
	s.looking, s.reading = func() {}, func() {}
	s.doing = func(restartpolicy.Step) remedy.Outcome { return remedy.Outcome{Result: restartpolicy.ResultDone} }
	s.node = healthy()
	s.start()
	return s
}

// start begins an agent, as after a crash or an update if there was one.
func (s *scene) start() {
	s.Helper()
	if s.Agent != nil {
		if err := s.Close(); err != nil {
			s.Fatal(err)
		}
	}
	a, err := New(Options{
		Config: s.cfg, Version: "v1", Node: lookFunc(s.look), Remedy: (*fakeRemedy)(s), Clock: (*fakeClock)(s),
		After: time.After, Notify: s.send, Watchdog: 30 * time.Second,
		Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Agent = a
	s.Cleanup(func() { _ = a.Close() })
}

func (s *scene) send(message string) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.sent = append(s.sent, message)
}

type lookFunc func(context.Context) *node.Snapshot

func (f lookFunc) Look(ctx context.Context) *node.Snapshot { return f(ctx) }

func (s *scene) look(context.Context) *node.Snapshot {
	s.looking()
	snap := s.node
	snap.Taken, snap.Host.BootID = s.now, "boot-1"
	snap.Host.Paused = pause.Active(s.cfg.Directories.State, "boot-1", s.now)
	return &snap
}

type fakeClock scene

func (c *fakeClock) Now() node.Instant { c.reading(); return c.now }
func (c *fakeClock) BootID() string    { return "boot-1" }

type fakeRemedy scene

func (r *fakeRemedy) Do(_ context.Context, step restartpolicy.Step, _ remedy.Confirm) remedy.Outcome {
	r.did = append(r.did, step)
	return r.doing(step)
}

func (r *fakeRemedy) SaveEvidence(_ context.Context, _ *node.Snapshot, v restartpolicy.Verdict) (string, []string) {
	r.saved = append(r.saved, v)
	return "/evidence", nil
}

// watch lets the agent look for so long.
func (s *scene) watch(span time.Duration) {
	s.Helper()
	s.watchWith(context.Background(), span)
}

func (s *scene) watchWith(ctx context.Context, span time.Duration) {
	s.Helper()
	for end := s.now.Boot + span; s.now.Boot < end; {
		s.pass(s.cfg.Interval.Duration)
		for s.turn(ctx) {
		}
	}
}

func (s *scene) pass(d time.Duration) {
	s.now = node.Instant{Wall: s.now.Wall.Add(d), Boot: s.now.Boot + d}
}

func (s *scene) wantDone(kinds ...restartpolicy.StepKind) {
	s.Helper()
	var got []restartpolicy.StepKind
	for _, step := range s.did {
		got = append(got, step.Kind)
	}
	if len(got) != len(kinds) {
		s.Fatalf("did %v, want %v\n%s", got, kinds, s.log.String())
	}
	for i := range got {
		if got[i] != kinds[i] {
			s.Fatalf("did %v, want %v\n%s", got, kinds, s.log.String())
		}
	}
}

// journalled are the acts on disk.
func (s *scene) journalled() []restartpolicy.Act {
	s.Helper()
	acts, err := journal.Read(s.cfg.Directories.State)
	if err != nil {
		s.Fatal(err)
	}
	return acts
}

func (s *scene) published() status.Status {
	s.Helper()
	st, err := status.Read(s.cfg.Directories.Run)
	if err != nil {
		s.Fatal(err)
	}
	return st
}

// logged counts lines that hold all words.
func (s *scene) logged(words ...string) int {
	n := 0
	for line := range strings.Lines(s.log.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}

var etcd = node.PodName{Namespace: "kube-system", Name: "etcd-n1"}

// healthy is a node with one static pod of one container.
func healthy() node.Snapshot {
	grace := int64(10)
	long := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = etcd.Namespace, etcd.Name, "uid-1"
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Spec.Containers = []corev1.Container{{Name: "etcd"}}
	up := func(name string) node.Unit {
		return node.Unit{Name: name, LoadState: "loaded", ActiveState: "active", SubState: "running", Result: "success",
			MainPID: 10, ProcessState: "S", ProcessStarted: time.Minute, KillMode: "process"}
	}
	return node.Snapshot{
		Settings: node.Settings{NodeName: "n1", StaticPodPath: "/manifests"},
		Intent: node.Intent{Dir: "/manifests", Pods: []node.Manifest{
			{Name: etcd, Path: "/manifests/etcd.yaml", Digest: "d1", Modified: long, Pod: pod}}},
		Runtime: node.Runtime{Name: "cri-o", Version: "1.34.0", Unit: up("crio.service"), Sandboxes: []node.Sandbox{{
			ID: "sandbox-1", Pod: etcd, UID: "uid-1", Ready: true, Source: "file", CreatedAt: long,
			Containers: []node.Container{{ID: "container-1", SandboxID: "sandbox-1", Name: "etcd",
				State: node.ContainerRunning, CreatedAt: long, StartedAt: long, Grace: 10 * time.Second,
				Process: node.Process{PID: 100, State: node.ProcessAlive}}}}}},
		Kubelet: node.Kubelet{Unit: up("kubelet.service"), Healthy: true, View: node.View{Source: node.ViewPodsAPI,
			Pods: []node.PodView{{Name: etcd, UID: "uid-1", Static: true, Phase: corev1.PodRunning,
				Statuses: []corev1.ContainerStatus{{Name: "etcd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}}}},
	}
}

// stale is that node with a container that CRI calls running and that is dead:
// the shortest deadline and one step.
func stale() node.Snapshot {
	s := healthy()
	s.Runtime.Sandboxes[0].Containers[0].Process = node.Process{PID: 100, State: node.ProcessGone, CgroupEmpty: true}
	return s
}
