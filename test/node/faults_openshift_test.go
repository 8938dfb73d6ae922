package node_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// onePod is a static pod of one container, main, with more lines of its spec.
func onePod(name, image, args string, spec ...string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 2
  %s
  containers:
  - {name: main-%s, image: %q, imagePullPolicy: IfNotPresent, args: [%s]}
`, name, strings.Join(spec, "\n  "), name, image, args)
}

const workload = "localhost/nodekeeper/workload:latest"

// TestFaultsOfOpenShift: what can happen to a node of the profile, with its
// kubelet in a unit of another name and no health port; and all of it ends.
func TestFaultsOfOpenShift(t *testing.T) {
	box := start(t, node.Options{Name: "broken", Profile: node.OpenShift, CRIProxy: true, KubeletUnit: "microshift.service",
		KubeletConfig: func(config map[string]any) { config["healthzPort"] = 0 }})
	ctx := t.Context()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	inBox := func(t *testing.T, args ...string) string {
		t.Helper()
		out, _, err := box.Exec(ctx, args...)
		must(t, err)
		return strings.TrimSpace(out)
	}
	undone := func(t *testing.T, undo func(context.Context) error, err error) {
		t.Helper()
		must(t, err)
		must(t, undo(ctx))
	}
	// state is that of the newest record of a pod's container.
	state := func(pod string) (record node.Container, err error) {
		records, err := box.ContainerRecords(ctx, podName(box, pod))
		if err == nil && len(records) == 0 {
			return record, fmt.Errorf("pod %s has no record", pod)
		} else if err != nil {
			return record, err
		}
		return records[len(records)-1], nil
	}

	t.Run("another unit and no health port", func(t *testing.T) {
		if err := box.Healthz(ctx); err == nil {
			t.Error("the health port answers")
		}
		if got := inBox(t, "systemctl", "show", "--value", "--property=LoadState", node.Kubelet); got != "not-found" {
			t.Errorf("%s is %s", node.Kubelet, got)
		}
		if got, err := box.UnitProperty(ctx, box.KubeletUnit(), "ActiveState"); err != nil || got != "active" {
			t.Errorf("%s is %s, %v", box.KubeletUnit(), got, err)
		}
	})

	t.Run("the host gets another name", func(t *testing.T) {
		undo, err := box.SetHostname(ctx, "other.example.com")
		must(t, err)
		if got := inBox(t, "hostname"); got != "other.example.com" {
			t.Errorf("it is called %s", got)
		}
		undone(t, undo, nil)
		if got := inBox(t, "hostname"); got != box.Hostname {
			t.Errorf("it is called %s again", got)
		}
	})

	t.Run("the network's configuration goes away", func(t *testing.T) {
		runtime, err := box.CRI(ctx)
		must(t, err)
		ready := func(want bool) func() error {
			return func() error {
				answer, err := runtime.Status(ctx, &cri.StatusRequest{})
				if err != nil {
					return err
				}
				for _, c := range answer.Status.Conditions {
					if c.Type == "NetworkReady" && c.Status != want {
						return fmt.Errorf("NetworkReady=%v", c.Status)
					}
				}
				return nil
			}
		}
		undo, err := box.MoveNetworkAway(ctx)
		must(t, err)
		eventually(t, 30*time.Second, "network not ready", ready(false))
		undone(t, undo, nil)
		eventually(t, 30*time.Second, "network ready", ready(true))
	})

	t.Run("an image comes slowly, or not at all", func(t *testing.T) {
		registry, err := box.ServeRegistry(ctx)
		must(t, err)
		defer registry.Close()
		registry.SetSlow(8 * time.Second)
		begin := time.Now()
		must(t, box.PutManifest("slow.yaml", onePod("slow", registry.Image("slow"), "")))
		eventually(t, 30*time.Second, "the pull begins", func() error {
			if registry.Pulls("slow") == 0 {
				return fmt.Errorf("no pull")
			}
			return nil
		})
		running(t, box, "slow", "main-slow", "", 90*time.Second)
		if took := time.Since(begin); took < 8*time.Second {
			t.Errorf("it took %v", took)
		}
		registry.SetSlow(0)
		registry.SetRefused(true)
		must(t, box.PutManifest("refused.yaml", onePod("refused", registry.Image("refused"), "")))
		eventually(t, 60*time.Second, "the kubelet is refused", func() error {
			journal, err := box.Journal(ctx, box.KubeletUnit())
			if err == nil && !strings.Contains(journal, "manifest unknown") {
				err = fmt.Errorf("not in the journal")
			}
			return err
		})
		if record, err := state("refused"); err == nil {
			t.Errorf("a container without an image: %+v", record)
		}
		registry.SetRefused(false)
		running(t, box, "refused", "main-refused", "", 90*time.Second)
		must(t, box.RemoveManifest("slow.yaml"))
		must(t, box.RemoveManifest("refused.yaml"))
	})

	t.Run("containers of somebody else", func(t *testing.T) {
		undo, err := box.RunForeign(ctx, "build", "")
		must(t, err)
		if groups := inBox(t, "sh", "-c", "cat /proc/$(pgrep --full '^runc .*run build')/cgroup"); !strings.Contains(groups, "name=systemd:/system.slice/build.service") {
			t.Errorf("groups of a unit's runc:\n%s", groups)
		}
		undone(t, undo, nil)
		const pod = "/kubepods/burstable/pod5bd2b7a1/crio-0123"
		undo, err = box.RunForeign(ctx, "inpod", pod)
		must(t, err)
		if groups := inBox(t, "sh", "-c", "cat /proc/$(pgrep --full '^runc .*run inpod')/cgroup"); !strings.Contains(groups, "memory:"+pod) || !strings.Contains(groups, "name=systemd:"+pod) {
			t.Errorf("groups of a pod's runc:\n%s", groups)
		}
		undone(t, undo, nil)
		if left := inBox(t, "sh", "-c", "pgrep --full '^runc ' || true"); left != "" {
			t.Errorf("left: %s", left)
		}
	})

	t.Run("the whole node is suspended", func(t *testing.T) {
		must(t, box.Suspend())
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if _, _, err := box.KubeletGet(short, "/healthz"); err == nil {
			t.Error("the kubelet answers")
		}
		must(t, box.Resume())
		eventually(t, 30*time.Second, "the kubelet answers", func() error {
			_, _, err := box.KubeletGet(ctx, "/healthz")
			return err
		})
	})

	t.Run("the kubelet is killed between create and start", func(t *testing.T) {
		must(t, box.KillKubeletAtStart(ctx, "main-husk", func() error { return box.PutManifest("husk.yaml", onePod("husk", workload, "")) }))
		if record, err := state("husk"); err != nil || record.State != cri.ContainerState_CONTAINER_CREATED {
			t.Errorf("%+v, %v", record, err)
		}
		running(t, box, "husk", "main-husk", "", 90*time.Second)
		must(t, box.RemoveManifest("husk.yaml"))
	})

	t.Run("CRI-O is killed between create and start", func(t *testing.T) {
		must(t, box.KillRuntimeAtStart(ctx, " main-cut ", func() error { return box.PutManifest("cut.yaml", onePod("cut", workload, "")) }))
		records, err := box.ContainerRecords(ctx, podName(box, "cut"))
		if err != nil || len(records) != 1 || records[0].State != cri.ContainerState_CONTAINER_CREATED {
			t.Fatalf("%+v, %v", records, err)
		}
		running(t, box, "cut", "main-cut", records[0].ID, 120*time.Second)
		must(t, box.RemoveManifest("cut.yaml"))
	})

	t.Run("a sandbox loses its infra process unseen", func(t *testing.T) {
		must(t, box.PutManifest("shared.yaml", onePod("shared", workload, "", "shareProcessNamespace: true")))
		main := running(t, box, "shared", "main-shared", "", 90*time.Second)
		must(t, box.KillInfra(ctx, main.SandboxID))
		runtime, err := box.CRI(ctx)
		must(t, err)
		pod, err := runtime.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: main.SandboxID})
		if err != nil || pod.Status.State != cri.PodSandboxState_SANDBOX_READY {
			t.Errorf("the sandbox: %v, %v", pod, err)
		}
		must(t, box.RemoveManifest("shared.yaml"))
	})

	t.Run("a second attempt by hand", func(t *testing.T) {
		must(t, box.PutManifest("twice.yaml", onePod("twice", workload, "")))
		first := running(t, box, "twice", "main-twice", "", 90*time.Second)
		second, err := box.StartSecond(ctx, first.ID)
		must(t, err)
		if !second.Running() || second.Attempt != first.Attempt+1 || second.PodUID != first.PodUID || second.SandboxID != first.SandboxID || second.PID <= 1 {
			t.Errorf("%+v, after %+v", second, first)
		}
		if still, err := box.Inspect(ctx, first); err != nil || !still.Running() {
			t.Errorf("the first one: %+v, %v", still, err)
		}
		must(t, box.RemoveManifest("twice.yaml"))
	})

	t.Run("a unit is slow to stop", func(t *testing.T) {
		undo, err := box.SlowStop(ctx, node.CRIO, 6*time.Second)
		must(t, err)
		_, err = box.Systemctl(ctx, "--no-block", "stop", node.CRIO)
		must(t, err)
		eventually(t, 30*time.Second, "a stop job", func() error {
			if jobs := inBox(t, "systemctl", "list-jobs", "--no-legend"); !strings.Contains(jobs, node.CRIO) {
				return fmt.Errorf("jobs: %s", jobs)
			}
			return nil
		})
		runtime, err := box.CRI(ctx)
		must(t, err)
		if _, err := runtime.Version(ctx, &cri.VersionRequest{}); err != nil {
			t.Errorf("it does not serve to the end: %v", err)
		}
		undone(t, undo, nil)
		_, err = box.Systemctl(ctx, "start", box.KubeletUnit())
		must(t, err)
		eventually(t, 60*time.Second, "the kubelet answers", func() error {
			_, _, err := box.KubeletGet(ctx, "/healthz")
			return err
		})
	})
}
