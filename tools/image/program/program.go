// Package program compiles nodekeeper's programs, as `make build` does.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Platform is what a program runs on.
type Platform struct{ OS, Architecture string }

func (p Platform) String() string { return p.OS + "/" + p.Architecture }

// ParsePlatform reads linux/amd64.
func ParsePlatform(text string) (Platform, error) {
	system, architecture, ok := strings.Cut(text, "/")
	if !ok || system == "" || architecture == "" || strings.Contains(architecture, "/") {
		return Platform{}, fmt.Errorf("platform %q: want something like linux/amd64", text)
	}
	return Platform{system, architecture}, nil
}

// Program is one command of the repository.
type Program struct {
	// Name is the file's, Package where its main function is, from the top of the
	// repository.
	Name, Package string
}

// Plugin is the plugin of oc and kubectl.
func Plugin() Program { return Program{"kubectl-nodekeeper", "./cmd/kubectl-nodekeeper"} }

// All are the programs of a release.
func All() []Program {
	return []Program{
		{"nodekeeper", "./cmd/nodekeeper"},
		{"nodekeeper-hook", "./cmd/hook"},
		{"nodekeeper-promote", "./cmd/promote"},
		Plugin(),
	}
}

// ForNodes are the programs that a node needs.
func ForNodes() []Program { return All()[:2] }

// Source is what programs are built from.
type Source struct {
	// Root is the top of the repository.
	Root string
	// Version is what the programs say of themselves.
	Version string
	// Go is the go command.
	Go string
}

// Compile writes a static program to path. Its bytes depend on the source, its
// modules, the version and the release of Go alone: on no path, no time and no
// setting of the environment.
func (s Source) Compile(ctx context.Context, p Program, on Platform, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("compile %s: %w", p.Name, err)
	}
	c := exec.CommandContext(ctx, s.Go, append(append([]string{"build"}, s.Flags()...), "-o", path, p.Package)...)
	c.Dir = s.Root
	c.Env = append(environment(), "CGO_ENABLED=0", "GOOS="+on.OS, "GOARCH="+on.Architecture)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s for %s: %w\n%s", p.Name, on, err, bytes.TrimSpace(out))
	}
	return nil
}

// Flags are those of the Makefile's BUILD, and that the state of the working
// tree is not told: the version does that.
func (s Source) Flags() []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=" + s.Version}
}

// environment is this process's without what would change a program's bytes.
func environment() []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOFLAGS", "GOEXPERIMENT", "GODEBUG", "GOAMD64", "GOARM64", "GOFIPS140", "GOWORK"}, name)
	}), "GOWORK=off", "GOFLAGS=-mod=readonly")
}

// Setting is one of `go env`.
func (s Source) Setting(ctx context.Context, name string) (string, error) {
	c := exec.CommandContext(ctx, s.Go, "env", name)
	c.Dir = s.Root
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	text := strings.TrimSpace(string(out))
	if text == "" {
		return "", errors.New("go env " + name + " says nothing")
	}
	return text, nil
}
