package promote

import (
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

func (s *scene) secretOf(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

const hashed = "settings-f7mm6mhf59"

func bornImmutable(t *testing.T, c *cluster) {
	s := c.scene(t, "born", false)
	word := func(value string) map[string]string { return map[string]string{promote.PolicyKey: value} }
	is := func(meta metav1.ObjectMeta) bool {
		t.Helper()
		made, err := c.Admin.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: settings}, metav1.CreateOptions{})
		s.must(err)
		s.must(c.Admin.CoreV1().ConfigMaps(s.namespace).Delete(t.Context(), meta.Name, metav1.DeleteOptions{}))
		marked := made.Immutable != nil && *made.Immutable
		if _, told := made.Annotations[promote.ReasonKey]; told != marked {
			t.Errorf("%s: immutable %v, with a reason %v", meta.Name, marked, told)
		}
		return marked
	}
	controlplane.Until(t, 20*time.Second, "the policy to be in force", func() bool {
		return is(metav1.ObjectMeta{Name: hashed, Labels: word("promote")})
	})
	yes := true
	for _, one := range []struct {
		name string
		meta metav1.ObjectMeta
		want bool
	}{
		{"by annotation", metav1.ObjectMeta{Name: hashed, Annotations: word("promote")}, true},
		{"by Gardener", metav1.ObjectMeta{Name: "settings-0a1b2c3d", Labels: map[string]string{"resources.gardener.cloud/garbage-collectable-reference": "true"}}, true},
		{"with an owner that is no controller", metav1.ObjectMeta{Name: hashed, Labels: word("promote"), OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u"}}}, true},
		{"nobody asked", metav1.ObjectMeta{Name: hashed}, false},
		{"no hash", metav1.ObjectMeta{Name: "settings", Labels: word("promote")}, false},
		{"letters that a hash has not", metav1.ObjectMeta{Name: "settings-f7mm6mhf5a", Labels: word("promote")}, false},
		{"a short hash without Gardener", metav1.ObjectMeta{Name: "settings-0a1b2c3d", Labels: word("promote")}, false},
		{"opted out", metav1.ObjectMeta{Name: hashed, Labels: word("promote"), Annotations: word("never")}, false},
		{"Gardener's, opted out", metav1.ObjectMeta{Name: "settings-0a1b2c3d", Labels: map[string]string{"resources.gardener.cloud/garbage-collectable-reference": "true", promote.PolicyKey: "never"}}, false},
		{"controlled", metav1.ObjectMeta{Name: hashed, Labels: word("promote"), OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Controller: &yes}}}, false},
		{"reloaded", metav1.ObjectMeta{Name: hashed, Labels: word("promote"), Annotations: map[string]string{"reloader.stakater.com/match": "true"}}, false},
		{"reloaded by a subdomain", metav1.ObjectMeta{Name: hashed, Labels: word("promote"), Annotations: map[string]string{"configmap.reloader.stakater.com/x": "true"}}, false},
		{"injected", metav1.ObjectMeta{Name: hashed, Labels: map[string]string{promote.PolicyKey: "promote", "config.openshift.io/inject-trusted-cabundle": "true"}}, false},
		{"synced", metav1.ObjectMeta{Name: hashed, Labels: word("promote"), Annotations: map[string]string{"reflector.v1.k8s.emberstack.com/reflects": "a/b"}}, false},
		{"replaced", metav1.ObjectMeta{Name: hashed, Labels: word("promote"), Annotations: map[string]string{"argocd.argoproj.io/sync-options": "Prune=false,Replace=true"}}, false},
	} {
		if got := is(one.meta); got != one.want {
			t.Errorf("%s: immutable %v", one.name, got)
		}
	}

	for kind, want := range map[corev1.SecretType]bool{"": true, "Opaque": true, "kubernetes.io/basic-auth": true, "kubernetes.io/tls": false, "example.org/odd": false} {
		o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: hashed, Labels: word("promote")}, Type: kind, Data: map[string][]byte{"username": nil, "password": nil, "tls.crt": nil, "tls.key": nil}}
		made, err := c.Admin.CoreV1().Secrets(s.namespace).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		s.must(err)
		if got := made.Immutable != nil && *made.Immutable; got != want {
			t.Errorf("Secret of type %q: immutable %v", kind, got)
		}
	}

	// What says immutable: false, says so.
	no := false
	made, err := c.Admin.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: hashed, Labels: word("promote")}, Immutable: &no}, metav1.CreateOptions{})
	if s.must(err); *made.Immutable {
		t.Error("a declared flag was overruled")
	}

	// The namespace opts in, and out.
	for value, want := range map[string]bool{"promote": true, "never": false} {
		in := &scene{cluster: c, t: t, namespace: "team-born-" + value}
		in.makeNamespace(in.namespace, word(value))
		controlplane.Until(t, 20*time.Second, "the namespace's word to count", func() bool {
			made, err := c.Admin.CoreV1().ConfigMaps(in.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: hashed}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err == nil && (made.Immutable != nil && *made.Immutable) == want
		})
	}
	made, err = c.Admin.CoreV1().ConfigMaps("kube-system").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: hashed, Labels: word("promote")}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if s.must(err); made.Immutable != nil {
		t.Error("immutable in kube-system")
	}
}

// warnings are what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	said []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.said, "\n")
	w.said = nil
	return all
}

func manyReferences(t *testing.T, c *cluster) {
	s := c.scene(t, "references", false)
	heard := &warnings{}
	config := rest.CopyConfig(c.Config)
	config.WarningHandler = heard
	client, err := kubernetes.NewForConfig(config)
	s.must(err)
	warned := func(pod *corev1.Pod) string {
		t.Helper()
		heard.take()
		_, err := client.CoreV1().Pods(s.namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		s.must(err)
		if all := heard.take(); strings.Contains(all, "nodekeeper-many-references") {
			return all
		}
		return ""
	}
	names := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = "n" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		}
		return out
	}
	controlplane.Until(t, 20*time.Second, "the policy to be in force", func() bool { return warned(podOf("p", nil, names(20), names(21))) != "" })
	if text := warned(podOf("p", nil, names(41), nil)); !strings.Contains(text, "41 times (more than 40)") {
		t.Errorf("warning: %q", text)
	}
	if text := warned(podOf("p", nil, names(20), names(20))); text != "" {
		t.Errorf("40 are warned of: %s", text)
	}
	// One of each other kind makes 40 into 45.
	pod := podOf("p", nil, names(20), names(20))
	reference := corev1.LocalObjectReference{Name: "x"}
	pod.Spec.ServiceAccountName = "default"
	pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{reference}
	pod.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference}}}}}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: reference, Key: "k"}}},
		{Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "C", Value: "plain"},
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{Secret: &corev1.SecretProjection{LocalObjectReference: reference}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: reference}},
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}},
	}}}})
	if text := warned(pod); !strings.Contains(text, "45 times") {
		t.Errorf("warning: %q", text)
	}
	if text := warned(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}); text != "" {
		t.Errorf("a plain pod is warned of: %s", text)
	}
}
