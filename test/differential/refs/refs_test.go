package refs

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/refs"
)

var (
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the generated pods")
	cases = flag.Int("cases", 20_000, "how many pods are generated")
)

// generator makes pods with every way to refer to an object, empty names and
// the same name twice among them.
type generator struct{ *rand.Rand }

func (g generator) name() string {
	if g.IntN(8) == 0 {
		return ""
	}
	return fmt.Sprint("o", g.IntN(6))
}

func (g generator) some() bool { return g.IntN(2) == 0 }

func (g generator) optional() *bool {
	switch g.IntN(3) {
	case 0:
		return nil
	case 1:
		return new(bool)
	}
	yes := true
	return &yes
}

func (g generator) local() v1.LocalObjectReference {
	return v1.LocalObjectReference{Name: g.name()}
}

func (g generator) localOrNone() *v1.LocalObjectReference {
	if g.some() {
		return nil
	}
	l := g.local()
	return &l
}

func (g generator) environment() (from []v1.EnvFromSource, env []v1.EnvVar) {
	for range g.IntN(3) {
		var f v1.EnvFromSource
		if g.some() {
			f.SecretRef = &v1.SecretEnvSource{LocalObjectReference: g.local(), Optional: g.optional()}
		}
		if g.some() {
			f.ConfigMapRef = &v1.ConfigMapEnvSource{LocalObjectReference: g.local(), Optional: g.optional()}
		}
		from = append(from, f)
	}
	for range g.IntN(3) {
		var e v1.EnvVar
		if g.some() {
			e.ValueFrom = &v1.EnvVarSource{}
			if g.some() {
				e.ValueFrom.SecretKeyRef = &v1.SecretKeySelector{LocalObjectReference: g.local(), Optional: g.optional()}
			}
			if g.some() {
				e.ValueFrom.ConfigMapKeyRef = &v1.ConfigMapKeySelector{LocalObjectReference: g.local(), Optional: g.optional()}
			}
		}
		env = append(env, e)
	}
	return from, env
}

// volume has one source, or by chance a second one, which no API server lets in
// but whose order the visitor decides.
func (g generator) volume() v1.Volume {
	var v v1.VolumeSource
	for range 1 + g.IntN(8)/7 {
		switch g.IntN(14) {
		case 0:
			v.AzureFile = &v1.AzureFileVolumeSource{SecretName: g.name()}
		case 1:
			v.CephFS = &v1.CephFSVolumeSource{SecretRef: g.localOrNone()}
		case 2:
			v.Cinder = &v1.CinderVolumeSource{SecretRef: g.localOrNone()}
		case 3:
			v.FlexVolume = &v1.FlexVolumeSource{SecretRef: g.localOrNone()}
		case 4:
			v.Projected = &v1.ProjectedVolumeSource{}
			for range g.IntN(4) {
				var p v1.VolumeProjection
				if g.some() {
					p.Secret = &v1.SecretProjection{LocalObjectReference: g.local(), Optional: g.optional()}
				}
				if g.some() {
					p.ConfigMap = &v1.ConfigMapProjection{LocalObjectReference: g.local(), Optional: g.optional()}
				}
				if g.some() {
					p.ServiceAccountToken = &v1.ServiceAccountTokenProjection{Path: "token"}
				}
				v.Projected.Sources = append(v.Projected.Sources, p)
			}
		case 5:
			v.RBD = &v1.RBDVolumeSource{SecretRef: g.localOrNone()}
		case 6, 7:
			v.Secret = &v1.SecretVolumeSource{SecretName: g.name(), Optional: g.optional()}
		case 8:
			v.ScaleIO = &v1.ScaleIOVolumeSource{SecretRef: g.localOrNone()}
		case 9:
			v.ISCSI = &v1.ISCSIVolumeSource{SecretRef: g.localOrNone()}
		case 10:
			v.StorageOS = &v1.StorageOSVolumeSource{SecretRef: g.localOrNone()}
		case 11:
			v.CSI = &v1.CSIVolumeSource{NodePublishSecretRef: g.localOrNone()}
		case 12:
			v.ConfigMap = &v1.ConfigMapVolumeSource{LocalObjectReference: g.local(), Optional: g.optional()}
		case 13:
			v.EmptyDir = &v1.EmptyDirVolumeSource{}
		}
	}
	return v1.Volume{VolumeSource: v}
}

func (g generator) pod() *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	for range g.IntN(3) {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, g.local())
	}
	for range g.IntN(2) {
		from, env := g.environment()
		p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{EnvFrom: from, Env: env})
	}
	for range g.IntN(3) {
		from, env := g.environment()
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{EnvFrom: from, Env: env})
	}
	for range g.IntN(2) {
		from, env := g.environment()
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{EnvFrom: from, Env: env}})
	}
	for range g.IntN(5) {
		p.Spec.Volumes = append(p.Spec.Volumes, g.volume())
	}
	return p
}

func sortedSet(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func TestAPodRefersToWhatTheKubeletVisits(t *testing.T) {
	t.Logf("seed %d (repeat with -seed=%d)", *seed, *seed)
	g := generator{rand.New(rand.NewPCG(*seed, 1))}
	referred := 0
	for range *cases {
		pod := g.pod()
		var want, got []string
		visit := func(resource string) podutil.Visitor {
			return func(name string) bool {
				want = append(want, resource+"/ns/"+name)
				return true
			}
		}
		podutil.VisitPodSecretNames(pod, visit("secrets"))
		podutil.VisitPodConfigmapNames(pod, visit("configmaps"))
		for _, r := range refs.Of(pod) {
			got = append(got, r.Key.String())
		}
		if want, got = sortedSet(want), sortedSet(got); !slices.Equal(want, got) {
			t.Fatalf("the kubelet visits %v, we list %v\n%+v", want, got, pod.Spec)
		}
		referred += len(want)
	}
	if referred < *cases {
		t.Errorf("%d pods refer to %d objects only", *cases, referred)
	}
}
