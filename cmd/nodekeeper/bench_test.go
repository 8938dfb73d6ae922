package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/clock"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri/critest"
)

// settled is longer than a manifest has to be unchanged before it is not read
// again at each look.
const settled = 4 * time.Second

// BenchmarkLook is one look with everything that `nodekeeper run` asks: files,
// CRI, Pods API and healthz over real sockets, /proc for one real process a
// pod, and systemd if it runs here. CRI and kubelet are in this process too:
// their share of time and memory is in the figures.
func BenchmarkLook(b *testing.B) {
	for _, pods := range []int{10, 110, 500} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			observer := benchNode(b, pods)
			check(b, observer.Look(b.Context()), pods)
			time.Sleep(settled)
			// The last look that reads the manifests.
			observer.Look(b.Context())
			b.ReportAllocs()
			for b.Loop() {
				check(b, observer.Look(b.Context()), pods)
			}
		})
	}
}

// check fails for a look that did not see everything, and so was too cheap.
func check(b *testing.B, s *node.Snapshot, pods int) {
	b.Helper()
	alive := 0
	for _, sandbox := range s.Runtime.Sandboxes {
		for _, c := range sandbox.Containers {
			if c.Process.State == node.ProcessAlive && !c.StartedAt.IsZero() {
				alive++
			}
		}
	}
	view := s.Kubelet.View
	if len(s.Intent.Pods) != pods || alive != pods || view.Source != node.ViewPodsAPI || len(view.Pods) != pods || !s.Kubelet.Healthy {
		b.Fatalf("saw %d manifests (%v), %d processes (%v), %d pods from %q (%v), healthz %v; want %d pods",
			len(s.Intent.Pods), s.Intent.Err, alive, s.Runtime.Err, len(view.Pods), view.Source, view.Err, s.Kubelet.HealthErr, pods)
	}
}

// benchNode is a node with static pods of one running container each.
func benchNode(b *testing.B, pods int) *node.Observer {
	b.Helper()
	dir := b.TempDir()
	cfg := config.Default()
	cfg.Kubelet.StaticPodPath = filepath.Join(dir, "manifests")
	cfg.Kubelet.NodeName = "node1"
	cfg.Kubelet.Config = []string{filepath.Join(dir, "kubelet.conf")}
	cfg.Kubelet.PodsAPISocket = filepath.Join(dir, "pods.sock")
	cfg.Kubelet.PodsURL = ""
	cfg.Directories.State = dir

	if err := os.Mkdir(cfg.Kubelet.StaticPodPath, 0o755); err != nil {
		b.Fatal(err)
	}
	put(b, cfg.Kubelet.Config[0], []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"))
	runtime := critest.Start(b)
	cfg.Runtime.Socket = runtime.Socket()
	var api podsAPI
	for i := range pods {
		pod := benchPod(i)
		text, err := yaml.Marshal(pod)
		if err != nil {
			b.Fatal(err)
		}
		put(b, filepath.Join(cfg.Kubelet.StaticPodPath, pod.Name+".yaml"), text)
		api.hold(b, pod)
		run(b, runtime, pod)
	}
	api.serve(b, cfg.Kubelet.PodsAPISocket)
	healthz := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }))
	b.Cleanup(healthz.Close)
	cfg.Kubelet.HealthzURL = healthz.URL

	n := wire(cfg, clock.New("/proc"), slog.New(slog.DiscardHandler))
	b.Cleanup(n.close)
	return n.observer
}

func put(b *testing.B, path string, content []byte) {
	b.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
}

// benchPod is the manifest of static pod n, of a usual size.
func benchPod(n int) *corev1.Pod {
	quantity := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")}
	c := corev1.Container{
		Name: "main", Image: "registry.example/team/app@sha256:0123456789abcdef",
		Resources: corev1.ResourceRequirements{Requests: quantity, Limits: quantity},
	}
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: fmt.Sprintf("app-%d", n), Labels: map[string]string{"app": "app", "revision": "7"},
		},
		Spec: corev1.PodSpec{HostNetwork: true},
	}
	for i := range 12 {
		volume := fmt.Sprintf("volume-%d", i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: volume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc/app/" + volume}},
		})
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "a value of a usual length, more or less"})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/etc/app/" + volume})
	}
	pod.Spec.Containers = []corev1.Container{c}
	return pod
}

// run puts the pod's records into the runtime, with a process of its own.
func run(b *testing.B, runtime *critest.Server, pod *corev1.Pod) {
	b.Helper()
	process := exec.Command("sleep", "infinity")
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	name, sandbox := pod.Name+"-node1", critest.ID("sandbox of "+pod.Name)
	started := time.Now()
	runtime.AddSandbox(critest.Sandbox{
		ID: sandbox, Namespace: pod.Namespace, Name: name, UID: "uid-" + pod.Name, Source: "file", CreatedAt: started,
	})
	runtime.AddContainer(critest.Container{
		ID: critest.ID(pod.Name), SandboxID: sandbox, Name: "main", PID: process.Process.Pid, Grace: 30,
		CreatedAt: started, StartedAt: started, LogPath: "/var/log/pods/" + name + "/main/0.log",
	})
}

// podsAPI is the kubelet's Pods API.
type podsAPI struct {
	podsv1alpha1.UnimplementedPodsServer
	pods [][]byte
}

// hold adds a pod as the kubelet would show it.
func (p *podsAPI) hold(b *testing.B, manifest *corev1.Pod) {
	b.Helper()
	pod := manifest.DeepCopy()
	pod.Name += "-node1"
	pod.UID = types.UID("uid-" + manifest.Name)
	pod.Annotations = map[string]string{"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "0123456789abcdef"}
	c := &pod.Spec.Containers[0]
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "cri-o://" + critest.ID(manifest.Name),
			State:     corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			Resources: &c.Resources, AllocatedResources: c.Resources.Requests, Ready: true,
		}},
	}
	for _, m := range c.VolumeMounts {
		pod.Status.ContainerStatuses[0].VolumeMounts = append(pod.Status.ContainerStatuses[0].VolumeMounts,
			corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath})
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	raw, err := pod.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	p.pods = append(p.pods, raw)
}

// ListPods is part of the API.
func (p *podsAPI) ListPods(context.Context, *podsv1alpha1.ListPodsRequest) (*podsv1alpha1.ListPodsResponse, error) {
	return &podsv1alpha1.ListPodsResponse{Pods: p.pods}, nil
}

func (p *podsAPI) serve(b *testing.B, socket string) {
	b.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	server := grpc.NewServer()
	podsv1alpha1.RegisterPodsServer(server, p)
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(server.Stop)
}
