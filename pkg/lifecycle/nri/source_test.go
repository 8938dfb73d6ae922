package nri_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

func staticPod(source string) *api.PodSandbox {
	return &api.PodSandbox{
		Id: "sandbox", Name: "etcd-node1", Uid: "hash", Namespace: "kube-system",
		Annotations: map[string]string{"kubernetes.io/config.source": source},
	}
}

func container(id string, state api.ContainerState) *api.Container {
	return &api.Container{
		Id: id, PodSandboxId: "sandbox", Name: "etcd", State: state, Pid: 4711,
		Annotations: map[string]string{
			"io.kubernetes.container.restartCount": "3",
			"io.kubernetes.cri-o.LogPath":          "/var/log/pods/etcd/3.log",
		},
	}
}

// heard is the event of staticPod's container.
func heard(kind lifecycle.Kind, id, detail string) lifecycle.Event {
	return lifecycle.Event{
		Kind: kind, Source: lifecycle.NRI, ContainerID: id, SandboxID: "sandbox",
		Namespace: "kube-system", Pod: "etcd-node1", PodUID: "hash", Container: "etcd",
		Attempt: 3, LogPath: "/var/log/pods/etcd/3.log", BootID: "boot", Pid: 4711, Time: noon, Detail: detail,
	}
}

func (r *running) expect(t *testing.T, want ...lifecycle.Event) {
	t.Helper()
	for _, w := range want {
		if diff := cmp.Diff(w, r.next(t)); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	}
}

// meet gives a Source a runtime to connect to.
func meet(t *testing.T, r *running, w world) *fakeRuntime {
	t.Helper()
	r.paused(t)
	runtime := startRuntime(t, r.socket, w)
	r.again(t)
	r.connected(t)
	return runtime
}

func TestWhatExistsIsToldAtSynchronization(t *testing.T) {
	r := start(t)
	runtime := meet(t, r, world{
		pods: []*api.PodSandbox{staticPod("file"), {Id: "other"}},
		containers: []*api.Container{
			{Id: "of-the-api", PodSandboxId: "other", State: api.ContainerState_CONTAINER_RUNNING},
			{Id: "of-nobody", PodSandboxId: "unknown", State: api.ContainerState_CONTAINER_RUNNING},
			container("made", api.ContainerState_CONTAINER_CREATED),
			container("runs", api.ContainerState_CONTAINER_RUNNING),
			container("ended", api.ContainerState_CONTAINER_STOPPED),
		},
	})
	const existing = "exists already"
	r.expect(t,
		heard(lifecycle.Created, "made", existing),
		heard(lifecycle.Created, "runs", existing),
		heard(lifecycle.Started, "runs", existing),
		heard(lifecycle.Created, "ended", existing),
		heard(lifecycle.Stopped, "ended", existing))
	if a := <-runtime.answered; a.err != nil || len(a.updates) != 0 {
		t.Errorf("Synchronize was answered with updates %v, error %v: an observer wants nothing", a.updates, a.err)
	}
	if is, name, version, err := r.State(); !is || name != "fake" || version != "v1.2.3" || err != nil {
		t.Errorf("State is %v %q %q %v", is, name, version, err)
	}
}

func TestManyContainersComeInParts(t *testing.T) {
	r := start(t, func(s *settings) { s.length = 2048 })
	var w world
	for i := range 600 {
		// As many pods as containers: fewer, and the runtime's side of NRI 0.12.5
		// never gets to the end of them.
		pod := staticPod("file")
		if i > 0 {
			pod.Id = fmt.Sprint("p", i)
		}
		w.pods = append(w.pods, pod)
		c := container(fmt.Sprint("c", i), api.ContainerState_CONTAINER_CREATED)
		// Together more than the 4 MiB of one ttrpc message.
		c.Env = []string{strings.Repeat("x", 16<<10)}
		w.containers = append(w.containers, c)
	}
	meet(t, r, w)
	for i := range w.containers {
		r.expect(t, heard(lifecycle.Created, fmt.Sprint("c", i), "exists already"))
	}
}

// tell sends what a runtime sends in a container's life.
var tell = map[lifecycle.Kind]func(context.Context, *adaptation.Adaptation, *api.PodSandbox, *api.Container) error{
	lifecycle.Created: func(ctx context.Context, a *adaptation.Adaptation, pod *api.PodSandbox, c *api.Container) error {
		_, err := a.CreateContainer(ctx, &api.CreateContainerRequest{Pod: pod, Container: c})
		return errors.Join(err, a.PostCreateContainer(ctx, &api.PostCreateContainerRequest{Pod: pod, Container: c}))
	},
	lifecycle.Started: func(ctx context.Context, a *adaptation.Adaptation, pod *api.PodSandbox, c *api.Container) error {
		return errors.Join(a.StartContainer(ctx, &api.StartContainerRequest{Pod: pod, Container: c}),
			a.PostStartContainer(ctx, &api.PostStartContainerRequest{Pod: pod, Container: c}))
	},
	lifecycle.Stopped: func(ctx context.Context, a *adaptation.Adaptation, pod *api.PodSandbox, c *api.Container) error {
		_, err := a.StopContainer(ctx, &api.StopContainerRequest{Pod: pod, Container: c})
		return err
	},
	lifecycle.Removed: func(ctx context.Context, a *adaptation.Adaptation, pod *api.PodSandbox, c *api.Container) error {
		return a.RemoveContainer(ctx, &api.RemoveContainerRequest{Pod: pod, Container: c})
	},
}

func (f *fakeRuntime) tell(t *testing.T, kind lifecycle.Kind, pod *api.PodSandbox, c *api.Container) {
	t.Helper()
	if err := tell[kind](t.Context(), f.Adaptation, pod, c); err != nil {
		t.Errorf("%s of %s: %v", kind, c.GetId(), err)
	}
}

// registered waits until the runtime sends the Source its events: it adds a
// plugin to its list only after Synchronize has returned.
func (r *running) registered(t *testing.T, runtime *fakeRuntime) {
	t.Helper()
	eventually(t, "the runtime sends events", func() bool {
		runtime.tell(t, lifecycle.Removed, staticPod("file"), container(probe, api.ContainerState_CONTAINER_CREATED))
		select {
		case <-r.events:
			return true
		case <-time.After(20 * time.Millisecond):
			return false
		}
	})
}

func TestLifeOfAStaticPodsContainer(t *testing.T) {
	for _, source := range []string{"file", "http"} {
		t.Run(source, func(t *testing.T) {
			r := start(t)
			runtime := meet(t, r, world{})
			r.registered(t, runtime)

			pod, c := staticPod(source), container("c1", api.ContainerState_CONTAINER_CREATED)
			runtime.tell(t, lifecycle.Created, pod, c)
			runtime.tell(t, lifecycle.Started, pod, c)
			runtime.tell(t, lifecycle.Stopped, pod, c)
			ended := container("c1", api.ContainerState_CONTAINER_STOPPED)
			ended.FinishedAt, ended.ExitCode, ended.StatusReason = noon.UnixNano(), 137, "OOMKilled"
			runtime.tell(t, lifecycle.Stopped, pod, ended)
			runtime.tell(t, lifecycle.Removed, pod, c)

			r.expect(t,
				heard(lifecycle.Created, "c1", ""),
				heard(lifecycle.Started, "c1", ""),
				heard(lifecycle.Stopped, "c1", ""),
				heard(lifecycle.Stopped, "c1", "exit code 137, OOMKilled"),
				heard(lifecycle.Removed, "c1", ""))
		})
	}
}

func TestMissingFieldsAreZero(t *testing.T) {
	for name, count := range map[string]string{"none": "", "no number": "x", "negative": "-1", "too large": "4294967296"} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			runtime := meet(t, r, world{})
			r.registered(t, runtime)
			// What containerd sends: no count and no log path.
			bare := &api.Container{Id: "bare", Annotations: map[string]string{"io.kubernetes.container.restartCount": count}}
			runtime.tell(t, lifecycle.Started, staticPod("file"), bare)
			r.expect(t, lifecycle.Event{
				Kind: lifecycle.Started, Source: lifecycle.NRI, ContainerID: "bare", SandboxID: "sandbox",
				Namespace: "kube-system", Pod: "etcd-node1", PodUID: "hash", BootID: "boot", Time: noon,
			})
		})
	}
}

func TestOtherPodsAreNoBusinessOfOurs(t *testing.T) {
	r := start(t)
	runtime := meet(t, r, world{})
	r.registered(t, runtime)
	// The container has the annotation, as containers of CRI-O do; the pod decides.
	stray := container("stray", api.ContainerState_CONTAINER_RUNNING)
	stray.Annotations["kubernetes.io/config.source"] = "file"
	for _, pod := range []*api.PodSandbox{nil, {}, staticPod("api"), staticPod("File"), staticPod("")} {
		for _, kind := range slices.Sorted(maps.Keys(tell)) {
			runtime.tell(t, kind, pod, stray)
		}
	}
	runtime.tell(t, lifecycle.Created, staticPod("file"), &api.Container{})
	runtime.tell(t, lifecycle.Created, staticPod("file"), container("ours", api.ContainerState_CONTAINER_CREATED))
	r.expect(t, heard(lifecycle.Created, "ours", ""))
}

func TestRegistration(t *testing.T) {
	r := start(t)
	r.paused(t)
	type told struct {
		name, index string
		reply       *api.ConfigureResponse
		err         error
	}
	got := make(chan told, 1)
	startRawRuntime(t, r.socket, func(raw *rawRuntime) {
		reply, err := raw.plugin.Configure(context.Background(), &api.ConfigureRequest{RuntimeName: "raw"})
		got <- told{raw.name, raw.index, reply, err}
	})
	r.again(t)
	g := <-got
	if g.err != nil {
		t.Fatal(g.err)
	}
	if g.name != "nodekeeper" || g.index != "90" {
		t.Errorf("registered as %s-%s", g.index, g.name)
	}
	if p := g.reply.GetFailurePolicy(); !p.GetKeepConnected() || p.GetFailRequest() {
		t.Errorf("failure policy is %v: want keep_connected alone", p)
	}
	want := api.MustParseEventMask("PostCreateContainer", "PostStartContainer", "StopContainer", "RemoveContainer")
	if mask := api.EventMask(g.reply.GetEvents()); mask != want {
		t.Errorf("subscribed to %s, want %s", mask.PrettyString(), want.PrettyString())
	}
}

func TestSlowHandlerHoldsNothingUp(t *testing.T) {
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	r := start(t, func(s *settings) {
		s.length = 2
		s.handle = func(lifecycle.Event) { arrived <- struct{}{}; <-release }
	})
	runtime := meet(t, r, world{
		pods:       []*api.PodSandbox{staticPod("file")},
		containers: []*api.Container{container("first", api.ContainerState_CONTAINER_CREATED)},
	})
	<-arrived

	eventually(t, "events are dropped", func() bool {
		runtime.tell(t, lifecycle.Stopped, staticPod("file"), container("c", api.ContainerState_CONTAINER_STOPPED))
		return r.Dropped() >= 10
	})

	if is, _, _, _ := r.State(); !is {
		t.Error("the runtime dropped the plugin: it was held up")
	}
	close(release)
	eventually(t, "the loss is logged", func() bool { return r.log.count("events dropped") == 1 })
}

func TestRuntimeGoesAndComesBack(t *testing.T) {
	r := start(t)
	meet(t, r, world{}).wire.cut()
	if d := r.paused(t); d != 2*time.Second {
		t.Errorf("pause of %s after a short connection: want the next one", d)
	}
	if is, name, _, err := r.State(); is || name != "fake" || err == nil {
		t.Errorf("State is %v %q %v", is, name, err)
	}

	startRuntime(t, r.socket, world{
		pods:       []*api.PodSandbox{staticPod("file")},
		containers: []*api.Container{container("new", api.ContainerState_CONTAINER_CREATED)},
	})
	r.again(t)

	r.expect(t, heard(lifecycle.Created, "new", "exists already"))
	r.connected(t)
}

func TestSteadyConnectionIsSoonTriedAgain(t *testing.T) {
	times := make(chan time.Time, 1)
	r := start(t, func(s *settings) {
		last := noon
		s.now = func() time.Time {
			select {
			case last = <-times:
			default:
			}
			return last
		}
	})
	for range 4 {
		r.paused(t)
		r.again(t)
	}
	runtime := meet(t, r, world{})
	times <- noon.Add(10 * time.Second)
	runtime.wire.cut()
	if d := r.paused(t); d != time.Second {
		t.Errorf("pause of %s after a steady connection, want 1s", d)
	}
}

func TestAbsentSocketIsLookedForEverMoreSeldom(t *testing.T) {
	r := start(t)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if d := r.paused(t); d != want*time.Second {
			t.Errorf("pause of %s, want %d s", d, want)
		}
		if is, _, _, err := r.State(); is || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("State is %v, %v: want that there is no socket", is, err)
		}
		r.again(t)
	}
	meet(t, r, world{})
	if n := r.log.count("no NRI socket"); n != 1 {
		t.Errorf("said %d times that there is no socket, want once", n)
	}
}
