package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/components"
	"github.com/nodekeeper/nodekeeper/test/node/host"
)

// podManifest is a static pod of two containers, main and side, whose flags
// are given.
func podManifest(name, mainArgs, sideArgs string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 5
  containers:
  - {name: main, image: %s, imagePullPolicy: Never, args: [%s]}
  - {name: side, image: %s, imagePullPolicy: Never, args: [%s]}
`, name, components.WorkloadImage, mainArgs, components.WorkloadImage, sideArgs)
}

// podName is what the kubelet of a box calls a static pod.
func podName(box *node.Box, pod string) string { return pod + "-" + box.Name }

// start boots a box that ends with the test, or skips the test and says why.
func start(t *testing.T, options node.Options) *node.Box {
	t.Helper()
	if testing.Short() {
		t.Skip("a box is not for -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("a box needs root")
	}
	begin := time.Now()
	box, err := node.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("box runs after %.1f s", time.Since(begin).Seconds())
	t.Cleanup(func() {
		if t.Failed() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if dir := os.Getenv("NODEKEEPER_COLLECT_DIR"); dir != "" {
				t.Log("collect:", box.Collect(ctx, filepath.Join(dir, t.Name())))
			}
			journal, _, _ := box.Exec(ctx, "journalctl", "--no-pager", "--lines=30", "--output=cat", "--unit=kubelet", "--unit=crio")
			t.Log("end of the journal:\n" + journal)
		}
		if err := box.Stop(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// eventually waits up to limit for look to return no error.
func eventually(t *testing.T, limit time.Duration, what string, look func() error) {
	t.Helper()
	begin := time.Now()
	for {
		err := look()
		if err == nil {
			t.Logf("%s: after %.1f s", what, time.Since(begin).Seconds())
			return
		}
		if time.Since(begin) > limit {
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// running waits for a running container that is not the one with the ID old.
func running(t *testing.T, box *node.Box, pod, name, old string, limit time.Duration) node.Container {
	t.Helper()
	var found node.Container
	eventually(t, limit, "container "+name+" of "+pod+" running", func() error {
		container, err := box.RunningContainer(t.Context(), podName(box, pod), name)
		if err == nil && container.ID == old {
			err = fmt.Errorf("still the old one, %s", old)
		}
		found = container
		return err
	})
	return found
}

func TestBoxBoots(t *testing.T) {
	box := start(t, node.Options{Name: "boots"})
	ctx := t.Context()
	if err := box.PutManifest("app.yaml", podManifest("app", "", "--print, 1s")); err != nil {
		t.Fatal(err)
	}
	first := running(t, box, "app", "main", "", 30*time.Second)
	side := running(t, box, "app", "side", "", 30*time.Second)
	if first.PID <= 1 || first.SandboxID == "" || first.SandboxID != side.SandboxID {
		t.Errorf("unlikely records: %+v, %+v", first, side)
	}

	if err := box.KillContainer(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	second := running(t, box, "app", "main", first.ID, 30*time.Second)
	if second.Attempt != 1 {
		t.Errorf("attempt %d, want 1", second.Attempt)
	}
	eventually(t, 10*time.Second, "log of the killed container", func() error {
		status, body, err := box.ContainerLogs(ctx, "default", podName(box, "app"), "main", true)
		if err == nil && (status != 200 || !strings.Contains(body, "workload started")) {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	})

	bootID, err := box.BootID()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := box.Reboot(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("rebooted in %.1f s", time.Since(begin).Seconds())
	if again, err := box.BootID(); err != nil || again == bootID {
		t.Errorf("boot ID %s, %v after a reboot, was %s", again, err, bootID)
	}
	running(t, box, "app", "main", second.ID, 40*time.Second)

	dir := t.TempDir()
	if err := box.Collect(ctx, dir); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"journal-kubelet.txt", "kubelet-pods.json", "cri-containers.json", "etc/kubernetes/manifests/app.yaml"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("collected %s: %v", name, err)
		}
	}
	if err := box.Stop(); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, "boots")
}

// nothingLeft looks for what a box of that name would leave on the machine.
func nothingLeft(t *testing.T, name string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(host.RunDir(), name+"-*")); len(left) > 0 {
		t.Errorf("left on the disk: %v", left)
	}
	if left, _ := filepath.Glob("/sys/fs/cgroup/*/nodekeeper-" + name + "-*"); len(left) > 0 {
		t.Errorf("left control groups: %v", left)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), host.RunDir()) {
		t.Errorf("left mounts (%v):\n%s", err, mounts)
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range commands {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), filepath.Join(host.RunDir(), name+"-")) {
			t.Errorf("left process %s: %s", file, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
}
