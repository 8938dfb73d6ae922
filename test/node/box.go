package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/nodekeeper/nodekeeper/test/node/components"
	"github.com/nodekeeper/nodekeeper/test/node/host"
)

// readyTimeout is for systemd, CRI-O and kubelet together; alone on an idle
// machine they take a few seconds.
const readyTimeout = 120 * time.Second

// Box is a running node. Made by Start; the caller stops it.
type Box struct {
	// Name is the node's, and Hostname the host's at its boot.
	Name, Hostname string

	options Options
	dir     string // on disk, outside; owned by the box
	set     components.Set
	secrets *secrets
	super   *supervisor
	stop    sync.Once
	stopErr error

	mu  sync.Mutex // guards cri
	cri *grpc.ClientConn
}

// Start makes what is missing in the cache, boots a box and waits until CRI-O
// and the kubelet answer. When it fails nothing of the box is left; the error
// holds the end of the journal.
func Start(ctx context.Context, options Options) (*Box, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	out := options.Progress
	if out == nil {
		out = os.Stdout
	}
	builder, err := components.NewBuilder(out)
	if err != nil {
		return nil, err
	}
	set, err := builder.Prepare(ctx, components.Want{Kubelet: options.Kubelet, API: options.API, Crictl: true, Critest: options.Critest})
	if err != nil {
		return nil, err
	}
	if _, err := host.Sweep(); err != nil {
		return nil, fmt.Errorf("clear away dead boxes: %w", err)
	}
	box := &Box{Name: options.Name, Hostname: options.Hostname, options: options, set: set}
	if err := box.boot(ctx); err != nil {
		return nil, errors.Join(err, box.Stop())
	}
	return box, nil
}

func (b *Box) boot(ctx context.Context) error {
	dir, _, err := host.NewBoxDir(b.Name)
	if err != nil {
		return err
	}
	b.dir = dir
	if err := host.RaiseSettings(); err != nil {
		return err
	}
	if err := b.lay(); err != nil {
		return fmt.Errorf("lay out box %s: %w", b.Name, err)
	}
	b.super, err = startSupervisor(filepath.Join(b.set.Programs, "supervise"), dir)
	if err != nil {
		return fmt.Errorf("boot box %s: %w", b.Name, err)
	}
	if err := b.waitReady(ctx); err != nil {
		return err
	}
	if b.options.Kubeconfig == APIOpen {
		return b.OpenAPI(ctx)
	}
	return nil
}

// lay writes all that the box boots from.
func (b *Box) lay() error {
	for _, name := range []string{"upper", "work", "root", "containers", "kubelet"} {
		if err := os.Mkdir(filepath.Join(b.dir, name), 0o755); err != nil {
			return err
		}
	}
	// A copy: CRI-O writes into its storage. It is a few megabytes.
	source := filepath.Join(b.set.Images, "storage")
	if output, err := exec.Command("cp", "-a", source, filepath.Join(b.dir, "containers")).CombinedOutput(); err != nil {
		return fmt.Errorf("copy images: %w: %s", err, output)
	}
	if err := b.writeRoot(); err != nil {
		return err
	}
	spec := host.Spec{
		Dir:      b.dir,
		Template: b.set.Root,
		Hostname: b.Hostname,
		// On the disk itself: container roots are overlays, which cannot lie
		// on the overlay that is the box's root.
		Binds: map[string]string{
			filepath.Join(b.dir, "containers"): "/var/lib/containers",
			filepath.Join(b.dir, "kubelet"):    "/var/lib/kubelet",
		},
		ReadOnlyBinds: map[string]string{
			b.set.Kubernetes: "/opt/box/kubernetes",
			b.set.CRIO:       "/opt/box/crio",
			b.set.Critools:   "/opt/box/critools",
			b.set.Programs:   "/opt/box/programs",
		},
	}
	// The file, for its folder may be that of the API server.
	spec.ReadOnlyBinds[filepath.Join(b.set.Kubelet, "kubelet")] = kubeletProgram
	if b.options.API {
		spec.ReadOnlyBinds[b.set.Etcd] = "/opt/box/etcd"
	}
	if b.options.Critest {
		spec.ReadOnlyBinds[b.set.Critest] = "/opt/box/critest"
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, "spec.json"), data, 0o600)
}

// Stop ends the box at once, as a power cut does, and removes everything of
// it. More calls return the first one's result.
func (b *Box) Stop() error {
	b.stop.Do(func() { b.stopErr = b.end() })
	return b.stopErr
}

func (b *Box) end() error {
	var failures []error
	if b.options.CollectDir != "" && b.super != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		// What a broken box no longer tells is no failure of ending it.
		if err := b.Collect(ctx, b.options.CollectDir); err != nil {
			failures = append(failures, os.WriteFile(filepath.Join(b.options.CollectDir, "not-collected.txt"), []byte(err.Error()+"\n"), 0o644))
		}
		cancel()
	}
	b.mu.Lock()
	if b.cri != nil {
		b.cri.Close()
	}
	b.mu.Unlock()
	if b.super != nil {
		failures = append(failures, b.super.stop())
	}
	if b.dir != "" {
		failures = append(failures, host.RemoveBox(b.dir))
	}
	return errors.Join(failures...)
}
