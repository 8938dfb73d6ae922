package mounts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is a node with one pod, and the objects of its API server.
type scene struct {
	*testing.T
	dir     string
	pod     *corev1.Pod
	objects map[string]*Live // resource/name
	asked   int
	fail    error
}

func stage(t *testing.T, volumes ...corev1.Volume) *scene {
	t.Helper()
	started := metav1.NewTime(now.Add(-time.Hour))
	return &scene{T: t, dir: t.TempDir(), objects: map[string]*Live{}, pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: types.UID("1234")},
		Spec:       corev1.PodSpec{Volumes: volumes},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started},
	}}
}

func secret(name string, items ...corev1.KeyToPath) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Items: items}}}
}

// mount writes a volume as the kubelet's atomic writer does, some time ago.
func (s *scene) mount(plugin, volume string, ago time.Duration, files map[string]string) {
	s.Helper()
	dir := filepath.Join(s.dir, "pods", string(s.pod.UID), "volumes", plugin, volume)
	written := filepath.Join(dir, "..2026_03_01_11_00_00.123456789")
	if err := os.MkdirAll(written, 0o755); err != nil {
		s.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(written, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			s.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Base(written), filepath.Join(dir, "..data")); err != nil {
		s.Fatal(err)
	}
	if err := os.Chtimes(written, now.Add(-ago), now.Add(-ago)); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) live(name string, o Live, data map[string]string) {
	o.UID, o.Data = "uid-of-"+name, map[string][]byte{}
	for k, v := range data {
		o.Data[k] = []byte(v)
	}
	s.objects[name] = &o
}

func (s *scene) compare() []Mount {
	s.Helper()
	mounts, err := Compare(context.Background(), s.dir, []*corev1.Pod{s.pod}, func(_ context.Context, key shape.Key) (*Live, error) {
		s.asked++
		return s.objects[string(key.Resource)+"/"+key.Name], s.fail
	}, now)
	if err != nil {
		s.Fatal(err)
	}
	return mounts
}

func ago(d time.Duration) time.Time { return now.Add(-d) }

func TestAMountIsJudgedByContentAndTime(t *testing.T) {
	const day, hour, minute = 24 * time.Hour, time.Hour, time.Minute
	old := map[string]string{"a": "1", "b": "2"}
	for _, c := range []struct {
		name    string
		object  *Live
		data    map[string]string
		written time.Duration
		want    Verdict
		why     string
	}{
		{"untouched", &Live{Immutable: true, Created: ago(day)}, old, hour, Same, ""},
		{"recreated with other content", &Live{Immutable: true, Created: ago(minute)}, map[string]string{"a": "1", "b": "3"}, hour, Recreated, "1 changed"},
		{"recreated with the same content", &Live{Immutable: true, Created: ago(minute)}, old, hour, Predecessor, "same content"},
		{"created and mounted at once, clocks apart", &Live{Created: ago(hour - 3*time.Second)}, old, hour, Same, ""},
		{"changed just now", &Live{Created: ago(day), Changed: ago(minute)}, map[string]string{"a": "1"}, hour, Changing, "1 too many"},
		{"changed long ago", &Live{Created: ago(day), Changed: ago(hour / 2)}, map[string]string{"a": "1", "b": "2", "c": "3"}, hour, Stale, "1 missing"},
		{"changed, nobody knows when", &Live{Created: ago(day)}, map[string]string{"a": "2", "b": "2"}, hour, Changing, "1 changed"},
		{"immutable and yet other", &Live{Created: ago(day), Immutable: true}, map[string]string{"a": "2", "b": "2"}, hour, Stale, "1 changed"},
		{"changed and made immutable just now", &Live{Created: ago(day), Changed: ago(minute), Immutable: true}, map[string]string{"a": "2", "b": "2"}, hour, Changing, ""},
		{"deleted", nil, nil, hour, Gone, "still mounted"},
	} {
		s := stage(t, secret("x"))
		s.mount("kubernetes.io~secret", "v", c.written, old)
		if c.object != nil {
			s.live("secrets/x", *c.object, c.data)
		}
		got := s.compare()
		if len(got) != 1 || got[0].Verdict != c.want || !strings.Contains(got[0].Why, c.why) {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		if m := got[0]; m.Pod != "ns/p" || m.Name != "x" || m.Written == nil || c.object != nil && m.LiveUID != "uid-of-secrets/x" {
			t.Errorf("%s: %+v", c.name, m)
		}
	}
}

func TestItemsAreComparedUnderTheirPaths(t *testing.T) {
	s := stage(t, secret("x", corev1.KeyToPath{Key: "a", Path: "sub/file"}, corev1.KeyToPath{Key: "gone", Path: "gone"}))
	s.mount("kubernetes.io~secret", "v", time.Hour, map[string]string{"sub/file": "1"})
	s.live("secrets/x", Live{Created: ago(48 * time.Hour)}, map[string]string{"a": "1", "b": "not mounted"})
	if got := s.compare(); got[0].Verdict != Same {
		t.Errorf("%+v", got)
	}
}

func TestSourcesOfAProjectedVolumeAreToldApart(t *testing.T) {
	config := func(name string, items ...corev1.KeyToPath) corev1.VolumeProjection {
		return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items}}
	}
	v := corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
		config("kube-root-ca.crt", corev1.KeyToPath{Key: "ca.crt", Path: "ca.crt"}),
		config("first"), config("second"),
	}}}}
	s := stage(t, v)
	s.mount("kubernetes.io~projected", "v", time.Hour, map[string]string{"token": "t", "ca.crt": "old", "both": "of second", "mine": "1"})
	for name, data := range map[string]map[string]string{
		"kube-root-ca.crt": {"ca.crt": "new"}, "first": {"both": "of first", "mine": "1"}, "second": {"both": "of second"},
	} {
		s.live("configmaps/"+name, Live{Created: ago(48 * time.Hour), Changed: ago(time.Hour)}, data)
	}
	got := s.compare()
	if len(got) != 3 || got[0].Verdict != Stale || got[1].Verdict != Same || got[2].Verdict != Same {
		t.Errorf("%+v", got)
	}
	s.live("configmaps/second", Live{Created: ago(48 * time.Hour), Changed: ago(time.Hour)}, map[string]string{"both": "changed"})
	if got := s.compare(); got[1].Verdict != Same || got[2].Verdict != Stale {
		t.Errorf("%+v", got)
	}
}

func TestWhatCannotBeSeenIsSaid(t *testing.T) {
	s := stage(t, secret("x"))
	s.live("secrets/x", Live{Created: ago(time.Hour)}, nil)
	if got := s.compare(); got[0].Verdict != Unseen || !strings.Contains(got[0].Why, "not mounted") {
		t.Errorf("%+v", got)
	}
	s.mount("kubernetes.io~secret", "v", time.Minute, map[string]string{"a": "1"})
	s.fail = errors.New("refused")
	if got := s.compare(); got[0].Verdict != Unseen || got[0].Why != "refused" {
		t.Errorf("%+v", got)
	}
	s.pod.Status.Phase = corev1.PodSucceeded
	if got := s.compare(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAMountThatLeadsElsewhereIsNotFollowed(t *testing.T) {
	s := stage(t, secret("x"))
	s.live("secrets/x", Live{Created: ago(time.Hour)}, map[string]string{"a": "1"})
	dir := filepath.Join(s.dir, "pods", "1234", "volumes", "kubernetes.io~secret", "v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if got := s.compare(); got[0].Verdict != Unseen {
		t.Errorf("%+v", got)
	}
}

func TestAnOptionalObjectThatIsNotThereIsNoDifference(t *testing.T) {
	yes := true
	v := secret("x")
	v.Secret.Optional = &yes
	s := stage(t, v)
	s.mount("kubernetes.io~secret", "v", time.Hour, nil)
	if got := s.compare(); got[0].Verdict != Same {
		t.Errorf("%+v", got)
	}
}

func TestEachObjectIsAskedForOnce(t *testing.T) {
	second := secret("x")
	second.Name = "w"
	s := stage(t, secret("x"), second)
	s.live("secrets/x", Live{Created: ago(48 * time.Hour)}, map[string]string{"a": "1"})
	s.mount("kubernetes.io~secret", "v", time.Hour, map[string]string{"a": "1"})
	s.mount("kubernetes.io~secret", "w", time.Hour, map[string]string{"a": "1"})
	if got := s.compare(); len(got) != 2 || s.asked != 1 {
		t.Errorf("%d requests, %+v", s.asked, got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compare(ctx, s.dir, []*corev1.Pod{s.pod}, func(context.Context, shape.Key) (*Live, error) { return nil, nil }, now); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
