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
	trace      *trace // of first reads; may be nil
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

// node is a client as a node, of whose requests nothing is counted.
func (c *cluster) node(t testing.TB, name string) *kubernetes.Clientset {
	t.Helper()
	config := c.config(t, "system:node:"+name, "system:nodes", "look")
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func newKubelet(t testing.TB, c *rest.Config, s strategy) *kubelet {
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
		return &kubelet{secrets: secret.NewCachingSecretManager(client, noTTL), configMaps: configmap.NewCachingConfigMapManager(client, noTTL)}
	case byGet:
		return &kubelet{secrets: secret.NewSimpleSecretManager(client), configMaps: configmap.NewSimpleConfigMapManager(client)}
	}
	return &kubelet{secrets: secret.NewWatchingSecretManager(client, time.Minute), configMaps: configmap.NewWatchingConfigMapManager(client, time.Minute)}
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
	errs   []error
}

// start registers all pods and mounts all of their volumes, everything at once.
func (k *kubelet) start(t testing.TB, w *workload) mounted {
	t.Helper()
	return k.arrive(t, w.pods, len(w.pods), 0)
}

// arrive has pods come one by one, apart, of which so many are mounted side by
// side: all volumes of a pod at once, each again after the kubelet's own waits
// until it is there, pkg/util/goroutinemap/exponentialbackoff, v1.37.
func (k *kubelet) arrive(t testing.TB, pods []podLoad, parallel int, apart time.Duration) mounted {
	t.Helper()
	m := mounting{kubelet: k, TB: t, began: time.Now()}
	places := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i, p := range pods {
		time.Sleep(time.Until(m.began.Add(time.Duration(i) * apart)))
		places <- struct{}{}
		k.register(p.pod)
		var volumes sync.WaitGroup
		for _, r := range p.refs {
			volumes.Go(func() { m.mount(r) })
		}
		all.Go(func() {
			volumes.Wait()
			<-places
		})
	}
	all.Wait()
	m.all = time.Since(m.began)
	slices.Sort(m.took)
	m.p99 = m.took[len(m.took)*99/100]
	return m.mounted
}

// mounting is mounts under way.
type mounting struct {
	*kubelet
	testing.TB
	began time.Time

	mu sync.Mutex // guards all below
	mounted
	took []time.Duration
}

func (m *mounting) mount(r reference) {
	wait := 500 * time.Millisecond
	for attempt := 0; ; attempt++ {
		at := time.Now()
		if attempt == 0 {
			m.trace.note(r.key(), func(p *path) *time.Time { return &p.begun })
		}
		data, err := m.get(r)
		if attempt == 0 {
			m.trace.note(r.key(), func(p *path) *time.Time {
				if err != nil {
					return &p.missed
				}
				return &p.taken
			})
			m.first(time.Since(at), err)
		}
		if err == nil {
			if data == "" {
				m.Errorf("%s holds nothing", r.key())
			}
			return
		}
		if apierrors.IsForbidden(err) || time.Since(m.began) > 5*time.Minute {
			m.Errorf("%s: %v", r.key(), err)
			return
		}
		time.Sleep(wait)
		wait = min(2*wait, 2*time.Minute)
	}
}

// first counts a first read.
func (m *mounting) first(took time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	m.took = append(m.took, took)
	if err != nil {
		m.missed++
		m.errs = append(m.errs, err)
	}
}

func (m mounted) err() error { return errors.Join(m.errs[:min(3, len(m.errs))]...) }
