package components

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// need is one thing of the system: a program, or a library that pkg-config
// knows, and the packages that bring it.
type need struct {
	program, library string
	debian, fedora   string
}

// systemNeeds is all that preparing and running boxes takes from the system.
var systemNeeds = []need{
	{program: "systemd-nspawn", debian: "systemd-container", fedora: "systemd-container"},
	{program: "debootstrap", debian: "debootstrap", fedora: "debootstrap debian-keyring"},
	{program: "skopeo", debian: "skopeo", fedora: "skopeo"},
	{program: "nsenter", debian: "util-linux", fedora: "util-linux-core"},
	{program: "gcc", debian: "gcc libc6-dev", fedora: "gcc"},
	{program: "pkg-config", debian: "pkg-config", fedora: "pkgconf-pkg-config"},
	{library: "libseccomp", debian: "libseccomp-dev", fedora: "libseccomp-devel"},
}

// machineNeeds is what a virtual machine takes beyond that.
var machineNeeds = []need{
	{program: "qemu-system-x86_64", debian: "qemu-system-x86", fedora: "qemu-system-x86-core"},
	{program: "mkfs.ext4", debian: "e2fsprogs", fedora: "e2fsprogs"},
	{program: "depmod", debian: "kmod", fedora: "kmod"},
}

// systemPackages installs what of the needs is missing.
func (b *Builder) systemPackages(ctx context.Context, needs []need) error {
	missing := missingNeeds(needs)
	if len(missing) == 0 && os.Geteuid() == 0 {
		return nil
	}
	family := systemFamily(runtime.GOOS, readRelease())
	names := packageNames(missing, family)
	switch {
	case runtime.GOOS != "linux":
		return fmt.Errorf("a box needs Linux: this is %s", runtime.GOOS)
	case os.Geteuid() != 0:
		return fmt.Errorf("a box needs root on this machine: run as root, or in a container with all privileges")
	case family == "":
		return fmt.Errorf("this distribution is not known here; install what holds: %s", describe(missing))
	}
	return b.progress.step("installing "+strings.Join(names, ", "), func() error {
		for _, args := range installCommands(family, names) {
			command := exec.CommandContext(ctx, args[0], args[1:]...)
			command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
			var output bytes.Buffer
			command.Stdout, command.Stderr = &output, &output
			if err := command.Run(); err != nil {
				return fmt.Errorf("missing on this machine: %s; %q failed (%w): %s; install them by hand, or reach the package mirror",
					strings.Join(names, ", "), strings.Join(args, " "), err, lastLines(output.String(), 1))
			}
		}
		return nil
	})
}

func missingNeeds(needs []need) []need {
	var missing []need
	for _, need := range needs {
		if need.program != "" {
			if _, err := exec.LookPath(need.program); err != nil {
				missing = append(missing, need)
			}
		} else if exec.Command("pkg-config", "--exists", need.library).Run() != nil {
			missing = append(missing, need)
		}
	}
	return missing
}

// systemFamily is "debian", "fedora" or "" from the fields of os-release.
func systemFamily(system string, release map[string]string) string {
	if system != "linux" {
		return ""
	}
	for _, name := range append([]string{release["ID"]}, strings.Fields(release["ID_LIKE"])...) {
		switch name {
		case "debian", "ubuntu":
			return "debian"
		case "fedora", "rhel", "centos":
			return "fedora"
		}
	}
	return ""
}

func packageNames(needs []need, family string) []string {
	var names []string
	for _, need := range needs {
		packages := need.debian
		if family == "fedora" {
			packages = need.fedora
		}
		for name := range strings.FieldsSeq(packages) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func describe(needs []need) string {
	var names []string
	for _, need := range needs {
		names = append(names, need.program+need.library)
	}
	return strings.Join(names, ", ")
}

func installCommands(family string, names []string) [][]string {
	if family == "fedora" {
		return [][]string{append([]string{"dnf", "install", "-y"}, names...)}
	}
	return [][]string{
		{"apt-get", "update"},
		append([]string{"apt-get", "install", "-y", "--no-install-recommends"}, names...),
	}
}
