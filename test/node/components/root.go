package components

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// rootRecipe changes whenever the steps below do.
const rootRecipe = "3"

// defaultSuite is for machines that are not Debian.
const defaultSuite = "bookworm"

// rootPackages are what a box has beyond Debian's minimal base.
var rootPackages = []string{
	"systemd", "systemd-sysv", "dbus", "iproute2", "iptables", "conmon", "runc", "crun",
	"containernetworking-plugins", "libseccomp2", "procps", "kmod", "ca-certificates", "podman",
}

// maskedUnits do nothing that a box needs and cost time, or change settings of
// the machine around it (systemd-sysctl).
var maskedUnits = []string{
	"systemd-sysctl.service", "systemd-networkd.service", "systemd-resolved.service", "systemd-timesyncd.service",
	"e2scrub_all.timer", "e2scrub_reap.service", "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer",
	"fstrim.timer", "console-getty.service", "getty.target", "systemd-logind.service", "dev-hugepages.mount",
	"sys-kernel-debug.mount", "sys-kernel-tracing.mount", "modprobe@configfs.service", "modprobe@dm_mod.service",
	"modprobe@drm.service", "modprobe@fuse.service", "modprobe@loop.service", "systemd-modules-load.service",
	"podman.service", "podman.socket", "podman-auto-update.service", "podman-auto-update.timer", "podman-restart.service",
}

// root returns the folder of the root file system.
func (b *Builder) root(ctx context.Context) (string, error) {
	suite := debianSuite()
	sum := key([]byte(rootRecipe), []byte(suite), []byte(runtime.GOARCH), []byte(strings.Join(rootPackages, ",")), []byte(strings.Join(maskedUnits, ",")))
	return b.cached("root", sum, func(dir string) error {
		return b.progress.step("making a root file system of Debian "+suite+" (about 2 minutes the first time)", func() error {
			if err := debootstrap(ctx, dir, suite); err != nil {
				return err
			}
			return finishRoot(dir)
		})
	})
}

func debootstrap(ctx context.Context, dir, suite string) error {
	args := []string{"--variant=minbase", "--include=" + strings.Join(rootPackages, ",")}
	source := aptSource(suite)
	if source.keyring != "" {
		args = append(args, "--keyring="+source.keyring)
	}
	args = append(args, suite, dir)
	if source.mirror != "" {
		args = append(args, source.mirror)
	}
	command := exec.CommandContext(ctx, "debootstrap", args...)
	// It mounts /proc in the new root, and leaves it there when it is killed:
	// in a mount namespace of its own that is no harm. Its children go along.
	command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return fmt.Errorf("debootstrap of Debian %s from this machine's apt mirror failed (%w): %s; is the mirror reachable?", suite, err, lastLines(output.String(), 2))
	}
	return nil
}

// finishRoot leaves out what only a first boot or a desktop needs.
func finishRoot(dir string) error {
	for _, unit := range maskedUnits {
		link := filepath.Join(dir, "etc/systemd/system", unit)
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := os.Symlink("/dev/null", link); err != nil {
			return err
		}
	}
	// Each box has its own.
	for _, name := range []string{"etc/machine-id", "etc/hostname", "etc/resolv.conf"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	archives := filepath.Join(dir, "var/cache/apt/archives")
	if err := os.RemoveAll(archives); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Join(archives, "partial"), 0o755)
}
