package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/components"
)

// imageSize in MiB is what root, programs and a few containers need, doubled;
// blocks never written take no place.
const imageSize = 2048

// guestUnit loads the drivers of the serial port itself: no udev does.
const guestUnit = `[Unit]
Description=Control from outside of the machine
DefaultDependencies=no
After=box-setup.service

[Service]
ExecStartPre=/sbin/modprobe --all virtio_pci virtio_console
ExecStart=/opt/box/programs/guest
Restart=always
RestartSec=1
Environment=HOME=/root
`

// makeImage makes a disk with the whole node on it.
func makeImage(ctx context.Context, set components.Set, options node.Options, dir string) (string, error) {
	root := filepath.Join(dir, "root")
	defer os.RemoveAll(root)
	for _, part := range []struct{ from, to string }{
		{set.Root, "."},
		{filepath.Join(set.Kernel, "lib/modules"), "usr/lib/modules"},
		{filepath.Join(set.Kubelet, "kubelet"), "opt/box/kubelet"},
		{set.CRIO, "opt/box/crio"},
		{set.Critools, "opt/box/critools"},
		{set.Programs, "opt/box/programs"},
		{filepath.Join(set.Images, "storage"), "var/lib/containers/storage"},
	} {
		target := filepath.Join(root, part.to)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return "", err
		}
		// -T: the target is the copy itself, also where it is there already.
		if err := run(ctx, "cp", "--archive", "--no-target-directory", part.from, target); err != nil {
			return "", err
		}
	}
	if err := node.WriteFiles(root, options); err != nil {
		return "", err
	}
	if err := addGuest(root); err != nil {
		return "", err
	}
	image := filepath.Join(dir, "disk.img")
	return image, run(ctx, "mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", "-d", root, image, fmt.Sprintf("%dM", imageSize))
}

func addGuest(root string) error {
	units := filepath.Join(root, "etc/systemd/system")
	if err := os.WriteFile(filepath.Join(units, "box-guest.service"), []byte(guestUnit), 0o644); err != nil {
		return err
	}
	return os.Symlink("../box-guest.service", filepath.Join(units, "multi-user.target.wants/box-guest.service"))
}

func run(ctx context.Context, args ...string) error {
	output, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
