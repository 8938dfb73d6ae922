package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// fakePodsAPI is a Pods API server. Its answer may change between calls.
type fakePodsAPI struct {
	podsv1alpha1.UnimplementedPodsServer
	answer atomic.Pointer[func(context.Context) (*podsv1alpha1.ListPodsResponse, error)]
	calls  atomic.Int32
}

func (f *fakePodsAPI) ListPods(ctx context.Context, _ *podsv1alpha1.ListPodsRequest) (*podsv1alpha1.ListPodsResponse, error) {
	f.calls.Add(1)
	return (*f.answer.Load())(ctx)
}

func (f *fakePodsAPI) say(answer func(context.Context) (*podsv1alpha1.ListPodsResponse, error)) {
	f.answer.Store(&answer)
}

// holds makes the server answer with pods.
func (f *fakePodsAPI) holds(t testing.TB, pods ...*corev1.Pod) {
	raw := make([][]byte, len(pods))
	for i, pod := range pods {
		raw[i] = marshal(t, pod)
	}
	f.say(func(context.Context) (*podsv1alpha1.ListPodsResponse, error) {
		return &podsv1alpha1.ListPodsResponse{Pods: raw}, nil
	})
}

// serve listens on a unix socket and returns the function that ends it.
func (f *fakePodsAPI) serve(t testing.TB, socket string) (stop func()) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	podsv1alpha1.RegisterPodsServer(server, f)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return server.Stop
}

// stopped is a port whose process is stopped: the kernel takes connections and
// nobody ever answers.
func stopped(t testing.TB, network, address string) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

func newSocket(t testing.TB) string { return filepath.Join(t.TempDir(), "pods.sock") }

// newClient is a client of cfg that ends with the test.
func newClient(t testing.TB, cfg config.Kubelet) *Client {
	t.Helper()
	c := New(cfg, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { c.Close() })
	return c
}

// within is a context for one look.
func within(t testing.TB, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// settlesAt waits until no more than n goroutines are left.
func settlesAt(t testing.TB, n int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > n; {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines are left, want no more than %d:\n%s",
				runtime.NumGoroutine(), n, stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
}

func marshal(t testing.TB, pod *corev1.Pod) []byte {
	t.Helper()
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// podList answers with pods as /pods does.
func podList(t testing.TB, pods ...*corev1.Pod) http.HandlerFunc {
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(raw) }
}

// crashing is static pod n, whose main container waits in back-off; with a
// spec and statuses of a usual size.
func crashing(n int) *corev1.Pod {
	quantity := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")}
	died := metav1.NewTime(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: fmt.Sprintf("app%d-node1", n), UID: types.UID(fmt.Sprintf("uid-%d", n)),
			Annotations: map[string]string{sourceAnnotation: "file", "kubernetes.io/config.hash": "0123456789abcdef"},
			Labels:      map[string]string{"app": "app", "revision": "7"},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			InitContainerStatuses: []corev1.ContainerStatus{{
				Name: "setup", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: died}},
			}},
			EphemeralContainerStatuses: []corev1.ContainerStatus{{Name: "debug"}},
		},
	}
	for i, name := range []string{"main", "side", "third"} {
		container := corev1.Container{Name: name, Image: "registry.example/team/app@sha256:0123456789abcdef", Resources: corev1.ResourceRequirements{Requests: quantity, Limits: quantity}}
		for v := range 12 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", v), Value: "a value of a usual length, more or less"})
			container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: fmt.Sprintf("volume-%d", v), MountPath: fmt.Sprintf("/etc/app/%d", v)})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
		status := corev1.ContainerStatus{
			Name: name, RestartCount: int32(i), ContainerID: "cri-o://" + name, Image: container.Image, ImageID: container.Image,
			Resources: &container.Resources, AllocatedResources: quantity,
			VolumeMounts: []corev1.VolumeMountStatus{{Name: "volume-1", MountPath: "/etc/app/1"}},
			State:        corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: died}},
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container=main pod=app-node1_kube-system(uid)",
	}}
	pod.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", FinishedAt: died, ContainerID: "cri-o://main"},
	}
	return pod
}

func crashingPods(n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = crashing(i)
	}
	return pods
}
