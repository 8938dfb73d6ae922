package promote

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote/controller"
)

// scene is a namespace of one test, and the promoter's own for it.
type scene struct {
	*cluster
	t         *testing.T
	namespace string
	own       string
	now       time.Time
	refused   refusals
}

func (c *cluster) scene(t *testing.T, name string, optIn bool) *scene {
	t.Helper()
	s := &scene{cluster: c, t: t, namespace: "team-" + name, own: "promoter-" + name, now: time.Now()}
	of := map[string]string{"scene": name}
	if optIn {
		of[promote.PolicyKey] = promote.PolicyPromote
	}
	s.makeNamespace(s.namespace, of)
	s.makeNamespace(s.own, nil)
	return s
}

func (s *scene) makeNamespace(name string, with map[string]string) {
	s.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with}}
	_, err := s.Admin.CoreV1().Namespaces().Create(s.t.Context(), ns, metav1.CreateOptions{})
	s.must(err)
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) configMap(meta metav1.ObjectMeta, data map[string]string) *corev1.ConfigMap {
	s.t.Helper()
	c, err := s.Admin.CoreV1().ConfigMaps(s.namespace).Create(s.t.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: data}, metav1.CreateOptions{FieldManager: "tester"})
	s.must(err)
	return c
}

func (s *scene) secret(meta metav1.ObjectMeta, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	s.t.Helper()
	c, err := s.Admin.CoreV1().Secrets(s.namespace).Create(s.t.Context(), &corev1.Secret{ObjectMeta: meta, Type: kind, Data: data}, metav1.CreateOptions{FieldManager: "tester"})
	s.must(err)
	return c
}

// pod mounts objects.
func (s *scene) pod(name string, annotations map[string]string, secrets, configMaps []string) {
	s.t.Helper()
	_, err := s.Admin.CoreV1().Pods(s.namespace).Create(s.t.Context(), podOf(name, annotations, secrets, configMaps), metav1.CreateOptions{})
	s.must(err)
}

func podOf(name string, annotations map[string]string, secrets, configMaps []string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	for i, secret := range secrets {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("s", i), VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}})
	}
	for i, name := range configMaps {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("c", i), VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}})
	}
	return pod
}

// promoter is a new one, as after a restart.
func (s *scene) promoter(change func(*controller.Options)) *controller.Controller {
	s.t.Helper()
	o := controller.Options{
		Config: s.Config, Namespace: s.own, Identity: s.t.Name(),
		Namespaces: labels.SelectorFromSet(labels.Set{"scene": s.namespace[len("team-"):]}),
		Promotions: 1000, Reads: 1000, Interval: 50 * time.Millisecond, Lease: 3 * time.Second,
		Log: slog.New(&s.refused), Now: func() time.Time { return s.now },
	}
	if change != nil {
		change(&o)
	}
	c, err := controller.New(o)
	s.must(err)
	return c
}

func (s *scene) pass(c *controller.Controller) controller.Counts {
	s.t.Helper()
	s.must(c.Pass(s.t.Context()))
	return c.Counts()
}

func (s *scene) configMapNow(name string) *corev1.ConfigMap {
	s.t.Helper()
	c, err := s.Admin.CoreV1().ConfigMaps(s.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	s.must(err)
	return c
}

func (s *scene) immutable() map[string]bool {
	s.t.Helper()
	out := map[string]bool{}
	secrets, err := s.Admin.CoreV1().Secrets(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	for _, o := range secrets.Items {
		if o.Immutable != nil && *o.Immutable {
			out["secrets/"+o.Name] = true
		}
	}
	maps, err := s.Admin.CoreV1().ConfigMaps(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	for _, o := range maps.Items {
		if o.Immutable != nil && *o.Immutable {
			out["configmaps/"+o.Name] = true
		}
	}
	return out
}

func (s *scene) events(reason string) []corev1.Event {
	s.t.Helper()
	list, err := s.Admin.CoreV1().Events(s.namespace).List(s.t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	s.must(err)
	return list.Items
}

// refusals is a log that remembers by which rule each object was refused last.
type refusals struct {
	mu    sync.Mutex
	rules map[string]string
}

func (*refusals) Enabled(context.Context, slog.Level) bool { return true }

func (r *refusals) Handle(_ context.Context, record slog.Record) error {
	if record.Message != "not promoted" {
		return nil
	}
	of := map[string]string{}
	record.Attrs(func(a slog.Attr) bool { of[a.Key] = a.Value.String(); return true })
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rules == nil {
		r.rules = map[string]string{}
	}
	r.rules[of["resource"]+"/"+of["name"]] = of["rule"]
	return nil
}

func (r *refusals) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r *refusals) WithGroup(string) slog.Handler      { return r }

func (r *refusals) of(object string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rules[object]
}
