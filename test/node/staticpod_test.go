package node_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/staticpod"
)

// TestStaticPodsOfOpenShift: pods of all shapes run on a node of the profile,
// and the kubelet takes every change of a manifest for what it is.
func TestStaticPodsOfOpenShift(t *testing.T) {
	box := start(t, node.Options{Name: "shapes", Profile: node.OpenShift})
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	shape := func(name string) []byte {
		t.Helper()
		pod, err := staticpod.Pod(name, staticpod.Change{Grace: 5})
		must(err)
		return pod
	}
	etcd := staticpod.NewInstaller(box, box.Name, "etcd")
	must(etcd.InstallRevision(1, shape("etcd")))
	must(staticpod.NewInstaller(box, box.Name, "kube-apiserver").InstallRevision(1, shape("kube-apiserver")))
	for _, name := range []string{"coredns", "keepalived", "haproxy"} {
		must(box.PutManifest(name+".yaml", shape(name)))
	}
	main := map[string]node.Container{}
	for _, name := range staticpod.Names() {
		main[name] = running(t, box, name, name, "", 60*time.Second)
	}
	eventually(t, time.Minute, "all five containers of etcd", func() error {
		records, err := box.ContainerRecords(ctx, podName(box, "etcd"))
		count := 0
		for _, r := range records {
			if r.Running() {
				count++
			}
		}
		if err == nil && count != 5 {
			err = fmt.Errorf("%d run", count)
		}
		return err
	})

	must(etcd.InstallRevision(2, shape("etcd")))
	second := running(t, box, "etcd", "etcd", main["etcd"].ID, time.Minute)
	if second.PodUID == main["etcd"].PodUID {
		t.Errorf("revision 2 has the UID of revision 1, %s", second.PodUID)
	}
	uid, err := etcd.Fallback(2, "NotReady", "no answer")
	must(err)
	fallen := running(t, box, "etcd", "etcd", second.ID, time.Minute)
	if fallen.PodUID != uid {
		t.Errorf("UID %s, want that of the manifest, %s", fallen.PodUID, uid)
	}
	must(etcd.MoveAside())
	eventually(t, time.Minute, "etcd ends", func() error {
		c, err := box.RunningContainer(ctx, podName(box, "etcd"), "etcd")
		if err == nil {
			return fmt.Errorf("runs: %s", c.ID)
		}
		return nil
	})
	must(etcd.MoveBack())
	if back := running(t, box, "etcd", "etcd", fallen.ID, time.Minute); back.PodUID != uid {
		t.Errorf("moved back it has UID %s, want %s", back.PodUID, uid)
	}
	for _, name := range staticpod.Names()[1:] {
		if now, err := box.RunningContainer(ctx, podName(box, name), name); err != nil || now.ID != main[name].ID {
			t.Errorf("%s was touched: %v", name, err)
		}
	}
}
