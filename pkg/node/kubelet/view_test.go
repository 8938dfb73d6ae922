package kubelet

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func notReady(context.Context) (*podsv1alpha1.ListPodsResponse, error) {
	return nil, status.Error(codes.FailedPrecondition, "Kubelet is initializing")
}

func TestPodsIsNotAskedWhenThePodsAPIAnswers(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	api.holds(t, crashing(1))
	api.serve(t, socket)
	second := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("/pods was asked")
	}))
	defer second.Close()

	v := newClient(t, config.Kubelet{PodsAPISocket: socket, PodsURL: second.URL}).view(within(t, 10*time.Second))
	if v.Source != node.ViewPodsAPI || v.Err != nil || len(v.Pods) != 1 {
		t.Fatalf("got %+v, want one pod from the Pods API", v)
	}
}

func TestSourcesNotReadyFallsThroughToPods(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	api.say(notReady)
	api.serve(t, socket)
	second := httptest.NewTLSServer(podList(t, crashing(1)))
	defer second.Close()

	v := newClient(t, config.Kubelet{PodsAPISocket: socket, PodsURL: second.URL}).view(within(t, 10*time.Second))
	if v.Source != node.ViewPods || !v.SourcesNotReady || !errors.Is(v.Err, ErrSourcesNotReady) || len(v.Pods) != 1 {
		t.Fatalf("got %+v, want one pod from /pods and sources not ready", v)
	}
	if text := Describe(v); !strings.Contains(text, "waiting for a pod source") {
		t.Errorf("Describe says %q", text)
	}
}

func TestSourcesNotReadyIsKeptWithoutAView(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	api.say(notReady)
	api.serve(t, socket)

	v := newClient(t, config.Kubelet{PodsAPISocket: socket}).view(within(t, 10*time.Second))
	if v.Known() || v.Source != node.ViewNone || !v.SourcesNotReady {
		t.Fatalf("got %+v, want no view and sources not ready", v)
	}
	for _, want := range []error{ErrSourcesNotReady, ErrPodsNotAsked} {
		if !errors.Is(v.Err, want) {
			t.Errorf("error %q does not wrap %q", v.Err, want)
		}
	}
	if text := Describe(v); strings.Contains(text, "\n") || !strings.Contains(text, "not seen") {
		t.Errorf("Describe says %q", text)
	}
}

func TestAnAbsentSocketIsNoErrorWhilePodsAnswers(t *testing.T) {
	second := httptest.NewTLSServer(podList(t, crashing(1)))
	defer second.Close()
	for _, socket := range []string{"", newSocket(t)} {
		v := newClient(t, config.Kubelet{PodsAPISocket: socket, PodsURL: second.URL}).view(within(t, 10*time.Second))
		if v.Source != node.ViewPods || v.Err != nil || v.SourcesNotReady {
			t.Errorf("socket %q: got %+v, want a view from /pods without an error", socket, v)
		}
	}
}

func TestASilentPodsAPILeavesTimeForPods(t *testing.T) {
	socket := stopped(t, "unix", newSocket(t))
	second := httptest.NewTLSServer(podList(t, crashing(1)))
	defer second.Close()

	v := newClient(t, config.Kubelet{PodsAPISocket: socket, PodsURL: second.URL}).view(within(t, 4*time.Second))
	if v.Source != node.ViewPods || !errors.Is(v.Err, context.DeadlineExceeded) {
		t.Fatalf("got %+v, want a view from /pods and the Pods API's time-out", v)
	}
}

// Given a kubelet that is stopped: it takes connections and never answers.
// When it is looked at again and again.
// Then each look ends with its context, with errors, and leaves nothing behind.
func TestAStoppedKubelet(t *testing.T) {
	port := stopped(t, "tcp", "127.0.0.1:0")
	c := newClient(t, config.Kubelet{
		PodsAPISocket: stopped(t, "unix", newSocket(t)),
		PodsURL:       "https://" + port + "/pods",
	})
	look := func() {
		const limit = 100 * time.Millisecond
		began := time.Now()
		k := c.Kubelet(within(t, limit), "http://"+port+"/healthz")
		if took := time.Since(began); took > limit+2*time.Second {
			t.Errorf("a look took %s, its context ended after %s", took, limit)
		}
		if k.Healthy || k.HealthErr == nil {
			t.Errorf("healthy %v, error %v", k.Healthy, k.HealthErr)
		}
		if k.View.Known() || !errors.Is(k.View.Err, context.DeadlineExceeded) {
			t.Errorf("got view %+v, want none because of the time", k.View)
		}
	}
	look()
	base, files := runtime.NumGoroutine(), openFiles(t)
	for range 15 {
		look()
	}
	settlesAt(t, base)
	if now := openFiles(t); now > files+1 {
		t.Errorf("%d files are open, %d before", now, files)
	}
	c.Close()
}

// openFiles counts this process's file descriptors.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

func TestDescribeOfEachView(t *testing.T) {
	for name, v := range map[string]node.View{
		"through the Pods API":    {Source: node.ViewPodsAPI},
		"through /pods":           {Source: node.ViewPods},
		"better source failed: x": {Source: node.ViewPods, Err: errors.New("x")},
		"are not seen":            {Source: node.ViewNone, Err: ErrForbidden},
		"runs but its pods":       {Source: node.ViewNone, SourcesNotReady: true, Err: ErrForbidden},
		"has not been asked":      {},
	} {
		if text := Describe(v); !strings.Contains(text, name) {
			t.Errorf("Describe(%+v) = %q, want it to contain %q", v, text, name)
		}
	}
}
