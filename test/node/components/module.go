package components

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// module is one pinned Go module below test/components.
type module struct {
	name string
	// binaries maps a main package to the name of its program.
	binaries map[string]string
	// tests says that the packages hold nothing but tests: these are built.
	tests bool
	cgo   bool
	flags []string
	first string // how long a first build takes, for the progress line
}

func crio() module {
	return module{
		name:     "crio",
		binaries: map[string]string{"github.com/cri-o/cri-o/cmd/crio": "crio"},
		cgo:      true,
		flags: []string{"-trimpath", "-tags",
			"containers_image_openpgp containers_image_ostree_stub exclude_graphdriver_btrfs exclude_graphdriver_devicemapper seccomp",
			"-ldflags", "-s -w"},
		first: "about 4 minutes the first time",
	}
}

func etcd() module {
	return module{
		name:     "etcd",
		binaries: map[string]string{"go.etcd.io/etcd/server/v3": "etcd"},
		flags:    []string{"-trimpath", "-ldflags", "-s -w"},
		first:    "about 1 minute the first time",
	}
}

func critools() module {
	return module{
		name:     "critools",
		binaries: map[string]string{"sigs.k8s.io/cri-tools/cmd/crictl": "crictl"},
		flags:    []string{"-trimpath", "-ldflags", "-s -w"},
		first:    "about 1 minute the first time",
	}
}

// critest is of the same version as crictl, and rarely wanted.
func critest() module {
	return module{
		name:     "critools",
		binaries: map[string]string{"sigs.k8s.io/cri-tools/cmd/critest": "critest"},
		tests:    true,
		flags:    []string{"-trimpath", "-ldflags", "-s -w"},
		first:    "about 1 minute the first time",
	}
}

// build returns the folder of the module's programs.
func (b *Builder) build(ctx context.Context, m module) (string, error) {
	source := filepath.Join(b.source, "components", m.name)
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read pinned versions: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return "", fmt.Errorf("read pinned versions: %w", err)
	}
	compiler, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("run go, which builds the box's components: %w", err)
	}
	var wanted []string
	for pkg, program := range m.binaries {
		wanted = append(wanted, pkg+"="+program)
	}
	slices.Sort(wanted)
	sum16 := key(mod, sum, compiler, []byte(runtime.GOARCH), []byte(strings.Join(wanted, " ")),
		[]byte(strings.Join(m.flags, " ")), fmt.Append(nil, m.cgo))
	return b.cached(m.name, sum16, func(dir string) error {
		var programs []string
		for _, program := range m.binaries {
			programs = append(programs, program)
		}
		slices.Sort(programs)
		return b.progress.step("building "+strings.Join(programs, ", ")+" ("+m.first+")", func() error {
			return goBuild(ctx, source, dir, m)
		})
	})
}

func goBuild(ctx context.Context, source, dir string, m module) error {
	args := []string{"build"}
	if m.tests {
		args = []string{"test", "-c"}
	}
	args = append(append(args, m.flags...), "-o", dir+"/")
	for pkg := range m.binaries {
		args = append(args, pkg)
	}
	slices.Sort(args[len(args)-len(m.binaries):])
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = source
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if m.cgo {
		command.Env = append(command.Env, "CGO_ENABLED=1")
	}
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("build %s: %w: %s", m.name, err, lastLines(output.String(), 5))
	}
	// Go names a program after its package's folder.
	for pkg, program := range m.binaries {
		built := filepath.Base(pkg)
		if built == "v3" {
			built = filepath.Base(filepath.Dir(pkg))
		}
		if m.tests {
			built += ".test"
		}
		if built != program {
			if err := os.Rename(filepath.Join(dir, built), filepath.Join(dir, program)); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastLines keeps the end of a program's output, in one line.
func lastLines(output string, count int) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if len(lines) > count {
		lines = lines[len(lines)-count:]
	}
	return strings.Join(lines, " | ")
}
