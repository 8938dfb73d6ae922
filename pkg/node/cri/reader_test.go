package cri_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri/critest"
	"github.com/nodekeeper/nodekeeper/pkg/node/process/processtest"
)

// handClock is moved by hand.
type handClock struct {
	mu  sync.Mutex
	now node.Instant
}

func (c *handClock) Now() node.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) BootID() string { return "boot" }

func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Wall, c.now.Boot = c.now.Wall.Add(d), c.now.Boot+d
}

// rig is a runtime, a host, and a Reader of both.
type rig struct {
	runtime *critest.Server
	host    *processtest.Host
	clock   *handClock
	reader  *cri.Reader
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{
		runtime: critest.Start(t),
		host:    processtest.New(t),
		clock:   &handClock{now: node.Instant{Wall: time.Unix(1_800_000_000, 0), Boot: time.Hour}},
	}
	r.reader = cri.NewReader(newClient(t, r.runtime.Socket()), cri.Options{
		Host: r.host.Host, Clock: r.clock, Unit: "crio.service", Monitor: "conmon", OCIRuntimes: []string{"runc"},
	})
	return r
}

// pod adds a sandbox with running containers, each with its process.
func (r *rig) pod(name string, containers ...string) {
	r.runtime.AddSandbox(critest.Sandbox{ID: name, Namespace: "ns", Name: name, UID: "uid-" + name, Source: "file"})
	for i, c := range containers {
		id := critest.ID(name + "/" + c)
		pid := 1000 + len(name)*10 + i
		r.runtime.AddContainer(critest.Container{
			ID: id, SandboxID: name, Name: c, PID: pid, Grace: 30,
			StartedAt: r.clock.Now().Wall, LogPath: "/var/log/pods/" + name,
		})
		r.host.Add(processtest.Process{PID: pid, Comm: c, Started: time.Minute, Cgroup: "/kubepods/crio-" + id + ".scope"})
	}
}

func (r *rig) look(t testing.TB) node.Runtime {
	t.Helper()
	got := r.reader.Runtime(within(t, 8*time.Second))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	return got
}

func (r *rig) container(t testing.TB, pod, name string) node.Container {
	t.Helper()
	for _, s := range r.look(t).Sandboxes {
		if s.Pod.Name == pod {
			if c, ok := s.Newest(name); ok {
				return c
			}
		}
	}
	t.Fatalf("no container %s of pod %s", name, pod)
	return node.Container{}
}

func TestLookJoinsListStatusAndProcess(t *testing.T) {
	r := newRig(t)
	r.pod("app", "main")
	got := r.look(t)
	if got.Name != "cri-o" || got.Version != "1.34.0" || len(got.Sandboxes) != 1 {
		t.Fatalf("%+v", got)
	}
	s := got.Sandboxes[0]
	if s.Pod.String() != "ns/app" || s.UID != "uid-app" || !s.Static() || !s.Ready {
		t.Errorf("sandbox %+v", s)
	}
	c := s.Containers[0]
	if c.State != node.ContainerRunning || c.Process.State != node.ProcessAlive || c.Process.PID == 0 ||
		c.Grace != 30*time.Second || c.LogPath != "/var/log/pods/app" || !c.StartedAt.Equal(r.clock.Now().Wall) {
		t.Errorf("container %+v", c)
	}
}

func TestRunningRecordWithoutAProcessIsSeenWithoutMoreCalls(t *testing.T) {
	r := newRig(t)
	r.pod("app", "main")
	c := r.container(t, "app", "main")
	before := r.runtime.Calls("ContainerStatus")
	r.host.Remove(c.Process.PID)
	r.host.SetCgroup("/kubepods/crio-" + c.ID + ".scope")
	if c := r.container(t, "app", "main"); !c.Process.Dead() || c.State != node.ContainerRunning {
		t.Errorf("%+v", c)
	}
	if after := r.runtime.Calls("ContainerStatus"); after != before {
		t.Errorf("%d more status calls", after-before)
	}
}

func TestSteadyLookCostsTwoCalls(t *testing.T) {
	r := newRig(t)
	for n := range 110 {
		pod := fmt.Sprintf("pod-%d", n)
		r.pod(pod, "main", "side")
		r.runtime.AddContainer(critest.Container{ID: critest.ID(pod + "/old"), SandboxID: pod, Name: "main", State: node.ContainerExited})
	}
	r.look(t)
	// Lists, version, network, 330 containers, 110 sandboxes of static pods.
	if got, want := r.runtime.AllCalls(), 2+1+1+330+110; got != want {
		t.Errorf("the first look cost %d calls, want %d", got, want)
	}
	before := r.runtime.AllCalls()
	for range 3 {
		r.clock.pass(5 * time.Second)
		r.look(t)
	}
	// And the network once.
	if got := r.runtime.AllCalls() - before; got != 7 {
		t.Errorf("three looks cost %d calls, want 7", got)
	}
}

func TestExitIsAskedForOnce(t *testing.T) {
	r := newRig(t)
	r.pod("app", "main")
	id := r.container(t, "app", "main").ID
	end := r.clock.Now().Wall.Add(time.Minute)
	r.runtime.Update(id, func(c *critest.Container) {
		c.State, c.ExitCode, c.Reason, c.FinishedAt = node.ContainerExited, 2, "Error", end
	})
	for range 3 {
		c := r.container(t, "app", "main")
		if c.ExitCode != 2 || c.Reason != "Error" || !c.FinishedAt.Equal(end) || c.Process != (node.Process{}) {
			t.Errorf("%+v", c)
		}
	}
	if got := r.runtime.Calls("ContainerStatus"); got != 2 {
		t.Errorf("%d status calls, want one for running and one for exited", got)
	}
}

func TestSlowRecordDoesNotHoldUpTheLook(t *testing.T) {
	r := newRig(t)
	r.pod("app", "main", "side")
	slow := critest.Container{ID: critest.ID("husk"), SandboxID: "app", Name: "main", Attempt: 7, State: node.ContainerExited, ExitCode: -1}
	r.runtime.AddContainer(slow)
	release := r.runtime.Hold("ContainerStatus", slow.ID)

	// A look of 1.5 s has half a second for statuses.
	got := r.reader.Runtime(within(t, 1500*time.Millisecond))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	main, _ := got.Sandboxes[0].Newest("main")
	if main.Attempt != 7 || main.State != node.ContainerExited || !main.FinishedAt.IsZero() || main.ExitCode != 0 {
		t.Errorf("slow record %+v", main)
	}
	if side, _ := got.Sandboxes[0].Newest("side"); side.Process.State != node.ProcessAlive {
		t.Errorf("the other record %+v", side)
	}

	// It is left alone for a while, though it would answer by now.
	release()
	before := r.runtime.Calls("ContainerStatus")
	r.look(t)
	if got := r.runtime.Calls("ContainerStatus"); got != before {
		t.Errorf("asked again at once")
	}
	r.clock.pass(31 * time.Second)
	if c := r.container(t, "app", "main"); c.ExitCode != -1 {
		t.Errorf("not asked again: %+v", c)
	}
}

func TestFailingStatusBacksOffAndIsForgottenWhenTheStateChanges(t *testing.T) {
	r := newRig(t)
	r.pod("app", "main")
	id := critest.ID("app/main")
	r.runtime.Fail("ContainerStatus", id, errors.New("creating container info: layer not known"))
	asked := func(after time.Duration) int {
		r.clock.pass(after)
		before := r.runtime.Calls("ContainerStatus")
		if c := r.container(t, "app", "main"); c.Process.State != node.ProcessUnknown {
			t.Errorf("%+v", c)
		}
		return r.runtime.Calls("ContainerStatus") - before
	}
	for i, step := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {29 * time.Second, 0}, {time.Second, 1}, {59 * time.Second, 0}, {time.Second, 1}} {
		if got := asked(step.after); got != step.want {
			t.Errorf("step %d: %d calls, want %d", i, got, step.want)
		}
	}
	r.runtime.Fail("ContainerStatus", id, nil)
	r.runtime.Update(id, func(c *critest.Container) { c.State, c.ExitCode = node.ContainerExited, 3 })
	if c := r.container(t, "app", "main"); c.ExitCode != 3 {
		t.Errorf("the exit waits for the back-off of the running record: %+v", c)
	}
}

func TestLookWithoutARuntimeStillTellsOfCalls(t *testing.T) {
	r := newRig(t)
	r.pod("app", "main")
	r.look(t)
	r.host.Add(processtest.Process{PID: 9, Comm: "runc", Argv: []string{"runc", "create", critest.ID("x")}, Parent: 10, Started: 30 * time.Minute})
	r.host.Add(processtest.Process{PID: 10, Comm: "conmon", Cgroup: "/system.slice/crio.service"})
	r.runtime.Down()
	got := r.reader.Runtime(within(t, 5*time.Second))
	if got.Err == nil || len(got.Sandboxes) > 0 || got.Name != "cri-o" {
		t.Errorf("%+v", got)
	}
	if len(got.Calls) != 1 || got.Calls[0].Age != 30*time.Minute || !got.MonitorsInUnit {
		t.Errorf("%+v", got)
	}

	r.runtime.SetVersion("cri-o", "1.35.0")
	r.runtime.Up()
	if got := r.look(t); got.Version != "1.35.0" || len(got.Sandboxes) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestLookEndsWithItsContextWhenCRIHangs(t *testing.T) {
	r := newRig(t)
	r.runtime.Hold("ListPodSandbox", "")
	ctx, cancel := context.WithCancel(context.Background())
	answer := make(chan node.Runtime, 1)
	go func() { answer <- r.reader.Runtime(ctx) }()
	eventually(t, "the call is under way", func() bool { return r.runtime.Calls("ListPodSandbox") == 1 })
	cancel()
	if got := <-answer; got.Err == nil {
		t.Errorf("%+v", got)
	}
}

func TestNetwork(t *testing.T) {
	r := newRig(t)
	const trouble = "No CNI configuration file in /etc/cni/net.d/"
	steps := []struct {
		name    string
		prepare func()
		after   time.Duration
		want    node.Answer
		detail  string
	}{
		{"ready", func() {}, 0, node.Yes, ""},
		{"away, and not asked again yet", func() { r.runtime.SetNetwork(trouble) }, 9 * time.Second, node.Yes, ""},
		{"away", func() {}, time.Second, node.No, trouble},
		{"back, and seen at once", func() { r.runtime.SetNetwork("") }, 0, node.Yes, ""},
		{"no answer", func() { r.runtime.Fail("Status", "", errors.New("no")) }, 10 * time.Second, node.Unknown, ""},
		{"an answer again", func() { r.runtime.Fail("Status", "", nil) }, 0, node.Yes, ""},
	}
	for _, step := range steps {
		step.prepare()
		r.clock.pass(step.after)
		if got := r.look(t); got.Network != step.want || got.NetworkDetail != step.detail {
			t.Errorf("%s: %v %q, want %v", step.name, got.Network, got.NetworkDetail, step.want)
		}
	}

	r.runtime.Down()
	if got := r.reader.Runtime(within(t, 5*time.Second)); got.Network != node.Unknown {
		t.Errorf("without a runtime: %v", got.Network)
	}
}

func TestSlowNetworkQuestionDoesNotHoldUpTheLook(t *testing.T) {
	r := newRig(t)
	r.runtime.Hold("Status", "")
	got := r.reader.Runtime(within(t, 300*time.Millisecond))
	if got.Err != nil || got.Network != node.Unknown {
		t.Errorf("%+v", got)
	}
}

func BenchmarkSteadyLook110(b *testing.B) {
	r := newRig(b)
	for n := range 110 {
		r.pod(fmt.Sprintf("pod-%d", n), "a", "b", "c")
	}
	r.look(b)
	for b.Loop() {
		r.look(b)
	}
}
