package guard

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/kubelet/configmap"
	"k8s.io/kubernetes/pkg/kubelet/secret"
)

// agent is the kubelet's, as version.Get and its transport write it.
const agent = "kubelet/v1.37.2 (linux/amd64) kubernetes/test"

// kubelet is the part of a kubelet that reads Secrets and ConfigMaps.
type kubelet struct {
	secrets    secret.Manager
	configMaps configmap.Manager
}

// strategy is configMapAndSecretChangeDetectionStrategy.
type strategy string

const (
	byWatch strategy = "Watch"
	byCache strategy = "Cache"
	byGet   strategy = "Get"
)

// kubeletConfig is a kubelet's way to its API server, at its default rate.
func kubeletConfig(c *rest.Config) *rest.Config {
	c.QPS, c.Burst = 50, 100
	c.ContentType = "application/vnd.kubernetes.protobuf"
	c.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return c
}

// node is a client as the node, of whose requests nothing is counted.
func (c *cluster) node(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	config := c.config(t, "system:node:"+nodeName, "system:nodes", "look")
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func newKubelet(t *testing.T, c *rest.Config, s strategy) *kubelet {
	t.Helper()
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	// A kubelet has registered its node, and so has a connection, before its
	// first pod.
	if _, err := client.Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
	// With fewer than 100 nodes the TTL annotation is 0, cmd/kube-controller-manager
	// pkg/controller/ttl/ttl_controller.go; without one the managers take a minute.
	noTTL := func() (time.Duration, bool) { return 0, false }
	switch s {
	case byCache:
		return &kubelet{secret.NewCachingSecretManager(client, noTTL), configmap.NewCachingConfigMapManager(client, noTTL)}
	case byGet:
		return &kubelet{secret.NewSimpleSecretManager(client), configmap.NewSimpleConfigMapManager(client)}
	}
	return &kubelet{secret.NewWatchingSecretManager(client, time.Minute), configmap.NewWatchingConfigMapManager(client, time.Minute)}
}

func (k *kubelet) register(pod *corev1.Pod) {
	k.secrets.RegisterPod(pod)
	k.configMaps.RegisterPod(pod)
}

// stop lets every reflector go, as the end of a kubelet does.
func (k *kubelet) stop(w *workload) {
	for _, p := range w.pods {
		k.secrets.UnregisterPod(p.pod)
		k.configMaps.UnregisterPod(p.pod)
	}
}

// get is what a mount reads.
func (k *kubelet) get(r reference) (string, error) {
	if r.configMap {
		o, err := k.configMaps.GetConfigMap(r.namespace, r.name)
		if err != nil {
			return "", err
		}
		return o.Data["data"], nil
	}
	o, err := k.secrets.GetSecret(r.namespace, r.name)
	if err != nil {
		return "", err
	}
	return string(o.Data["data"]), nil
}

// mounted is how the mounts of a start went.
type mounted struct {
	reads  int
	missed int // first reads without an answer within the kubelet's second
	all    time.Duration
	p99    time.Duration // of first reads that were answered
	first  []error
}

// start registers all pods and mounts all of their volumes, everything at once,
// each again after the kubelet's own waits until it is there:
// pkg/util/goroutinemap/exponentialbackoff, v1.37.
func (k *kubelet) start(t *testing.T, w *workload) mounted {
	t.Helper()
	began := time.Now()
	var mu sync.Mutex
	var m mounted
	var took []time.Duration
	var wg sync.WaitGroup
	for _, p := range w.pods {
		k.register(p.pod)
		for _, r := range p.refs {
			wg.Go(func() {
				wait := 500 * time.Millisecond
				for attempt := 0; ; attempt++ {
					at := time.Now()
					data, err := k.get(r)
					mu.Lock()
					if attempt == 0 {
						m.reads++
						took = append(took, time.Since(at))
						if err != nil {
							m.missed++
							m.first = append(m.first, err)
						}
					}
					mu.Unlock()
					if err == nil {
						if data == "" {
							t.Errorf("%s holds nothing", r.key())
						}
						return
					}
					if apierrors.IsForbidden(err) || time.Since(began) > 5*time.Minute {
						t.Errorf("%s: %v", r.key(), err)
						return
					}
					time.Sleep(wait)
					wait = min(2*wait, 2*time.Minute)
				}
			})
		}
	}
	wg.Wait()
	m.all = time.Since(began)
	slices.Sort(took)
	m.p99 = took[len(took)*99/100]
	return m
}

func (m mounted) err() error { return errors.Join(m.first[:min(3, len(m.first))]...) }
