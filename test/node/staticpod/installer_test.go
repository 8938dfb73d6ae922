package staticpod

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// folder is a node that is a folder.
type folder string

func (f folder) Path(path string) (string, error) { return filepath.Join(string(f), path), nil }

type written struct {
	Metadata struct {
		UID         string
		Labels      map[string]string
		Annotations map[string]string
	}
	Spec struct {
		Volumes []struct{ HostPath struct{ Path string } }
	}
}

func (f folder) manifest(t *testing.T, i *Installer) (written, time.Time) {
	t.Helper()
	path, _ := f.Path(i.Manifest())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var pod written
	// What the installer writes is JSON.
	if err := json.Unmarshal(text, &pod); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return pod, info.ModTime()
}

func install(t *testing.T, i *Installer, revision int) {
	t.Helper()
	pod, err := Pod("etcd", Change{Edit: func(pod map[string]any) { metadata(pod)["uid"] = "of the operator" }})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.InstallRevision(revision, pod); err != nil {
		t.Fatal(err)
	}
}

func TestInstallRevision(t *testing.T) {
	node := folder(t.TempDir())
	etcd := NewInstaller(node, "node1", "etcd")
	for revision, label := range map[int]string{1: "1", 2: "2"} {
		install(t, etcd, revision)
		pod, _ := node.manifest(t, etcd)
		if pod.Metadata.UID != "" || pod.Metadata.Labels["revision"] != label {
			t.Errorf("revision %d: %+v", revision, pod.Metadata)
		}
		if dir := pod.Spec.Volumes[1].HostPath.Path; dir != resources+"/etcd-pod-"+label {
			t.Errorf("revision %d: resources in %s", revision, dir)
		}
		if _, err := os.Stat(filepath.Join(string(node), resources, "etcd-pod-"+label, "etcd-pod.yaml")); err != nil {
			t.Error(err)
		}
	}
}

func TestFallback(t *testing.T) {
	node := folder(t.TempDir())
	etcd := NewInstaller(node, "node1", "etcd")
	install(t, etcd, 1)
	if _, err := etcd.Fallback(1, "Reason", "message"); err == nil {
		t.Error("fell back from the only revision")
	}
	install(t, etcd, 9)
	install(t, etcd, 10)
	first, err := etcd.Fallback(10, "NotReady", "no answer")
	if err != nil {
		t.Fatal(err)
	}
	pod, _ := node.manifest(t, etcd)
	if pod.Metadata.UID != first || !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(first) {
		t.Errorf("UID %q in the manifest, %q returned", pod.Metadata.UID, first)
	}
	if pod.Metadata.Labels["revision"] != "9" || pod.Metadata.Annotations["startup-monitor.static-pods.openshift.io/fallback-for-revision"] != "10" {
		t.Errorf("%+v", pod.Metadata)
	}
	// The link stays: a later fallback goes to the same revision.
	install(t, etcd, 11)
	second, err := etcd.Fallback(11, "NotReady", "no answer")
	if err != nil || second == first {
		t.Errorf("UIDs %s and %s, %v", first, second, err)
	}
	if pod, _ := node.manifest(t, etcd); pod.Metadata.Labels["revision"] != "9" {
		t.Errorf("%+v", pod.Metadata)
	}
}

func TestOldTimesComeBack(t *testing.T) {
	node := folder(t.TempDir())
	etcd := NewInstaller(node, "node1", "etcd")
	install(t, etcd, 1)
	path, _ := node.Path(etcd.Manifest())
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	saved, err := etcd.Backup()
	if err != nil {
		t.Fatal(err)
	}
	if err := etcd.MoveAside(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the manifest is still there: %v", err)
	}
	if err := etcd.MoveBack(); err != nil {
		t.Fatal(err)
	}
	if pod, when := node.manifest(t, etcd); !when.Equal(old) || pod.Metadata.Labels["revision"] != "1" {
		t.Errorf("moved back: %v, %+v", when, pod.Metadata)
	}
	install(t, etcd, 2)
	if err := etcd.Restore(saved); err != nil {
		t.Fatal(err)
	}
	if pod, when := node.manifest(t, etcd); !when.Equal(old) || pod.Metadata.Labels["revision"] != "1" {
		t.Errorf("restored: %v, %+v", when, pod.Metadata)
	}
}
