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
)

// kernelRecipe changes whenever the steps below do.
const kernelRecipe = "1"

// kernelPackage names the newest one of its kind: what a virtual machine
// boots, with the drivers of its few devices and nothing else.
const kernelPackage = "linux-image-cloud-amd64"

// kernel returns a folder with vmlinuz and lib/modules. The package is unpacked
// there and never installed on this machine.
func (b *Builder) kernel(ctx context.Context) (string, error) {
	suite := debianSuite()
	return b.cached("kernel", key([]byte(kernelRecipe), []byte(suite)), func(dir string) error {
		if runtime.GOARCH != "amd64" || systemFamily(runtime.GOOS, readRelease()) != "debian" {
			return fmt.Errorf("the kernel of a virtual machine is the package %s: Debian on amd64 is needed", kernelPackage)
		}
		return b.progress.step("unpacking a kernel of Debian "+suite, func() error { return unpackKernel(ctx, dir) })
	})
}

func unpackKernel(ctx context.Context, dir string) error {
	// apt finds packages by lists that a fresh machine does not have yet.
	if _, err := output(ctx, dir, "apt-get", "update"); err != nil {
		return err
	}
	depends, err := output(ctx, dir, "apt-cache", "depends", "--important", kernelPackage)
	if err != nil {
		return err
	}
	_, name, found := strings.Cut(depends, "Depends: linux-image-")
	if !found {
		return fmt.Errorf("the package %s names no kernel: %s", kernelPackage, lastLines(depends, 3))
	}
	name = "linux-image-" + strings.Fields(name)[0]
	if _, err := output(ctx, dir, "apt-get", "download", name); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("download of %s left %d packages: %w", name, len(archives), err)
	}
	unpacked := filepath.Join(dir, "unpacked")
	if _, err := output(ctx, dir, "dpkg-deb", "--extract", archives[0], unpacked); err != nil {
		return err
	}
	release := strings.TrimPrefix(name, "linux-image-")
	if _, err := output(ctx, dir, "depmod", "--basedir", unpacked, release); err != nil {
		return err
	}
	for from, to := range map[string]string{"boot/vmlinuz-" + release: "vmlinuz", "lib": "lib"} {
		if err := os.Rename(filepath.Join(unpacked, from), filepath.Join(dir, to)); err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
	}
	if err := os.RemoveAll(unpacked); err != nil {
		return err
	}
	return os.Remove(archives[0])
}

// output runs a program in dir and returns its standard output.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir = dir
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, lastLines(errs.String(), 2))
	}
	return string(out), nil
}
