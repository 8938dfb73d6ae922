package cri_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri/critest"
)

var quiet = slog.New(slog.DiscardHandler)

func newClient(t testing.TB, socket string) *cri.Client {
	t.Helper()
	c := cri.New(socket, quiet)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// within is a context for one call.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually tries until it holds, at most for ten seconds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := time.NewTimer(10 * time.Second)
	defer end.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-end.C:
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

func TestMissingSocketIsNamed(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "crio.sock")
	c := newClient(t, socket)
	_, err := c.List(within(t, 5*time.Second))
	if err == nil || !strings.Contains(err.Error(), socket+" does not exist") {
		t.Errorf("error %v does not say which socket is missing", err)
	}
}

func TestClientSeesARestartedRuntime(t *testing.T) {
	runtime := critest.Start(t)
	runtime.AddSandbox(critest.Sandbox{ID: "s"})
	c := newClient(t, runtime.Socket())
	works := func() bool {
		list, err := c.List(within(t, 5*time.Second))
		return err == nil && len(list.Sandboxes) == 1
	}
	if !works() {
		t.Fatal("no list from a runtime that is up")
	}
	for range 2 {
		runtime.Down()
		if works() {
			t.Fatal("a list from a runtime that is down")
		}
		// Not the old error, however short the time since.
		runtime.Up()
		if !works() {
			t.Fatal("the restarted runtime is not seen at once")
		}
	}
}

func TestRuntimeThatComesLaterIsSeen(t *testing.T) {
	runtime := critest.Start(t)
	runtime.Down()
	c := newClient(t, runtime.Socket())
	if _, _, err := c.Version(within(t, 5*time.Second)); err == nil {
		t.Fatal("a version from a runtime that is down")
	}
	runtime.Up()
	name, version, err := c.Version(within(t, 5*time.Second))
	if err != nil || name != "cri-o" || version != "1.34.0" {
		t.Errorf("%s %s, %v", name, version, err)
	}
}

func TestSocketsThatNobodyServesAreToldApart(t *testing.T) {
	socket, listener := stalled(t)
	listener.SetUnlinkOnClose(false)
	c := newClient(t, socket)

	_, err := c.List(within(t, 100*time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "takes connections, but did not answer") {
		t.Errorf("stopped: %v", err)
	}
	listener.Close()
	_, err = c.List(within(t, 10*time.Second))
	if err == nil || !strings.Contains(err.Error(), "nobody listens on CRI socket "+socket) {
		t.Errorf("ended: %v", err)
	}
}

func TestListThatIsTooLargeIsOurOwnTrouble(t *testing.T) {
	runtime := critest.Start(t)
	// Larger than the kubelet reads, and then larger than we do.
	for i, large := range []bool{false, true} {
		for n := range 10 {
			id := critest.ID(fmt.Sprint(i, n))
			runtime.AddSandbox(critest.Sandbox{ID: id, Annotations: map[string]string{"notes": strings.Repeat("x", 2<<20)}})
		}
		_, err := newClient(t, runtime.Socket()).List(within(t, 20*time.Second))
		if large != (err != nil) {
			t.Fatalf("%d MiB: %v", (i+1)*20, err)
		}
		if large && !strings.Contains(err.Error(), "too large (we read up to 32 MiB); the runtime is not at fault") {
			t.Errorf("error %v does not say whose trouble it is", err)
		}
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	runtime := critest.Start(t)
	runtime.Hold("ListContainers", "")
	ctx, cancel := context.WithCancel(context.Background())
	c := newClient(t, runtime.Socket())
	answer := make(chan error, 1)
	go func() {
		_, err := c.List(ctx)
		answer <- err
	}()
	eventually(t, "the call is under way", func() bool { return runtime.Calls("ListContainers") == 1 })
	cancel()
	if err := <-answer; status.Code(err) != codes.Canceled {
		t.Errorf("error %v", err)
	}
}

func TestStatus(t *testing.T) {
	runtime := critest.Start(t)
	start, end := time.Unix(1000, 5), time.Unix(2000, 7)
	runtime.AddContainer(critest.Container{
		ID: "c", State: node.ContainerExited, StartedAt: start, FinishedAt: end,
		ExitCode: 137, Reason: "OOMKilled", LogPath: "/var/log/pods/p/c/0.log", PID: 42,
	})
	c := newClient(t, runtime.Socket())
	got, err := c.Status(within(t, 5*time.Second), "c")
	want := cri.Status{
		State: node.ContainerExited, StartedAt: start, FinishedAt: end,
		ExitCode: 137, Reason: "OOMKilled", LogPath: "/var/log/pods/p/c/0.log", PID: 42,
	}
	if err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if _, err := c.Status(within(t, 5*time.Second), "other"); !cri.NotFound(err) {
		t.Errorf("status of an unknown container: %v", err)
	}
}

func TestStatusRejectsTimesThatCannotBe(t *testing.T) {
	runtime := critest.Start(t)
	c := newClient(t, runtime.Socket())
	// What CRI-O writes for a container whose end it never saw, then others.
	for _, nano := range []int64{time.Time{}.UnixNano(), -1, -1 << 62} {
		runtime.AddContainer(critest.Container{ID: "c", State: node.ContainerExited, FinishedNano: nano, ExitCode: -1})
		got, err := c.Status(within(t, 5*time.Second), "c")
		if err != nil || !got.FinishedAt.IsZero() || !got.StartedAt.IsZero() || got.ExitCode != -1 {
			t.Errorf("%d: %v, %v", nano, got, err)
		}
	}
}

func TestActs(t *testing.T) {
	runtime := critest.Start(t)
	runtime.AddSandbox(critest.Sandbox{ID: "s"})
	runtime.AddContainer(critest.Container{ID: "c", SandboxID: "s", Name: "main"})
	runtime.AddContainer(critest.Container{ID: "d", SandboxID: "s", Name: "side"})
	c := newClient(t, runtime.Socket())
	for _, act := range []func() error{
		func() error { return c.StopContainer(within(t, 30*time.Second), "c", 1500*time.Millisecond) },
		func() error { return c.RemoveContainer(within(t, 30*time.Second), "c") },
		func() error { return c.StopPodSandbox(within(t, 20*time.Second), "s") },
	} {
		if err := act(); err != nil {
			t.Fatal(err)
		}
	}
	var methods []string
	for _, act := range runtime.Acts() {
		methods = append(methods, act.Method+" "+act.ID)
	}
	want := []string{"StopContainer c", "RemoveContainer c", "StopPodSandbox s"}
	if !slices.Equal(methods, want) {
		t.Errorf("acts %v, want %v", methods, want)
	}
	acts := runtime.Acts()
	if acts[0].Grace != 2*time.Second {
		t.Errorf("grace %v, want it rounded up to 2 s", acts[0].Grace)
	}
	if left := acts[2].Deadline; left <= 15*time.Second || left > 20*time.Second {
		t.Errorf("the sandbox was given %v, want the caller's 20 s", left)
	}
}

func TestActsOnWhatIsNotThere(t *testing.T) {
	runtime := critest.Start(t)
	for _, method := range []string{"StopContainer", "RemoveContainer", "StopPodSandbox"} {
		runtime.Fail(method, "x", status.Error(codes.NotFound, "no such record"))
	}
	c := newClient(t, runtime.Socket())
	ctx := within(t, 10*time.Second)
	err := errors.Join(c.StopContainer(ctx, "x", 0), c.RemoveContainer(ctx, "x"), c.StopPodSandbox(ctx, "x"))
	if err != nil {
		t.Error(err)
	}
	runtime.Fail("StopContainer", "x", errors.New("device or resource busy"))
	if err := c.StopContainer(ctx, "x", 0); err == nil || !strings.Contains(err.Error(), "stop container x") {
		t.Errorf("error %v does not say what failed", err)
	}
}
