package refs

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/secret"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/mounts"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

func (g generator) data() map[string][]byte {
	data := map[string][]byte{}
	for range g.IntN(4) {
		data[fmt.Sprint("k", g.IntN(4))] = []byte(fmt.Sprint(g.IntN(3)))
	}
	return data
}

func (g generator) items() []v1.KeyToPath {
	var items []v1.KeyToPath
	for i := range g.IntN(3) {
		items = append(items, v1.KeyToPath{Key: fmt.Sprint("k", g.IntN(4)), Path: fmt.Sprintf("dir%d/file", i)})
	}
	return items
}

// payload is what the kubelet would mount.
func payload(t *testing.T, resource shape.Resource, items []v1.KeyToPath, data map[string][]byte) map[string]volumeutil.FileProjection {
	t.Helper()
	mode := int32(0o644)
	var p map[string]volumeutil.FileProjection
	var err error
	if resource == shape.Secrets {
		p, err = secret.MakePayload(items, &v1.Secret{Data: data}, &mode, nil, true)
	} else {
		p, err = configmap.MakePayload(items, &v1.ConfigMap{BinaryData: data}, &mode, nil, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func equal(a, b map[string]volumeutil.FileProjection) bool {
	return maps.EqualFunc(a, b, func(a, b volumeutil.FileProjection) bool { return bytes.Equal(a.Data, b.Data) })
}

// What the kubelet's own writer mounted of one object is compared with another,
// and differs when the kubelet would mount something else.
func TestAMountDiffersWhenTheKubeletWouldMountSomethingElse(t *testing.T) {
	t.Logf("seed %d (repeat with -seed=%d)", *seed, *seed)
	g := generator{rand.New(rand.NewPCG(*seed, 2))}
	now := time.Now()
	started := metav1.NewTime(now.Add(-time.Hour))
	dir := t.TempDir()
	differing := 0
	const runs = 300
	for i := range runs {
		resource, plugin := shape.Secrets, "kubernetes.io~secret"
		items, before, after := g.items(), g.data(), g.data()
		source := v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "o", Items: items}}
		if g.some() {
			resource, plugin = shape.ConfigMaps, "kubernetes.io~configmap"
			source = v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "o"}, Items: items}}
		}
		pod := &v1.Pod{Status: v1.PodStatus{StartTime: &started}, Spec: v1.PodSpec{Volumes: []v1.Volume{{Name: "v", VolumeSource: source}}}}
		pod.Namespace, pod.Name, pod.UID = "ns", "p", "1234"
		volume := filepath.Join(dir, fmt.Sprint(i), "pods", string(pod.UID), "volumes", plugin, "v")
		if err := os.MkdirAll(volume, 0o755); err != nil {
			t.Fatal(err)
		}
		writer, err := volumeutil.NewAtomicWriter(volume, "test")
		if err != nil {
			t.Fatal(err)
		}
		was := payload(t, resource, items, before)
		// The second write is one of changed data, as most mounts have seen.
		for _, p := range []map[string]volumeutil.FileProjection{payload(t, resource, items, g.data()), was} {
			if err := writer.Write(p, nil); err != nil {
				t.Fatal(err)
			}
		}
		live := &mounts.Live{UID: "u", Created: now.Add(-24 * time.Hour), Changed: now.Add(-time.Hour), Data: after}
		got, err := mounts.Compare(context.Background(), filepath.Join(dir, fmt.Sprint(i)), []*v1.Pod{pod}, func(context.Context, shape.Key) (*mounts.Live, error) { return live, nil }, now)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		want := mounts.Stale
		if equal(was, payload(t, resource, items, after)) {
			want = mounts.Same
		} else {
			differing++
		}
		if got[0].Verdict != want {
			t.Fatalf("%+v, want %s\nitems %v\nbefore %v\nafter %v", got[0], want, items, before, after)
		}
	}
	if differing < runs/4 || differing > runs*19/20 {
		t.Errorf("%d of %d differ: the cases say little", differing, runs)
	}
}
