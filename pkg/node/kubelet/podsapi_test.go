package kubelet

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

func newTestPodsAPI(t testing.TB, socket string) *podsAPI {
	p := newPodsAPI(socket)
	t.Cleanup(func() { p.close() })
	return p
}

func TestAnAnswerOf500PodsIsRead(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	pods := crashingPods(500)
	pods[0].Annotations["filler"] = strings.Repeat("x", 5<<20) // past gRPC's default limit
	api.holds(t, pods...)
	api.serve(t, socket)

	views, err := newTestPodsAPI(t, socket).list(within(t, 30*time.Second))
	if err != nil || len(views) != 500 {
		t.Fatalf("got %d pods and error %v, want 500 pods", len(views), err)
	}
}

func TestNoPodsIsAnAnswer(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	api.holds(t)
	api.serve(t, socket)
	views, err := newTestPodsAPI(t, socket).list(within(t, 10*time.Second))
	if err != nil || len(views) != 0 {
		t.Fatalf("got %v, %v, want an empty list", views, err)
	}
}

func TestGarbageIsAnError(t *testing.T) {
	for name, raw := range map[string][]byte{
		"empty":         {},
		"no protobuf":   []byte("this is not a pod"),
		"cut short":     marshal(t, crashing(1))[:40],
		"wrong field":   {0x22, 0x01, 'x'},
		"nameless pod":  marshal(t, &corev1.Pod{}),
		"endless field": {0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		t.Run(name, func(t *testing.T) {
			socket, api := newSocket(t), &fakePodsAPI{}
			api.say(func(context.Context) (*podsv1alpha1.ListPodsResponse, error) {
				return &podsv1alpha1.ListPodsResponse{Pods: [][]byte{raw}}, nil
			})
			api.serve(t, socket)
			if views, err := newTestPodsAPI(t, socket).list(within(t, 10*time.Second)); err == nil {
				t.Errorf("got %v and no error", views)
			}
		})
	}
}

func TestARestartedKubeletIsFoundAgain(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	api.holds(t, crashing(1))
	stop := api.serve(t, socket)
	p := newTestPodsAPI(t, socket)
	if _, err := p.list(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}

	stop() // removes the socket
	if _, err := p.list(within(t, 10*time.Second)); !errors.Is(err, ErrNoPodsAPI) {
		t.Fatalf("got error %v, want ErrNoPodsAPI", err)
	}
	api.serve(t, socket)
	if _, err := p.list(within(t, 10*time.Second)); err != nil {
		t.Fatalf("after the restart: %v", err)
	}
}

func TestASocketWithoutListenerIsFoundAgain(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	leaveSocket(t, socket)
	p := newTestPodsAPI(t, socket)
	if _, err := p.list(within(t, 10*time.Second)); err == nil || errors.Is(err, ErrNoPodsAPI) {
		t.Fatalf("got error %v, want one about the connection", err)
	}
	removeSocket(t, socket)
	api.holds(t, crashing(1))
	api.serve(t, socket)
	if _, err := p.list(within(t, 10*time.Second)); err != nil {
		t.Fatalf("with a server: %v", err)
	}
}

func TestAHungCallEndsWithItsContext(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	ended := make(chan struct{})
	api.say(func(ctx context.Context) (*podsv1alpha1.ListPodsResponse, error) {
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	api.serve(t, socket)
	p := newTestPodsAPI(t, socket)
	if _, err := p.list(within(t, 100*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got error %v, want the context's", err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the call goes on in the server")
	}
}

func TestARefusalIsReported(t *testing.T) {
	for code, want := range map[codes.Code]string{
		codes.ResourceExhausted: "rate limit",
		codes.Unimplemented:     "does not know ListPods",
		codes.Internal:          "Internal",
	} {
		socket, api := newSocket(t), &fakePodsAPI{}
		api.say(func(context.Context) (*podsv1alpha1.ListPodsResponse, error) {
			return nil, status.Error(code, "rejected by rate limit")
		})
		api.serve(t, socket)
		_, err := newTestPodsAPI(t, socket).list(within(t, 10*time.Second))
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrNoPodsAPI) {
			t.Errorf("%s: got error %v, want it to contain %q", code, err, want)
		}
	}
}

func TestLooksShareOneConnection(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	api.holds(t, crashing(1))
	api.serve(t, socket)
	p := newTestPodsAPI(t, socket)
	p.list(within(t, 10*time.Second))
	base := runtime.NumGoroutine()
	for range 50 {
		if _, err := p.list(within(t, 10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	settlesAt(t, base)
	if got := api.calls.Load(); got != 51 {
		t.Errorf("the server counted %d calls, want 51", got)
	}
}

func TestBothSourcesShowTheSame(t *testing.T) {
	socket, api := newSocket(t), &fakePodsAPI{}
	api.holds(t, crashing(1), crashing(2))
	api.serve(t, socket)
	proto, err := newTestPodsAPI(t, socket).list(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	web, err := listFrom(t, podList(t, crashing(1), crashing(2)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(proto, web); diff != "" {
		t.Errorf("Pods API (-) and /pods (+) differ:\n%s", diff)
	}
}
