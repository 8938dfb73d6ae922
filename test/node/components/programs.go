package components

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ownPrograms are the main packages of this module that a box needs.
var ownPrograms = []string{"cmd/supervise", "cmd/runtime", "cmd/conmon", "cmd/pinns", "cmd/criproxy", "cmd/guest", "workload"}

// programs builds this module's own programs. The compiler's cache says
// whether they changed: they are built each time, and kept by what they are.
func (b *Builder) programs(ctx context.Context) (string, error) {
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(b.cache, ".programs-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", fresh + "/"}
	for _, program := range ownPrograms {
		args = append(args, "./node/"+program)
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = b.source
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the box's programs: %w: %s", err, lastLines(string(output), 5))
	}
	var contents [][]byte
	for _, program := range ownPrograms {
		content, err := os.ReadFile(filepath.Join(fresh, filepath.Base(program)))
		if err != nil {
			return "", err
		}
		contents = append(contents, content)
	}
	return b.cached("programs", key(bytes.Join(contents, nil)), func(dir string) error {
		for i, program := range ownPrograms {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(program)), contents[i], 0o755); err != nil {
				return err
			}
		}
		return nil
	})
}
