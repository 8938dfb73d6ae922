package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/fault"
)

// TestFaults: each fault does what its name says, and ends when told.
func TestFaults(t *testing.T) {
	// The kubelet's back-off between two starts is not what is tested here.
	box := start(t, node.Options{Name: "faults", CRIProxy: true, KubeletConfig: func(config map[string]any) {
		config["crashLoopBackOff"] = map[string]any{"maxContainerRestartPeriod": "1s"}
	}})
	ctx := t.Context()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(t, box.PutManifest("app.yaml", podManifest("app", "", "")))
	running(t, box, "app", "main", "", 30*time.Second)
	running(t, box, "app", "side", "", 30*time.Second)

	t.Run("a hanging start of the runtime is held until released", func(t *testing.T) {
		must(t, box.SetRuntimeFault("start", fault.Rule{Action: fault.Hang, Count: 1, Match: " main "}))
		old := running(t, box, "app", "main", "", time.Second)
		must(t, box.KillContainer(ctx, old.ID))
		eventually(t, 20*time.Second, "start held", func() error {
			held, err := box.Held()
			if err == nil && !slices.Equal(held, []string{"start"}) {
				err = fmt.Errorf("held: %v", held)
			}
			return err
		})
		records, err := box.ContainerRecords(ctx, podName(box, "app"))
		must(t, err)
		if last := records[len(records)-1]; last.Name != "main" || last.State != cri.ContainerState_CONTAINER_CREATED {
			t.Errorf("newest record %+v, want main CREATED", last)
		}
		must(t, box.Release())
		running(t, box, "app", "main", old.ID, 10*time.Second)
	})

	t.Run("a failing create of the runtime is tried again", func(t *testing.T) {
		must(t, box.SetRuntimeFault("create", fault.Rule{Action: fault.Fail, Code: "broken", Count: 1, Match: " side "}))
		old := running(t, box, "app", "side", "", 10*time.Second)
		must(t, box.KillContainer(ctx, old.ID))
		running(t, box, "app", "side", old.ID, 60*time.Second)
		journal, err := box.Journal(ctx, node.Kubelet)
		must(t, err)
		if !strings.Contains(journal, "injected fault: create broken") {
			t.Error("the kubelet never saw the fault")
		}
	})

	t.Run("the proxy fails calls of the kubelet and no others", func(t *testing.T) {
		old := running(t, box, "app", "main", "", 40*time.Second)
		must(t, box.SetCRIFault("CreateContainer", fault.Rule{Action: fault.Fail, Code: "ResourceExhausted", Match: "main"}))
		must(t, box.KillContainer(ctx, old.ID))
		eventually(t, 30*time.Second, "kubelet sees the code", func() error {
			journal, err := box.Journal(ctx, node.Kubelet)
			if err == nil && !strings.Contains(journal, "ResourceExhausted") {
				err = errors.New("not in the journal")
			}
			return err
		})
		must(t, box.SetCRIFault("CreateContainer"))
		running(t, box, "app", "main", old.ID, 60*time.Second)
	})

	t.Run("a container without monitor ends unseen", func(t *testing.T) {
		old := running(t, box, "app", "main", "", 40*time.Second)
		must(t, box.KillMonitorAndInit(ctx, old.ID))
		time.Sleep(3 * time.Second) // long enough for CRI-O to see an end, were it told
		if still, err := box.RunningContainer(ctx, podName(box, "app"), "main"); err != nil || still.ID != old.ID {
			t.Errorf("CRI-O noticed: %+v, %v", still, err)
		}
		if _, _, err := box.Exec(ctx, "kill", "-0", fmt.Sprint(old.PID)); err == nil {
			t.Errorf("process %d lives", old.PID)
		}
		runtime, err := box.CRI(ctx)
		must(t, err)
		_, err = runtime.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: old.ID, Timeout: 1})
		must(t, err)
		running(t, box, "app", "main", old.ID, 60*time.Second)
	})

	t.Run("a frozen container cannot die", func(t *testing.T) {
		old := running(t, box, "app", "side", "", 40*time.Second)
		must(t, box.Freeze(ctx, old.ID))
		must(t, box.KillContainer(ctx, old.ID))
		time.Sleep(2 * time.Second) // a healthy one is replaced within 1 s
		if still, err := box.RunningContainer(ctx, podName(box, "app"), "side"); err != nil || still.ID != old.ID {
			t.Errorf("died in spite of being frozen: %+v, %v", still, err)
		}
		must(t, box.Thaw(ctx, old.ID))
		running(t, box, "app", "side", old.ID, 60*time.Second)
	})

	t.Run("a stopped kubelet does not answer until it goes on", func(t *testing.T) {
		must(t, box.SignalUnit(ctx, node.Kubelet, syscall.SIGSTOP))
		// A busy machine may let its threads go on for a moment.
		eventually(t, 10*time.Second, "kubelet is silent", func() error {
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			if box.Healthz(short) == nil {
				return errors.New("it answers")
			}
			return nil
		})
		must(t, box.SignalUnit(ctx, node.Kubelet, syscall.SIGCONT))
		eventually(t, 10*time.Second, "kubelet answers", func() error { return box.Healthz(ctx) })
	})

	t.Run("a power cut loses /run and keeps /var", func(t *testing.T) {
		must(t, box.WriteFile("/run/mark", nil, 0o600))
		must(t, box.WriteFile("/var/lib/mark", nil, 0o600))
		must(t, box.Crash(ctx))
		if _, err := box.ReadFile("/run/mark"); err == nil {
			t.Error("/run is still there")
		}
		if _, err := box.ReadFile("/var/lib/mark"); err != nil {
			t.Error(err)
		}
		running(t, box, "app", "main", "", 60*time.Second)
	})

	t.Run("containers survive a restart of CRI-O", func(t *testing.T) {
		old := running(t, box, "app", "main", "", 40*time.Second)
		_, err := box.Systemctl(ctx, "restart", node.CRIO)
		must(t, err)
		eventually(t, 30*time.Second, "same container runs", func() error {
			still, err := box.RunningContainer(ctx, podName(box, "app"), "main")
			if err == nil && still.ID != old.ID {
				t.Fatalf("replaced by %+v", still)
			}
			return err
		})
	})
}
