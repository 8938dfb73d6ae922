package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// containerGrace is what containers get at shutdown; systemd gives a node's
// containers up to 90 s, which no test wants to wait for.
const containerGrace = 2

// Reboot shuts the box down in good order and waits until kubelet and CRI-O
// are back. /run is lost, /var kept, the boot ID another. An open API is
// closed afterwards unless the mode is APIOpen.
func (b *Box) Reboot(ctx context.Context) error {
	if _, err := b.Systemctl(ctx, "stop", b.options.KubeletUnit); err != nil {
		return fmt.Errorf("reboot box %s: %w", b.Name, err)
	}
	if err := b.stopContainers(ctx); err != nil {
		return fmt.Errorf("reboot box %s: %w", b.Name, err)
	}
	return b.restart(ctx, "reboot")
}

// Crash restarts the box with no shutdown at all, as a power cut does.
func (b *Box) Crash(ctx context.Context) error {
	return b.restart(ctx, "reboot", "--force", "--force")
}

func (b *Box) restart(ctx context.Context, args ...string) error {
	before, err := b.super.leader()
	if err != nil {
		return err
	}
	// The answer may be lost with the box.
	_, execErr := b.Systemctl(ctx, args...)
	down, cancel := context.WithTimeout(ctx, 100*time.Second)
	defer cancel()
	err = poll(down, "box "+b.Name+" to boot again", func() error {
		now, err := b.super.leader()
		if err == nil && now == before {
			err = fmt.Errorf("still running (%v)", execErr)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := b.waitReady(ctx); err != nil {
		return err
	}
	if b.options.Kubeconfig == APIOpen {
		return b.OpenAPI(ctx)
	}
	return nil
}

// stopContainers ends all containers: what is left at shutdown makes systemd
// wait for it.
func (b *Box) stopContainers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	records, err := b.ContainerRecords(ctx, "")
	if err != nil {
		return err
	}
	runtime, err := b.CRI(ctx)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	for _, record := range records {
		if !record.Running() {
			continue
		}
		group.Go(func() {
			// A container that cannot be stopped is what shutdown is there
			// to kill.
			_, _ = runtime.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: record.ID, Timeout: containerGrace})
		})
	}
	group.Wait()
	// CRI-O may have been making another one. A container that was only created,
	// and its monitor, mind no SIGTERM.
	if _, err := b.Systemctl(ctx, "stop", CRIO); err != nil {
		return err
	}
	_, _, err = b.Exec(ctx, "sh", "-c", `find /sys/fs/cgroup -path '*kubepods*' -name cgroup.procs -exec cat {} + | sort -u | xargs -r kill -9 || true`)
	return err
}
