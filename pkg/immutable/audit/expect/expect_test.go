package expect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

var families = []string{"kube-root-ca.crt", "openshift-service-ca.crt"}

// pod refers to objects: "v:" mounted, "e:" in the environment, "o:" in the
// environment and optional, "p:" a pull secret; a name with a dot is a
// ConfigMap's.
func pod(namespace string, names ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
	p.Spec.Containers = []corev1.Container{{}}
	c := &p.Spec.Containers[0]
	for _, n := range names {
		use, name, _ := strings.Cut(n, ":")
		local := corev1.LocalObjectReference{Name: name}
		optional := use == "o"
		switch config := strings.Contains(name, "."); {
		case use == "v" && config:
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local}}})
		case use == "v":
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}})
		case use == "p":
			p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, local)
		case config:
			c.EnvFrom = append(c.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: local, Optional: &optional}})
		default:
			c.EnvFrom = append(c.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: local, Optional: &optional}})
		}
	}
	return p
}

// byName says what an object is: the first letters of its name.
func byName(key shape.Key) Object {
	switch {
	case strings.HasPrefix(key.Name, "imm"):
		return Object{State: Immutable}
	case strings.HasPrefix(key.Name, "gone"):
		return Object{State: Missing}
	case strings.HasPrefix(key.Name, "dark"):
		return Object{State: Unknown}
	case strings.HasPrefix(key.Name, "could"):
		return Object{State: Mutable, Promotable: true}
	}
	return Object{State: Mutable, Why: "no-opt-in"}
}

func TestObjectsAreCountedOnceAndByTheirLongestUse(t *testing.T) {
	ended := pod("a", "v:mut-of-ended")
	ended.Status.Phase = corev1.PodFailed
	got := Count([]*corev1.Pod{
		pod("a", "v:imm-1", "e:imm-2", "v:mut-1", "e:mut-1", "p:mut-pull", "e:mut-env", "o:could-env", "v:could-1", "v:kube-root-ca.crt"),
		pod("a", "v:imm-1", "v:mut-1", "v:kube-root-ca.crt", "v:dark-1"),
		pod("b", "v:kube-root-ca.crt", "v:gone-1", "p:gone-pull", "e:gone-needed", "o:gone-optional", "v:imm-1"),
		ended,
	}, byName, families)
	want := Counts{
		Pods: 3, Objects: 15,
		Immutable: 3, // imm-1 of each namespace, imm-2
		Mutable:   6, // mut-1, mut-pull, could-1, dark-1 and two CA bundles
		EnvOnly:   3, // mut-env, could-env, and gone-optional, which idles out too
		Missing:   3, // a needed one is read again and again
		Unknown:   1,
		Members:   2, Families: 1,
		Promotable: 1, PromotableEnv: 1, Refused: map[string]int{"no-opt-in": 5},
		Reads: 13, Once: 6, ReadObjects: 10,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if sum := got.Immutable + got.Mutable + got.EnvOnly + got.Missing; sum != got.Objects {
		t.Errorf("%d objects, and %d of all kinds", got.Objects, sum)
	}
}

// The workload of the measurement with a real kubelet 1.37.2: 20 pods, each with
// 10 immutable Secrets and 2 mutable ConfigMaps of its own. What was counted
// then is expected now.
func measured() Counts {
	var pods []*corev1.Pod
	for i := range 20 {
		var names []string
		for j := range 10 {
			names = append(names, fmt.Sprintf("v:imm-%d-%d", i, j))
		}
		names = append(names, fmt.Sprintf("v:mut-%d.a", i), fmt.Sprintf("v:mut-%d.b", i))
		pods = append(pods, pod(fmt.Sprintf("ns-%d", i%5), names...))
	}
	return Count(pods, byName, families)
}

func TestWhatARealKubeletAskedIsExpected(t *testing.T) {
	c := measured()
	k := Kubelet{Version: "v1.37.2", Strategy: Watch}
	perMinute := func(l Load) float64 { return l.Steady * 60 }

	if l := c.Under(AsIs, k); l.StartWatches != 240 || l.StartLists != 0 || l.StartReads != 240 || l.Open != 40 {
		t.Errorf("watch-list: %+v", l)
	}
	if l := c.Under(Guard, k); l.StartWatches != 40 || l.StartLists != 240 || l.StartReads != 240 || l.Open != 40 {
		t.Errorf("guard: %+v", l)
	}
	// 672 GETs in 180 s were counted, all answered without etcd.
	if l := c.Under(ByCache, k); l.StartGets != 240 || l.StartReads != 240 || l.StartWatches+l.Open != 0 || l.SteadyReads != 0 || perMinute(l) < 150 || perMinute(l) > 260 {
		t.Errorf("Cache: %+v", l)
	}
	// 480 at the start, 648 in 180 s, all of them reads of etcd.
	if l := c.Under(ByGet, k); l.StartGets != 480 || l.StartReads != 480 || l.SteadyReads != l.Steady || perMinute(l) < 150 || perMinute(l) > 260 {
		t.Errorf("Get: %+v", l)
	}
	old := Kubelet{Version: "v1.34.1", Strategy: Watch}
	if l := c.Under(AsIs, old); l.StartWatches != 240 || l.StartLists != 240 || l.StartReads != 0 {
		t.Errorf("LIST path: %+v", l)
	}
	if l := c.Under(Guard, old); l.StartReads != 0 {
		t.Errorf("guard, LIST path: %+v", l)
	}
	if l := c.Under(AsIs, Kubelet{Strategy: Get}); l.Remedy != AsIs || l.StartGets != 480 {
		t.Errorf("as it is, Get: %+v", l)
	}
}

func TestImmutableAloneSavesNoWatchAtAStart(t *testing.T) {
	c := Counts{Objects: 100, Immutable: 40, Mutable: 50, EnvOnly: 5, Missing: 5, Promotable: 20, PromotableEnv: 2, Members: 10, Families: 2}
	k := Kubelet{Version: "v1.37.2", Strategy: Watch}
	for _, want := range []Load{
		{Remedy: AsIs, StartWatches: 100, StartReads: 100, Open: 55},
		{Remedy: Flags, StartWatches: 100, StartReads: 100, Open: 35},
		{Remedy: Guard, StartWatches: 60, StartLists: 100, StartReads: 100, Open: 55},
		{Remedy: Promotion, StartWatches: 38, StartLists: 100, StartReads: 100, Open: 35},
		{Remedy: Sentinels, StartWatches: 52, StartLists: 100, StartReads: 100, Open: 47},
	} {
		want.Steady = float64(want.Open) / (45 * 60)
		if d := cmp.Diff(want, c.Under(want.Remedy, k)); d != "" {
			t.Error(d)
		}
	}
}

func TestCacheAsksNoMoreThanItsTTLAllows(t *testing.T) {
	c := Counts{Objects: 10, ReadObjects: 10, Reads: 300}
	for ttl, want := range map[time.Duration]float64{0: 4, 15 * time.Second: 10. / 15, 300 * time.Second: 10. / 300} {
		if got := c.Under(ByCache, Kubelet{TTL: ttl}).Steady; got != want {
			t.Errorf("TTL %v: %v/s, want %v", ttl, got, want)
		}
	}
}

func TestThePathIsTheVersionsUnlessTheGateSays(t *testing.T) {
	on, off := true, false
	for _, c := range []struct {
		k    Kubelet
		want Path
	}{
		{Kubelet{Version: "v1.34.9"}, ListPath},
		{Kubelet{Version: "v1.35.0-rc.1+abcd"}, WatchListPath},
		{Kubelet{Version: "v2.0.0"}, WatchListPath},
		{Kubelet{Version: ""}, ""},
		{Kubelet{Version: "v1"}, ""},
		{Kubelet{Version: "vx.y"}, ""},
		{Kubelet{Version: "v1.37.2", WatchList: &off}, ListPath},
		{Kubelet{Version: "v1.34.1", WatchList: &on}, WatchListPath},
	} {
		if got := c.k.Path(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.k, got, c.want)
		}
	}
}

func TestTheVerdictSaysNoWhereTheGuardDoesNotPay(t *testing.T) {
	k := Kubelet{Version: "v1.37.2", Strategy: Watch}
	node := func(c Counts, k Kubelet) Node { return Node{"n", k, c} }
	big := Counts{Objects: 2000, Immutable: 1800, Mutable: 200}
	for _, c := range []struct {
		name  string
		nodes []Node
		pays  bool
		says  string
	}{
		{"none", nil, false, "no node"},
		{"small", []Node{node(measured(), k)}, false, "too small"},
		{"poll", []Node{node(big, Kubelet{Strategy: Cache})}, false, "poll"},
		{"one large node", []Node{node(big, k)}, true, "saves 1800"},
		{"many small nodes", func() (n []Node) {
			for range 30 {
				n = append(n, node(measured(), k))
			}
			return n
		}(), true, "saves 6000"},
		{"all can change", []Node{node(Counts{Objects: 2000, Mutable: 2000}, k)}, false, "or could be"},
		{"promotable", []Node{node(Counts{Objects: 2000, Mutable: 2000, Promotable: 1500}, k)}, false, "up to 1500"},
		{"CA bundles", []Node{node(Counts{Objects: 2000, Mutable: 2000, Members: 1000, Families: 2}, k)}, true, "saves 998"},
	} {
		if v := JudgeNodes(c.nodes); v.Pays != c.pays || !strings.Contains(v.Why, c.says) {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

func TestAnObjectIsWhatPromotionSaysOfIt(t *testing.T) {
	yes, now := true, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	object := func(namespace string, immutable *bool) promote.Object {
		return promote.Object{
			Resource: promote.ConfigMaps, Content: &promote.Content{Immutable: immutable},
			Meta: metav1.ObjectMeta{Name: "a", Namespace: namespace, Labels: map[string]string{promote.PolicyKey: promote.PolicyPromote},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "people", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
					FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)}}},
		}
	}
	if o := Of(object("ns", &yes), now); o.State != Immutable {
		t.Errorf("%+v", o)
	}
	if o := Of(object("ns", nil), now); o.State != Mutable || !o.Promotable {
		t.Errorf("%+v", o)
	}
	if o := Of(object("kube-system", nil), now); o.Promotable || o.Why != string(promote.RuleNamespace) {
		t.Errorf("%+v", o)
	}
}
