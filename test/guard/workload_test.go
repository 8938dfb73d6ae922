package guard

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// shape of a node's workload.
type load struct {
	namespaces int
	pods       int
	immutable  int // Secrets in all, each of one pod
	mutable    int // ConfigMaps in all, each of one pod
	families   []string
	bytes      int // of each object, at least; 0 for few
}

// reference is an object that a pod mounts.
type reference struct {
	configMap       bool
	namespace, name string
	immutable       bool
}

func (r reference) key() string {
	if r.configMap {
		return "configmaps/" + r.namespace + "/" + r.name
	}
	return "secrets/" + r.namespace + "/" + r.name
}

type podLoad struct {
	pod  *corev1.Pod
	refs []reference
}

// workload is what the API server has of a load.
type workload struct {
	pods      []podLoad
	objects   int // distinct
	mutable   int // distinct
	immutable map[string]bool
}

// create makes a load's objects and its pods, bound to the node, and waits until
// the node authorizer knows the last one.
func (c *cluster) create(t testing.TB, l load) *workload {
	t.Helper()
	w := &workload{immutable: map[string]bool{}, pods: make([]podLoad, l.pods)}
	var makers []work
	create := func(r reference) {
		w.objects++
		if r.immutable {
			w.immutable[r.key()] = true
		} else {
			w.mutable++
		}
		makers = append(makers, func(ctx context.Context) error {
			return c.put(ctx, r, r.name+strings.Repeat(".", l.bytes), r.immutable)
		})
	}
	for n := range l.namespaces {
		namespace := fmt.Sprint("ns-", n)
		if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, name := range l.families {
			create(reference{configMap: true, namespace: namespace, name: name})
		}
	}
	namespaceOf := func(pod int) string { return fmt.Sprint("ns-", pod%l.namespaces) }
	for i := range l.pods {
		for _, name := range l.families {
			w.pods[i].refs = append(w.pods[i].refs, reference{configMap: true, namespace: namespaceOf(i), name: name})
		}
	}
	for i := range l.immutable {
		r := reference{namespace: namespaceOf(i % l.pods), name: fmt.Sprint("secret-", i), immutable: true}
		create(r)
		w.pods[i%l.pods].refs = append(w.pods[i%l.pods].refs, r)
	}
	for i := range l.mutable {
		r := reference{configMap: true, namespace: namespaceOf(i % l.pods), name: fmt.Sprint("config-", i)}
		create(r)
		w.pods[i%l.pods].refs = append(w.pods[i%l.pods].refs, r)
	}
	parallel(t, 8, makers)
	makers = nil
	for i := range w.pods {
		makers = append(makers, c.makePod(newPod(fmt.Sprint("pod-", i), namespaceOf(i), w.pods[i].refs), &w.pods[i].pod))
	}
	parallel(t, 8, makers)
	c.known(t, nodeName, w)
	return w
}

// known waits until the node authorizer knows the last of a node's pods.
func (c *cluster) known(t testing.TB, name string, w *workload) {
	t.Helper()
	node := c.node(t, name)
	last := w.pods[len(w.pods)-1].refs
	until(t, 10*time.Second, "the node authorizer to know the pods", func() bool {
		return read(t.Context(), node, last[len(last)-1]) == nil
	})
	c.own = c.allOpen(t)
}

func newPod(name, namespace string, refs []reference) *corev1.Pod {
	no := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.PodSpec{
			NodeName:                     nodeName,
			AutomountServiceAccountToken: &no,
			Containers:                   []corev1.Container{{Name: "main", Image: "none"}},
		},
	}
	for i, r := range refs {
		v := corev1.Volume{Name: fmt.Sprint("v", i)}
		if r.configMap {
			v.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: r.name}}
		} else {
			v.Secret = &corev1.SecretVolumeSource{SecretName: r.name}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v)
	}
	return pod
}

func read(ctx context.Context, client kubernetes.Interface, r reference) error {
	var err error
	if r.configMap {
		_, err = client.CoreV1().ConfigMaps(r.namespace).Get(ctx, r.name, metav1.GetOptions{})
	} else {
		_, err = client.CoreV1().Secrets(r.namespace).Get(ctx, r.name, metav1.GetOptions{})
	}
	return err
}

// work is one thing to do at the API server.
type work func(context.Context) error

// makePod creates a pod, and keeps what the API server made of it.
func (c *cluster) makePod(pod *corev1.Pod, created **corev1.Pod) work {
	return func(ctx context.Context) error {
		got, err := c.admin.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if created != nil {
			*created = got
		}
		return err
	}
}

// parallel does work, n at a time.
func parallel(t testing.TB, n int, todo []work) {
	t.Helper()
	next := make(chan work)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for f := range next {
				if err := f(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, f := range todo {
		next <- f
	}
	close(next)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
